/*
 * load.c - see load.h.
 *
 * First every place is read into settings (layer.h), then each setting that counts gets
 * its type (value.h), then what depends on several of them is checked (check.h). So a
 * value that is overwritten is not checked, as if it had never been there.
 */
#include "server/config/load.h"

#include <string.h>

#include "base/heap.h"
#include "base/no_memory.h"
#include "server/config/check.h"
#include "server/config/layer.h"
#include "server/config/state.h"
#include "server/config/value.h"

/* ---- types ------------------------------------------------------------------------- */

static void read_value(struct weir_config_loading *loading,
                       const struct weir_config_group *group,
                       const struct weir_config_key *key)
{
    const struct weir_config_setting *setting = weir_config_group_setting(group, key);
    const char *text = setting->text != NULL ? setting->text : key->fallback;
    struct weir_error error = {0};
    enum weir_status status;

    if (text == NULL) {
        if (key->required)
            weir_config_report_key(loading, group, key, "is missing");
        return;
    }
    status = weir_value_read(loading, key, text, group->values, &error);
    if (status == WEIR_NO_MEMORY)
        loading->out_of_memory = true;
    else if (status != WEIR_OK)
        weir_config_report_key(loading, group, key, error.text);
    else if (setting->text != NULL && key->mark_bits != 0)
        *(uint32_t *)(void *)(group->values + key->mark) |= key->mark_bits;
}

static void read_group(struct weir_config_loading *loading,
                       const struct weir_config_group *group)
{
    for (size_t i = 0; i < group->section->key_count; i++)
        read_value(loading, group, &group->section->keys[i]);
}

/* The structs of a section with names; each begins with its name. */
static char *make_structs(struct weir_config_loading *loading,
                          const struct weir_config_section *section,
                          struct weir_config *config, size_t count)
{
    size_t size = count * section->struct_size;
    char *values = count > 0 ? weir_arena_alloc(&loading->state->arena, size) : NULL;

    if (values != NULL)
        memset(values, 0, size);
    memcpy((char *)config + section->offset, &values, sizeof values);
    if (values == NULL)
        count = 0;
    memcpy((char *)config + section->count_offset, &count, sizeof count);
    return values;
}

static void read_section(struct weir_config_loading *loading, size_t index,
                         struct weir_config *config)
{
    const struct weir_config_section *section = &weir_config_sections[index];
    const struct weir_config_groups *groups =
        weir_config_state_groups(loading->state, section);
    char *values = (char *)config + section->offset;

    if (section->has_name)
        values = make_structs(loading, section, config, groups->count);
    if (values == NULL) {
        loading->out_of_memory = loading->out_of_memory || groups->count > 0;
        return;
    }
    for (size_t i = 0; i < groups->count; i++) {
        struct weir_config_group *group = groups->items[i];

        group->values = values + i * section->struct_size;
        if (section->has_name)
            memcpy(group->values, &group->name, sizeof group->name);
        read_group(loading, group);
    }
}

static void check_some_database(struct weir_config_loading *loading)
{
    const struct weir_config_groups *databases =
        weir_config_state_groups(loading->state, weir_config_section_find("database"));
    const struct weir_config_origin end = {.place = UINT64_MAX};

    if (databases->count == 0)
        weir_config_report(loading, &end,
                           "no database is configured; write [database NAME] with its "
                           "url, or give --db URL");
}

/* ---- life -------------------------------------------------------------------------- */

static void load(struct weir_config_loading *loading, struct weir_config *config)
{
    weir_config_read_files(loading);
    weir_config_read_environment(loading);
    weir_config_read_arguments(loading);
    check_some_database(loading);
    for (size_t i = 0; i < weir_config_section_count && !loading->out_of_memory; i++)
        read_section(loading, i, config);
    if (!loading->out_of_memory)
        weir_config_check(loading, config);
}

enum weir_status weir_config_load(const struct weir_config_sources *sources,
                                  struct weir_config **out,
                                  struct weir_mistakes *mistakes,
                                  struct weir_mistakes *warnings,
                                  struct weir_error *error)
{
    const struct weir_heap *heap =
        sources->heap != NULL ? sources->heap : weir_heap_system();
    struct weir_config_loading loading = {
        .sources = sources, .mistakes = mistakes, .warnings = warnings};
    struct weir_config *config = weir_heap_zalloc(heap, sizeof *config);
    enum weir_status status = WEIR_OK;

    *out = NULL;
    weir_mistakes_init(mistakes);
    weir_mistakes_init(warnings);
    if (config == NULL)
        return weir_no_memory(error, "configuration");
    config->state = weir_config_state_create(heap);
    loading.state = config->state;
    if (config->state == NULL) {
        weir_heap_free(heap, config);
        return weir_no_memory(error, "configuration");
    }
    load(&loading, config);
    if (loading.out_of_memory)
        status = weir_no_memory(error, "configuration");
    else if (mistakes->count > 0)
        status = weir_error_set(error, WEIR_INVALID, "configuration: %s",
                                mistakes->items[0].text);
    if (status == WEIR_OK)
        *out = config;
    else
        weir_config_destroy(config);
    return status;
}

void weir_config_destroy(struct weir_config *self)
{
    const struct weir_heap *heap;

    if (self == NULL)
        return;
    heap = self->state->heap;
    weir_config_state_destroy(self->state);
    weir_heap_free(heap, self);
}

/* ---- reading it -------------------------------------------------------------------- */

const struct weir_config_database *
weir_config_find_database(const struct weir_config *self, const char *name)
{
    for (size_t i = 0; i < self->database_count; i++) {
        if (strcmp(self->databases[i].name, name) == 0)
            return &self->databases[i];
    }
    return NULL;
}

const struct weir_config_database *
weir_config_default_database(const struct weir_config *self)
{
    for (size_t i = 0; i < self->database_count; i++) {
        if (self->databases[i].is_default)
            return &self->databases[i];
    }
    return NULL;
}

const struct weir_config_relay *weir_config_find_relay(const struct weir_config *self,
                                                       const char *name)
{
    for (size_t i = 0; i < self->relay_count; i++) {
        if (strcmp(self->relays[i].name, name) == 0)
            return &self->relays[i];
    }
    return NULL;
}

void weir_config_each(const struct weir_config *self, weir_config_entry_fn emit,
                      void *state)
{
    char origin[WEIR_ORIGIN_TEXT_SIZE];

    for (size_t i = 0; i < weir_config_section_count; i++) {
        const struct weir_config_section *section = &weir_config_sections[i];
        const struct weir_config_groups *groups =
            weir_config_state_groups(self->state, section);

        for (size_t j = 0; j < groups->count; j++) {
            const struct weir_config_group *group = groups->items[j];

            for (size_t k = 0; k < section->key_count; k++) {
                const struct weir_config_key *key = &section->keys[k];
                const struct weir_config_setting *setting = &group->settings[k];
                const struct weir_config_entry entry = {
                    .section = section,
                    .name = group->name,
                    .key = key,
                    .value = weir_config_setting_shown(setting, key),
                    .given = setting->text != NULL,
                    .origin = weir_config_origin_text(&setting->origin, origin),
                };

                emit(state, &entry);
            }
        }
    }
}
