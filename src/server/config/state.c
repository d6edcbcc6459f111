/*
 * state.c - see state.h.
 */
#include "server/config/state.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/heap.h"
#include "base/quote.h"
#include "base/text.h"
#include "base/utf8.h"
#include "outbox/names.h"
#include "server/config/reader.h"

enum { TEXT_SIZE = 320, ARENA_SIZE_MAX = 256 << 20, SHOWN_SIZE_MAX = 120 };

static const char HIDDEN[] = "***";

/* Zeroed. */
static void *alloc(struct weir_config_state *self, size_t size)
{
    void *memory = weir_arena_alloc(&self->arena, size);

    if (memory != NULL)
        memset(memory, 0, size);
    return memory;
}

static size_t index_of(const struct weir_config_section *section)
{
    return (size_t)(section - weir_config_sections);
}

struct weir_config_groups *
weir_config_state_groups(const struct weir_config_state *self,
                         const struct weir_config_section *section)
{
    return &self->sections[index_of(section)];
}

struct weir_config_group *
weir_config_state_find(const struct weir_config_state *self,
                       const struct weir_config_section *section, const char *name)
{
    const struct weir_config_groups *groups = weir_config_state_groups(self, section);

    for (size_t i = 0; i < groups->count; i++) {
        struct weir_config_group *group = groups->items[i];

        if (name == NULL || strcmp(group->name, name) == 0)
            return group;
    }
    return NULL;
}

/* NULL: no memory. */
static struct weir_config_group *add_group(struct weir_config_state *self,
                                           const struct weir_config_section *section,
                                           const char *name)
{
    struct weir_config_groups *groups = weir_config_state_groups(self, section);
    struct weir_config_group *group = alloc(self, sizeof *group);
    struct weir_config_group **items =
        weir_arena_grow(&self->arena, groups->items, groups->count, sizeof *items);

    if (group == NULL || items == NULL)
        return NULL;
    groups->items = items;
    group->section = section;
    group->settings = alloc(self, section->key_count * sizeof group->settings[0]);
    if (name != NULL)
        group->name = weir_arena_copy_text(&self->arena, name);
    if (group->settings == NULL || (name != NULL && group->name == NULL))
        return NULL;
    items[groups->count++] = group;
    return group;
}

static bool add_nameless(struct weir_config_state *self)
{
    for (size_t i = 0; i < weir_config_section_count; i++) {
        const struct weir_config_section *section = &weir_config_sections[i];

        if (!section->has_name && add_group(self, section, NULL) == NULL)
            return false;
    }
    return true;
}

struct weir_config_state *weir_config_state_create(const struct weir_heap *heap)
{
    struct weir_config_state *self = weir_heap_zalloc(heap, sizeof *self);

    if (self == NULL)
        return NULL;
    self->heap = heap;
    weir_arena_init(&self->arena, heap, ARENA_SIZE_MAX);
    self->sections = alloc(self, weir_config_section_count * sizeof self->sections[0]);
    if (self->sections == NULL || !add_nameless(self)) {
        weir_config_state_destroy(self);
        return NULL;
    }
    return self;
}

void weir_config_state_destroy(struct weir_config_state *self)
{
    if (self == NULL)
        return;
    for (struct weir_config_secret *secret = self->secrets; secret != NULL;
         secret = secret->next)
        explicit_bzero(secret->bytes, secret->size);
    weir_arena_fini(&self->arena);
    weir_heap_free(self->heap, self);
}

bool weir_config_state_guard(struct weir_config_state *self, char *bytes, size_t size)
{
    struct weir_config_secret *secret = weir_arena_alloc(&self->arena, sizeof *secret);

    if (secret == NULL) {
        explicit_bzero(bytes, size);
        return false;
    }
    *secret = (struct weir_config_secret){bytes, size, self->secrets};
    self->secrets = secret;
    return true;
}

/* ---- groups of one load ------------------------------------------------------------ */

static bool is_name(const struct weir_config_section *section, const char *name)
{
    return strnlen(name, section->name_size_max + 1) <= section->name_size_max &&
           weir_queue_name_check("name", name, NULL) == WEIR_OK;
}

/* Is `name`, or its absence, what the section wants? */
static bool check_name(struct weir_config_loading *self,
                       const struct weir_config_section *section, const char *name,
                       const struct weir_config_origin *origin)
{
    struct weir_quote shown;

    if (!section->has_name && name != NULL)
        weir_config_report(self, origin, "[%s] has no name; write [%s]", section->name,
                           section->name);
    else if (section->has_name && name == NULL)
        weir_config_report(self, origin, "[%s] needs a name; write [%s NAME]",
                           section->name, section->name);
    else if (name != NULL && !is_name(section, name))
        weir_config_report(self, origin,
                           "[%s] \"%s\" is no name; it has 1 to %zu of A-Z a-z 0-9 . _ "
                           "-, the first and last a letter or digit",
                           section->name, weir_quote(&shown, name),
                           section->name_size_max);
    else
        return true;
    return false;
}

struct weir_config_group *
weir_config_loading_group(struct weir_config_loading *self,
                          const struct weir_config_section *section, const char *name,
                          const struct weir_config_origin *origin)
{
    struct weir_config_group *group;

    if (!check_name(self, section, name, origin))
        return NULL;
    group = weir_config_state_find(self->state, section, name);
    if (group != NULL)
        return group;
    if (weir_config_state_groups(self->state, section)->count == WEIR_CONFIG_GROUPS_MAX) {
        weir_config_report(self, origin, "[%s %s] is one too many; there may be %d",
                           section->name, name, WEIR_CONFIG_GROUPS_MAX);
        return NULL;
    }
    group = add_group(self->state, section, name);
    if (group != NULL)
        group->origin = *origin;
    self->out_of_memory = self->out_of_memory || group == NULL;
    return group;
}

