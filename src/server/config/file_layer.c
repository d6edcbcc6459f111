/*
 * file_layer.c - the file and its folder; see layer.h.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/quote.h"
#include "base/text.h"
#include "server/config/file.h"
#include "server/config/layer.h"
#include "server/config/reader.h"
#include "server/config/state.h"

enum { FOLDER_FILES_MAX = 100, PATH_SIZE = 4096, HINT_SIZE = 128, WORDS_MAX = 64 };

static const char ENDING[] = ".ini";

/* One file while it is read. */
struct file_call {
    struct weir_config_loading *loading;
    struct weir_config_origin source; /* the file, with line 0 */
    struct weir_config_group *group;  /* of the lines that follow */
};

static struct weir_config_origin at_line(const struct file_call *self, unsigned line)
{
    struct weir_config_origin origin = self->source;

    origin.line = line;
    origin.place |= line;
    return origin;
}

/* ---- sections ---------------------------------------------------------------------- */

static void refuse_section(struct file_call *self,
                           const struct weir_config_origin *origin, const char *section)
{
    const char *names[WORDS_MAX];
    char hint[HINT_SIZE];
    struct weir_quote shown;

    for (size_t i = 0; i < weir_config_section_count; i++)
        names[i] = weir_config_sections[i].name;
    weir_config_suggest(weir_nearest_find(section, names, weir_config_section_count),
                        hint, sizeof hint);
    weir_config_report(self->loading, origin, "[%s]: there is no such section%s",
                       weir_quote(&shown, section), hint);
}

/* Has this file begun the section before? */
static bool check_first(struct file_call *self, const struct weir_config_group *group,
                        const struct weir_config_origin *origin)
{
    char text[WEIR_ORIGIN_TEXT_SIZE];

    if (group->header.source != self->source.source)
        return true;
    weir_config_report(self->loading, origin, "%s: begins in line %u already",
                       weir_config_group_text(group->section, group->name, text),
                       group->header.line);
    return false;
}

static bool take_section(void *state, unsigned line, const char *name_of_section,
                         const char *name)
{
    struct file_call *self = state;
    struct weir_config_origin origin = at_line(self, line);
    const struct weir_config_section *section = weir_config_section_find(name_of_section);

    self->group = NULL;
    if (section == NULL) {
        refuse_section(self, &origin, name_of_section);
        return false;
    }
    self->group = weir_config_loading_group(self->loading, section, name, &origin);
    if (self->group == NULL)
        return false;
    if (check_first(self, self->group, &origin))
        self->group->header = origin;
    if (self->group->origin.source == NULL)
        self->group->origin = origin;
    return true;
}

/* ---- keys -------------------------------------------------------------------------- */

static void refuse_key(struct file_call *self, const struct weir_config_origin *origin,
                       const char *word)
{
    const struct weir_config_section *section = self->group->section;
    const struct weir_config_section *owner = weir_config_section_owning(section, word);
    const char *nearest = weir_config_section_nearest(section, word);
    char text[WEIR_ORIGIN_TEXT_SIZE];
    char hint[HINT_SIZE];
    struct weir_quote shown;

    if (owner != NULL) {
        weir_config_report(self->loading, origin, "[%s] has \"%s\", [%s] has not",
                           owner->name, word, section->name);
        return;
    }
    weir_config_report(self->loading, origin, "%s %s: there is no such key%s",
                       weir_config_group_text(section, self->group->name, text),
                       weir_quote(&shown, word),
                       weir_config_suggest(nearest, hint, sizeof hint));
}

static void take_entry(void *state, unsigned line, const char *word, const char *value)
{
    struct file_call *self = state;
    struct weir_config_origin origin = at_line(self, line);
    const struct weir_config_key *key =
        weir_config_section_find_key(self->group->section, word);
    const struct weir_config_setting *setting;
    char text[WEIR_ORIGIN_TEXT_SIZE];

    if (key == NULL) {
        refuse_key(self, &origin, word);
        return;
    }
    setting = weir_config_group_setting(self->group, key);
    if (setting->text != NULL && setting->origin.source == self->source.source)
        weir_config_report(
            self->loading, &origin, "%s %s: is in line %u already",
            weir_config_group_text(self->group->section, self->group->name, text),
            key->name, setting->origin.line);
    else
        weir_config_loading_set(self->loading, self->group, key, value, &origin);
}

