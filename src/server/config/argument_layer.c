/*
 * argument_layer.c - --set and --db; see layer.h.
 *
 * A name may have dots, sections and keys have none: the first and the last dot count.
 */
#include <string.h>

#include "base/nearest.h"
#include "base/text.h"
#include "server/config/layer.h"
#include "server/config/state.h"

enum { WORD_SIZE = 64, HINT_SIZE = 96, PATH_SIZE = 1200, WORDS_MAX = 64 };

static const char DATABASE_NAME[] = "main";

/* What is before the '=': "queue", "shop.orders", "partitions". */
struct path {
    char text[PATH_SIZE]; /* cut in place */
    const char *section;
    const char *name; /* NULL: none */
    const char *key;
};

static bool split(const char *word, size_t size, struct path *out)
{
    char *first;
    char *last;

    if (size >= sizeof out->text)
        return false;
    memcpy(out->text, word, size);
    out->text[size] = '\0';
    first = strchr(out->text, '.');
    if (first == NULL)
        return false;
    last = strrchr(first, '.');
    *first = '\0';
    *last = '\0';
    out->section = out->text;
    out->name = first == last ? NULL : first + 1;
    out->key = last + 1;
    return true;
}

static void refuse_section(struct weir_config_loading *loading,
                           const struct weir_config_origin *origin, const char *section)
{
    const char *names[WORDS_MAX];
    char hint[HINT_SIZE];

    for (size_t i = 0; i < weir_config_section_count; i++)
        names[i] = weir_config_sections[i].name;
    weir_config_suggest(weir_nearest_find(section, names, weir_config_section_count),
                        hint, sizeof hint);
    weir_config_report(loading, origin, "there is no such section%s", hint);
}

static void refuse_key(struct weir_config_loading *loading,
                       const struct weir_config_origin *origin,
                       const struct weir_config_section *section, const char *word)
{
    const struct weir_config_section *owner = weir_config_section_owning(section, word);
    char hint[HINT_SIZE];

    if (owner != NULL) {
        weir_config_report(loading, origin, "[%s] has \"%s\", [%s] has not", owner->name,
                           word, section->name);
        return;
    }
    weir_config_report(loading, origin, "there is no such key%s",
                       weir_config_suggest(weir_config_section_nearest(section, word),
                                           hint, sizeof hint));
}

static void set(struct weir_config_loading *loading,
                const struct weir_config_origin *origin, const struct path *path,
                const char *value)
{
    const struct weir_config_section *section = weir_config_section_find(path->section);
    const struct weir_config_key *key;
    struct weir_config_group *group;

    if (section == NULL) {
        refuse_section(loading, origin, path->section);
        return;
    }
    key = weir_config_section_find_key(section, path->key);
    if (key == NULL) {
        refuse_key(loading, origin, section, path->key);
        return;
    }
    group = weir_config_loading_group(loading, section, path->name, origin);
    if (group != NULL)
        weir_config_loading_set(loading, group, key, value, origin);
}

/* The value is never in an origin, and neither is a word that may be one. */
static void read_set(struct weir_config_loading *loading, const char *word)
{
    size_t size = strcspn(word, "=");
    bool has_path;
    struct path path;
    char text[WEIR_ORIGIN_TEXT_SIZE];
    struct weir_config_origin origin;

    has_path = word[size] != '\0' && split(word, size, &path);
    weir_text_format(text, sizeof text, "--set %.*s", (int)size, word);
    origin = weir_config_loading_source(loading, has_path ? text : "--set");
    if (has_path)
        set(loading, &origin, &path, word + size + 1);
    else
        weir_config_report(loading, &origin,
                           "must be SECTION.KEY=VALUE or SECTION.NAME.KEY=VALUE");
}

/* [database main], of the command line alone. */
static void add_database(struct weir_config_loading *loading, const char *source,
                         const char *url)
{
    const struct weir_config_section *section = weir_config_section_find("database");
    struct weir_config_origin origin = weir_config_loading_source(loading, source);
    struct weir_config_group *group =
        weir_config_loading_group(loading, section, DATABASE_NAME, &origin);

    if (group == NULL)
        return;
    weir_config_loading_set(loading, group, weir_config_section_find_key(section, "url"),
                            url, &origin);
    if (loading->sources->prefix != NULL)
        weir_config_loading_set(loading, group,
                                weir_config_section_find_key(section, "prefix"),
                                loading->sources->prefix, &origin);
}

static void read_db(struct weir_config_loading *loading)
{
    const struct weir_config_sources *sources = loading->sources;
    const struct weir_config_groups *databases =
        weir_config_state_groups(loading->state, weir_config_section_find("database"));
    struct weir_config_origin origin;
    char text[WEIR_ORIGIN_TEXT_SIZE];

    if (databases->count == 0) {
        if (sources->db != NULL)
            add_database(loading, "--db", sources->db);
        else if (sources->db_without_file != NULL)
            add_database(loading, "WEIR_DB", sources->db_without_file);
        return;
    }
    if (sources->db == NULL)
        return;
    origin = weir_config_loading_source(loading, "--db");
    weir_config_report(loading, &origin,
                       "[database %s] is configured (%s); change it by --set "
                       "database.%s.url=URL",
                       databases->items[0]->name,
                       weir_config_origin_text(&databases->items[0]->origin, text),
                       databases->items[0]->name);
}

void weir_config_read_arguments(struct weir_config_loading *loading)
{
    const struct weir_config_sources *sources = loading->sources;

    for (size_t i = 0; i < sources->set_count; i++)
        read_set(loading, sources->sets[i]);
    read_db(loading);
}