struct weir_config_setting *
weir_config_group_setting(const struct weir_config_group *self,
                          const struct weir_config_key *key)
{
    return &self->settings[key - self->section->keys];
}

static bool holds_secret(const struct weir_config_key *key)
{
    return key->type == WEIR_KEY_IS_URL || key->type == WEIR_KEY_IS_SHA256;
}

const char *weir_config_setting_shown(const struct weir_config_setting *self,
                                      const struct weir_config_key *key)
{
    if (self->hidden)
        return HIDDEN;
    return self->text != NULL ? self->text : key->fallback;
}

/* What the reader of files has made sure of. */
static const char *find_fault(struct weir_str value)
{
    if (value.size > WEIR_CONFIG_LINE_SIZE_MAX)
        return "is too long";
    for (size_t i = 0; i < value.size; i++) {
        unsigned char byte = (unsigned char)value.data[i];

        if ((byte < 0x20 && byte != '\t') || byte == 0x7f)
            return "has a control character";
    }
    return weir_utf8_valid(value) ? NULL : "is not UTF-8";
}

static struct weir_str without_blanks(const char *text)
{
    struct weir_str out = weir_str(text + strspn(text, " \t"));

    while (out.size > 0 && strchr(" \t", out.data[out.size - 1]) != NULL)
        out.size--;
    return out;
}

void weir_config_loading_set(struct weir_config_loading *self,
                             struct weir_config_group *group,
                             const struct weir_config_key *key, const char *text,
                             const struct weir_config_origin *origin)
{
    struct weir_str value = without_blanks(text);
    const char *fault = find_fault(value);
    char *copy;

    if (fault != NULL) {
        weir_config_report(self, origin, "its value %s", fault);
        return;
    }
    copy = weir_arena_alloc(&self->state->arena, value.size + 1);
    if (copy == NULL) {
        self->out_of_memory = true;
        return;
    }
    memcpy(copy, value.data, value.size);
    copy[value.size] = '\0';
    if (holds_secret(key) && !weir_config_state_guard(self->state, copy, value.size)) {
        self->out_of_memory = true;
        return;
    }
    *weir_config_group_setting(group, key) =
        (struct weir_config_setting){.text = copy, .origin = *origin};
}

/* ---- origins and reports ----------------------------------------------------------- */

/* Names of files and variables may have any bytes; lines of mistakes are text. */
static void make_printable(char *text)
{
    if (find_fault(weir_str(text)) == NULL)
        return;
    for (; *text != '\0'; text++)
        *text = *text >= 0x20 && *text <= 0x7e ? *text : '?';
}

struct weir_config_origin weir_config_loading_source(struct weir_config_loading *self,
                                                     const char *source)
{
    char *shown = weir_arena_copy_text(&self->state->arena, source);

    self->source_count++;
    self->out_of_memory = self->out_of_memory || shown == NULL;
    if (shown != NULL)
        make_printable(shown);
    return (struct weir_config_origin){.source = shown,
                                       .place = self->source_count << 32};
}

/* The end of a source, which says more than its beginning; *cut: there is more. */
static const char *end_of(const char *source, bool *cut)
{
    size_t size = strlen(source);

    *cut = size > SHOWN_SIZE_MAX;
    if (*cut)
        source += size - SHOWN_SIZE_MAX;
    while (*cut && ((unsigned char)*source & 0xc0) == 0x80) /* inside of a character */
        source++;
    return source;
}

const char *weir_config_origin_text(const struct weir_config_origin *self, char *out)
{
    const char *shown = self->source != NULL ? self->source : "default";
    bool cut;

    shown = end_of(shown, &cut);
    if (self->line == 0)
        weir_text_format(out, WEIR_ORIGIN_TEXT_SIZE, "%s%s", cut ? "..." : "", shown);
    else
        weir_text_format(out, WEIR_ORIGIN_TEXT_SIZE, "%s%s:%u", cut ? "..." : "", shown,
                         self->line);
    return out;
}

const char *weir_config_group_text(const struct weir_config_section *section,
                                   const char *name, char *out)
{
    weir_text_format(out, WEIR_ORIGIN_TEXT_SIZE, "[%s%s%s]", section->name,
                     name != NULL ? " " : "", name != NULL ? name : "");
    return out;
}

void weir_config_report(struct weir_config_loading *self,
                        const struct weir_config_origin *origin, const char *format, ...)
{
    char where[WEIR_ORIGIN_TEXT_SIZE];
    char text[TEXT_SIZE];
    va_list arguments;

    va_start(arguments, format);
    weir_text_format_list(text, sizeof text, format, arguments);
    va_end(arguments);
    if (origin->source == NULL) /* of the whole: nothing was given */
        weir_mistakes_add(self->mistakes, origin->place, "%s", text);
    else
        weir_mistakes_add(self->mistakes, origin->place, "%s: %s",
                          weir_config_origin_text(origin, where), text);
}

void weir_config_report_key(struct weir_config_loading *self,
                            const struct weir_config_group *group,
                            const struct weir_config_key *key, const char *text)
{
    const struct weir_config_setting *setting = weir_config_group_setting(group, key);
    const struct weir_config_origin *origin =
        setting->text != NULL ? &setting->origin : &group->origin;
    char section[WEIR_ORIGIN_TEXT_SIZE];

    weir_config_report(self, origin, "%s %s: %s",
                       weir_config_group_text(group->section, group->name, section),
                       key->name, text);
}

const char *weir_config_suggest(const char *nearest, char *out, size_t size)
{
    if (nearest == NULL)
        out[0] = '\0';
    else
        weir_text_format(out, size, "; %s?", nearest);
    return out;
}
