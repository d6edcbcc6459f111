/*
 * compare.c - what a reload changes; see load.h.
 */
#include <string.h>

#include "base/quote.h"
#include "base/text.h"
#include "server/config/load.h"
#include "server/config/state.h"
#include "server/config/value.h"

struct compare_call {
    const struct weir_config *before;
    const struct weir_config *after;
    weir_config_change_fn emit;
    void *state;
};

/* A policy that is given counts as another one than the same value by default. */
static bool is_marked_otherwise(const struct weir_config_key *key,
                                const struct weir_config_setting *before,
                                const struct weir_config_setting *after)
{
    return key->mark_bits != 0 && (before->text == NULL) != (after->text == NULL);
}

/* The URL of url_file is in the member of url as well. */
static bool is_derived(const struct weir_config_key *key,
                       const struct weir_config_setting *before,
                       const struct weir_config_setting *after)
{
    return key->type == WEIR_KEY_IS_URL && before->text == NULL && after->text == NULL;
}

static void compare_key(const struct compare_call *self,
                        const struct weir_config_group *before,
                        const struct weir_config_group *after,
                        const struct weir_config_key *key)
{
    const struct weir_config_setting *old = weir_config_group_setting(before, key);
    const struct weir_config_setting *new = weir_config_group_setting(after, key);
    char origin[WEIR_ORIGIN_TEXT_SIZE];
    struct weir_config_change change = {
        .kind = WEIR_CONFIG_CHANGED,
        .section = after->section,
        .name = after->name,
        .key = key,
        .before = weir_config_setting_shown(old, key),
        .after = weir_config_setting_shown(new, key),
        .origin = weir_config_origin_text(&new->origin, origin),
    };

    if (is_derived(key, old, new) ||
        (weir_value_equal(key, before->values, after->values) &&
         !is_marked_otherwise(key, old, new)))
        return;
    self->emit(self->state, &change);
}

static void compare_groups(const struct compare_call *self,
                           const struct weir_config_group *before,
                           const struct weir_config_group *after)
{
    for (size_t i = 0; i < after->section->key_count; i++)
        compare_key(self, before, after, &after->section->keys[i]);
}

static void emit_group(const struct compare_call *self,
                       const struct weir_config_group *group,
                       enum weir_config_change_kind kind)
{
    char origin[WEIR_ORIGIN_TEXT_SIZE];
    const struct weir_config_change change = {
        .kind = kind,
        .section = group->section,
        .name = group->name,
        .origin = weir_config_origin_text(&group->origin, origin),
    };

    self->emit(self->state, &change);
}

static void compare_section(const struct compare_call *self,
                            const struct weir_config_section *section)
{
    const struct weir_config_groups *old =
        weir_config_state_groups(self->before->state, section);
    const struct weir_config_groups *new =
        weir_config_state_groups(self->after->state, section);

    for (size_t i = 0; i < old->count; i++) {
        if (weir_config_state_find(self->after->state, section, old->items[i]->name) ==
            NULL)
            emit_group(self, old->items[i], WEIR_CONFIG_REMOVED);
    }
    for (size_t i = 0; i < new->count; i++) {
        const struct weir_config_group *before =
            weir_config_state_find(self->before->state, section, new->items[i]->name);

        if (before == NULL)
            emit_group(self, new->items[i], WEIR_CONFIG_ADDED);
        else
            compare_groups(self, before, new->items[i]);
    }
}

void weir_config_compare(const struct weir_config *before,
                         const struct weir_config *after, weir_config_change_fn emit,
                         void *state)
{
    const struct compare_call call = {before, after, emit, state};

    for (size_t i = 0; i < weir_config_section_count; i++)
        compare_section(&call, &weir_config_sections[i]);
}

/* ---- what needs a restart ---------------------------------------------------------- */

static void refuse_section(struct weir_mistakes *mistakes,
                           const struct weir_config_change *change)
{
    char text[WEIR_ORIGIN_TEXT_SIZE];

    weir_config_group_text(change->section, change->name, text);
    if (change->kind == WEIR_CONFIG_ADDED)
        weir_mistakes_add(mistakes, 0, "%s: %s: is new; needs a restart", change->origin,
                          text);
    else
        weir_mistakes_add(mistakes, 0, "%s: is gone; needs a restart", text);
}

static const char *spell(const char *value, char *out, size_t size)
{
    struct weir_quote shown;

    if (value == NULL)
        weir_text_format(out, size, "not set");
    else
        weir_text_format(out, size, "\"%s\"", weir_quote(&shown, value));
    return out;
}

static void refuse_key(struct weir_mistakes *mistakes,
                       const struct weir_config_change *change)
{
    char text[WEIR_ORIGIN_TEXT_SIZE];
    char before[WEIR_QUOTE_SIZE_MAX + 8];
    char after[WEIR_QUOTE_SIZE_MAX + 8];

    weir_mistakes_add(mistakes, 0, "%s: %s %s: was %s, is %s; needs a restart",
                      change->origin,
                      weir_config_group_text(change->section, change->name, text),
                      change->key->name, spell(change->before, before, sizeof before),
                      spell(change->after, after, sizeof after));
}

static void collect(void *state, const struct weir_config_change *change)
{
    struct weir_mistakes *mistakes = state;

    if (change->key == NULL && change->section->reload == WEIR_KEY_RESTARTS)
        refuse_section(mistakes, change);
    if (change->key != NULL && change->key->reload == WEIR_KEY_RESTARTS)
        refuse_key(mistakes, change);
}

bool weir_config_check_reload(const struct weir_config *before,
                              const struct weir_config *after,
                              struct weir_mistakes *mistakes)
{
    weir_mistakes_init(mistakes);
    weir_config_compare(before, after, collect, mistakes);
    return mistakes->count == 0;
}