static void take_mistake(void *state, unsigned line, const char *text)
{
    struct file_call *self = state;
    struct weir_config_origin origin = at_line(self, line);

    weir_config_report(self->loading, &origin, "%s", text);
}

/* ---- files ------------------------------------------------------------------------- */

static void read_file(struct weir_config_loading *loading, const char *path,
                      bool may_be_absent)
{
    struct file_call file = {.loading = loading,
                             .source = weir_config_loading_source(loading, path)};
    const struct weir_reader_events events = {
        .state = &file,
        .section = take_section,
        .entry = take_entry,
        .mistake = take_mistake,
    };
    struct weir_bytes text;
    struct weir_error error = {0};
    enum weir_status status =
        weir_config_file_read(loading->state, path,
                              &(struct weir_config_file_rules){
                                  .size_max = WEIR_CONFIG_FILE_SIZE_MAX, .secret = true},
                              &text, &error);

    if (status == WEIR_NOT_FOUND && may_be_absent)
        return;
    if (status == WEIR_NO_MEMORY)
        loading->out_of_memory = true;
    else if (status != WEIR_OK)
        weir_config_report(loading, &file.source, "%s", error.text);
    else
        weir_reader_run(text.data, text.size, &events);
}

static bool is_wanted(const char *name)
{
    size_t size = strlen(name);

    return name[0] != '.' && size > strlen(ENDING) &&
           strcmp(name + size - strlen(ENDING), ENDING) == 0;
}

struct folder {
    const char *paths[FOLDER_FILES_MAX];
    size_t count;
    size_t more; /* than there is room for */
};

/* False: no memory. */
static bool list_folder(struct weir_config_loading *loading, const char *path, DIR *from,
                        struct folder *out)
{
    const struct dirent *entry;
    char text[PATH_SIZE];

    while ((entry = readdir(from)) != NULL) {
        if (!is_wanted(entry->d_name))
            continue;
        if (out->count == FOLDER_FILES_MAX) {
            out->more++;
            continue;
        }
        weir_text_format(text, sizeof text, "%s/%s", path, entry->d_name);
        out->paths[out->count] = weir_arena_copy_text(&loading->state->arena, text);
        if (out->paths[out->count] == NULL)
            return false;
        out->count++;
    }
    return true;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void read_folder(struct weir_config_loading *loading, const char *path)
{
    struct folder folder = {.count = 0};
    struct weir_config_origin source = weir_config_loading_source(loading, path);
    DIR *from = opendir(path);
    bool listed;

    if (from == NULL) {
        if (errno != ENOENT && errno != ENOTDIR)
            weir_config_report(loading, &source, "cannot be read: %s", strerror(errno));
        return;
    }
    listed = list_folder(loading, path, from, &folder);
    closedir(from);
    if (!listed) {
        loading->out_of_memory = true;
        return;
    }
    if (folder.more > 0)
        weir_config_report(loading, &source, "has more than %d files *%s",
                           FOLDER_FILES_MAX, ENDING);
    qsort(folder.paths, folder.count, sizeof folder.paths[0], compare_paths);
    for (size_t i = 0; i < folder.count; i++)
        read_file(loading, folder.paths[i], false);
}

void weir_config_read_files(struct weir_config_loading *loading)
{
    const struct weir_config_sources *sources = loading->sources;
    char folder[PATH_SIZE];

    if (sources->file == NULL)
        return;
    weir_text_format(folder, sizeof folder, "%s.d", sources->file);
    read_file(loading, sources->file, sources->file_may_be_absent);
    read_folder(loading, folder);
}
