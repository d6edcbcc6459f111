/*
 * environment_layer.c - variables WEIR_SECTION_KEY; see layer.h.
 *
 * Capitals and _ lose what a name was: it is found by spelling the known names in the
 * same way, sections first, then keys from the end, the longest first.
 */
#include <ctype.h>
#include <string.h>

#include "base/nearest.h"
#include "base/text.h"
#include "server/config/layer.h"
#include "server/config/state.h"

enum { NAME_SIZE = 1100, WORD_SIZE = 64, HINT_SIZE = 96 };

static const char PREFIX[] = "WEIR_";

/* One variable. */
struct variable_call {
    struct weir_config_loading *loading;
    const char *name; /* lives as long as the state */
    const char *value;
    struct weir_config_origin origin;
};

static char spell_byte(char byte)
{
    return isalnum((unsigned char)byte) ? (char)toupper((unsigned char)byte) : '_';
}

/* Is `word` how `name` is spelled? */
static bool is_spelled(const char *word, size_t size, const char *name)
{
    for (size_t i = 0; i < size; i++) {
        if (name[i] == '\0' || word[i] != spell_byte(name[i]))
            return false;
    }
    return name[size] == '\0';
}

/* ---- what was meant ---------------------------------------------------------------- */

/* The nearest so far, among names that are made one by one. */
struct guess {
    const char *word;
    char best[WORD_SIZE]; /* "": none is near */
};

static void consider(struct guess *self, const char *candidate)
{
    const char *words[] = {self->best, candidate};
    const char *nearest = self->best[0] != '\0'
                              ? weir_nearest_find(self->word, words, 2)
                              : weir_nearest_find(self->word, &candidate, 1);

    if (nearest == candidate && strlen(candidate) < WORD_SIZE)
        weir_text_format(self->best, sizeof self->best, "%s", candidate);
}

static void consider_keys(struct guess *self, const struct weir_config_section *section,
                          const char *name)
{
    char word[NAME_SIZE + WORD_SIZE];

    for (size_t i = 0; i < section->key_count; i++) {
        weir_text_format(word, sizeof word, "%s%s_%s%s%s", PREFIX, section->name,
                         name != NULL ? name : "", name != NULL ? "_" : "",
                         section->keys[i].name);
        for (char *at = word; *at != '\0'; at++)
            *at = spell_byte(*at);
        consider(self, word);
    }
}

static void refuse_variable(struct variable_call *self)
{
    const struct weir_config_loading *loading = self->loading;
    struct guess guess = {.word = self->name};
    char hint[HINT_SIZE];

    for (size_t i = 0; i < weir_config_section_count; i++) {
        const struct weir_config_section *section = &weir_config_sections[i];
        const struct weir_config_groups *groups =
            weir_config_state_groups(loading->state, section);

        for (size_t j = 0; j < groups->count; j++)
            consider_keys(&guess, section, groups->items[j]->name);
    }
    for (const char *const *at = loading->sources->foreign; at != NULL && *at != NULL;
         at++)
        consider(&guess, *at);
    weir_config_suggest(guess.best[0] != '\0' ? guess.best : NULL, hint, sizeof hint);
    weir_config_report(self->loading, &self->origin, "there is no such variable%s", hint);
}

/* ---- what it names ----------------------------------------------------------------- */

static void set(struct variable_call *self, struct weir_config_group *group,
                const struct weir_config_key *key)
{
    weir_config_loading_set(self->loading, group, key, self->value, &self->origin);
}

/* "HTTP" of "HTTP_LISTEN"; *rest is what follows. */
static const struct weir_config_section *find_section(const char *word, const char **rest)
{
    size_t size = strcspn(word, "_");

    for (size_t i = 0; i < weir_config_section_count; i++) {
        if (!is_spelled(word, size, weir_config_sections[i].name))
            continue;
        *rest = word + size + (word[size] == '_');
        return &weir_config_sections[i];
    }
    return NULL;
}

static const struct weir_config_key *
find_spelled_key(const struct weir_config_section *section, const char *word)
{
    for (size_t i = 0; i < section->key_count; i++) {
        if (is_spelled(word, strlen(word), section->keys[i].name))
            return &section->keys[i];
    }
    return NULL;
}

static void read_nameless(struct variable_call *self,
                          const struct weir_config_section *section, const char *rest)
{
    const struct weir_config_key *key = find_spelled_key(section, rest);

    if (key != NULL) {
        set(self, weir_config_state_find(self->loading->state, section, NULL), key);
        return;
    }
    for (size_t i = 0; i < weir_config_section_count; i++) {
        const struct weir_config_section *other = &weir_config_sections[i];

        key = find_spelled_key(other, rest);
        if (key == NULL)
            continue;
        weir_config_report(self->loading, &self->origin, "[%s] has \"%s\", [%s] has not",
                           other->name, key->name, section->name);
        return;
    }
    refuse_variable(self);
}

/* The key at the end of `rest`, the longest one; *size is that of the name before it. */
static const struct weir_config_key *
find_ending(const struct weir_config_section *section, const char *rest, size_t *size)
{
    for (size_t i = 1; rest[i] != '\0' && rest[i + 1] != '\0'; i++) {
        const struct weir_config_key *key =
            rest[i] == '_' ? find_spelled_key(section, rest + i + 1) : NULL;

        if (key == NULL)
            continue;
        *size = i;
        return key;
    }
    return NULL;
}

/* The group that is spelled so; NULL: there is none, or a mistake was noted in
 * *ambiguous. */
static struct weir_config_group *find_group(struct variable_call *self,
                                            const struct weir_config_section *section,
                                            const char *word, size_t size,
                                            bool *ambiguous)
{
    const struct weir_config_groups *groups =
        weir_config_state_groups(self->loading->state, section);
    struct weir_config_group *found = NULL;

    for (size_t i = 0; i < groups->count; i++) {
        struct weir_config_group *group = groups->items[i];

        if (!is_spelled(word, size, group->name))
            continue;
        if (found != NULL) {
            weir_config_report(self->loading, &self->origin,
                               "may be [%s %s] or [%s %s]; use --set", section->name,
                               found->name, section->name, group->name);
            *ambiguous = true;
            return NULL;
        }
        found = group;
    }
    return found;
}

/* A group with the name in small letters. */
static struct weir_config_group *make_group(struct variable_call *self,
                                            const struct weir_config_section *section,
                                            const char *word, size_t size)
{
    char name[NAME_SIZE];

    weir_text_format(name, sizeof name, "%.*s", (int)size, word);
    for (char *at = name; *at != '\0'; at++)
        *at = *at == '_' ? '-' : (char)tolower((unsigned char)*at);
    return weir_config_loading_group(self->loading, section, name, &self->origin);
}

static void read_named(struct variable_call *self,
                       const struct weir_config_section *section, const char *rest)
{
    size_t size = 0;
    const struct weir_config_key *key = find_ending(section, rest, &size);
    struct weir_config_group *group;
    bool ambiguous = false;

    if (key == NULL && find_spelled_key(section, rest) != NULL) {
        weir_config_report(self->loading, &self->origin,
                           "[%s] needs a name; write WEIR_%.*s_NAME_%s", section->name,
                           (int)strlen(section->name), self->name + strlen(PREFIX), rest);
        return;
    }
    if (key == NULL) {
        refuse_variable(self);
        return;
    }
    group = find_group(self, section, rest, size, &ambiguous);
    if (group == NULL && !ambiguous)
        group = make_group(self, section, rest, size);
    if (group != NULL)
        set(self, group, key);
}

static bool is_foreign(const struct weir_config_loading *loading, const char *name)
{
    const char *const *at = loading->sources->foreign;

    while (at != NULL && *at != NULL && strcmp(*at, name) != 0)
        at++;
    return at != NULL && *at != NULL;
}

static void read_variable(struct weir_config_loading *loading, const char *name,
                          const char *value)
{
    struct variable_call variable = {
        .loading = loading,
        .name = name,
        .value = value,
        .origin = weir_config_loading_source(loading, name),
    };
    const char *rest = NULL;
    const struct weir_config_section *section =
        find_section(name + strlen(PREFIX), &rest);

    if (section == NULL)
        refuse_variable(&variable);
    else if (section->has_name)
        read_named(&variable, section, rest);
    else
        read_nameless(&variable, section, rest);
}

void weir_config_read_environment(struct weir_config_loading *loading)
{
    const char *const *at = loading->sources->environment;

    for (; at != NULL && *at != NULL; at++) {
        size_t size = strcspn(*at, "=");
        struct weir_str name = {*at, size};

        if (strncmp(*at, PREFIX, strlen(PREFIX)) != 0 || (*at)[size] == '\0' ||
            (*at)[size + 1] == '\0')
            continue;
        if (size >= WEIR_ORIGIN_TEXT_SIZE) /* nothing is called so */
            name.size = WEIR_ORIGIN_TEXT_SIZE - 1;
        if (!weir_arena_keep(&loading->state->arena, &name))
            loading->out_of_memory = true;
        else if (!is_foreign(loading, name.data))
            read_variable(loading, name.data, *at + size + 1);
    }
}

const char *weir_config_variable(const struct weir_config_loading *loading,
                                 const char *name)
{
    const char *const *at = loading->sources->environment;
    size_t size = strlen(name);

    for (; at != NULL && *at != NULL; at++) {
        if (strncmp(*at, name, size) == 0 && (*at)[size] == '=')
            return (*at)[size + 1] != '\0' ? *at + size + 1 : NULL;
    }
    return NULL;
}
