/*
 * option.c - see option.h.
 *
 * A value is converted into a local first and stored when it is known to be valid; the
 * count of a list and the mark come last.
 */
#include "cli/option.h"

#include <string.h>

#include "base/assert.h"
#include "base/nearest.h"
#include "base/text.h"
#include "cli/command.h"
#include "db/clock.h"
#include "weir/worker.h"

enum { WORDS_MAX = 24, LISTED_SIZE = 128 };

/* ---- choices ----------------------------------------------------------------------- */

/* "all|pending|none" is "all, pending or none". */
static const char *spell_listed(const char *argument, char *out, size_t size)
{
    size_t used = 0;

    for (const char *at = argument; *at != '\0' && used + 5 < size; at++) {
        const char *between = strchr(at + 1, '|') != NULL ? ", " : " or ";

        if (*at != '|') {
            out[used++] = *at;
            continue;
        }
        weir_text_format(out + used, size - used, "%s", between);
        used += strlen(between);
    }
    out[used] = '\0';
    return out;
}

static int refuse_word(const struct weir_command_option *self,
                       const struct weir_command *command, const char *word,
                       const char *nearest)
{
    const struct weir_option_words *words = self->value.words;
    bool listed = strchr(self->argument, '|') != NULL;
    char hint[LISTED_SIZE] = "";
    char list[LISTED_SIZE];

    if (nearest != NULL && !(listed && words->count <= 2)) /* both are listed */
        weir_text_format(hint, sizeof hint, ", did you mean '%s'?", nearest);
    if (listed)
        return weir_command_misuse(command, "--%s is '%s', must be %s%s", self->name,
                                   word, spell_listed(self->argument, list, sizeof list),
                                   hint);
    if (words->noun == NULL)
        return weir_command_misuse(command, "--%s is '%s', which is not known%s",
                                   self->name, word, hint);
    if (nearest != NULL)
        return weir_command_misuse(command, "--%s is '%s'%s", self->name, word, hint);
    return weir_command_misuse(command, "--%s is '%s', which is no %s", self->name, word,
                               words->noun);
}

static int take_choice(const struct weir_command_option *self,
                       const struct weir_command *command, const char *word, void *out)
{
    const struct weir_option_words *words = self->value.words;
    const char *names[WORDS_MAX];
    unsigned chosen = 0;

    WEIR_ASSERT(words->count <= WORDS_MAX);
    for (size_t i = 0; i < words->count; i++)
        names[i] = words->at(i);
    while (chosen < words->count && strcmp(names[chosen], word) != 0)
        chosen++;
    if (chosen == words->count)
        return refuse_word(self, command, word,
                           weir_nearest_find(word, names, words->count));
    if (self->value.type == WEIR_VALUE_CHOICES)
        *(uint32_t *)out |= UINT32_C(1) << chosen;
    else
        memcpy(out, &chosen, sizeof chosen);
    return WEIR_EXIT_DONE;
}

/* ---- numbers and durations --------------------------------------------------------- */

static void store_number(const struct weir_command_option *self, int64_t number,
                         void *out)
{
    uint32_t small = (uint32_t)number;

    if (self->value.size == sizeof small)
        memcpy(out, &small, sizeof small);
    else
        memcpy(out, &number, sizeof number);
}

static int take_number(const struct weir_command_option *self,
                       const struct weir_command *command, const char *word, void *out)
{
    int64_t number = 0;
    int code = weir_command_number(command, self->name, word, self->value.min,
                                   self->value.max, &number);

    if (code == WEIR_EXIT_DONE)
        store_number(self, number, out);
    return code;
}

static int take_duration(const struct weir_command_option *self,
                         const struct weir_command *command, const char *word,
                         int64_t *out)
{
    bool ms = self->value.type == WEIR_VALUE_MS;
    bool ago = self->value.type == WEIR_VALUE_AGO;
    int64_t unit = ms ? WEIR_MILLISECONDS(1) : 1;
    int64_t max = ago ? WEIR_DURATION_MAX : self->value.max;
    bool none = self->value.or_zero && strcmp(word, "0") == 0;
    int64_t ns = 0;
    int code = none ? WEIR_EXIT_DONE
                    : weir_command_duration(command, self->name, word,
                                            self->value.min * unit, max * unit, &ns);

    if (code == WEIR_EXIT_DONE)
        *out = ago ? weir_clock_wall_us() - ns / 1000 : ns / unit;
    return code;
}

/* ---- pairs ------------------------------------------------------------------------- */

static void store_pair(const struct weir_command_option *self, const char *first,
                       const char *second, char *out)
{
    *(const char **)(void *)out = first;
    *(const char **)(void *)(out + self->value.second - self->value.offset) = second;
}

static int take_pair(const struct weir_command_option *self,
                     const struct weir_command *command, char *word, char *out)
{
    const char *example = self->value.example;
    char *equals = strchr(word, '=');

    if (equals == NULL)
        return weir_command_misuse(
            command, "--%s is '%s', must be %s%s%s", self->name, word, self->argument,
            example != NULL ? ", as in " : "", example != NULL ? example : "");
    *equals = '\0';
    store_pair(self, word, equals + 1, out);
    return WEIR_EXIT_DONE;
}

/* ---- all of them ------------------------------------------------------------------- */

static int convert(const struct weir_command_option *self,
                   const struct weir_command *command, char *word, void *out)
{
    switch (self->value.type) {
    case WEIR_VALUE_FLAG:
        *(bool *)out = true;
        return WEIR_EXIT_DONE;
    case WEIR_VALUE_TEXT:
        *(const char **)out = word;
        return WEIR_EXIT_DONE;
    case WEIR_VALUE_PAIR:
        return take_pair(self, command, word, out);
    case WEIR_VALUE_NUMBER:
        return take_number(self, command, word, out);
    case WEIR_VALUE_NS:
    case WEIR_VALUE_MS:
    case WEIR_VALUE_AGO:
        return take_duration(self, command, word, out);
    case WEIR_VALUE_CHOICE:
    case WEIR_VALUE_CHOICES:
        return take_choice(self, command, word, out);
    case WEIR_VALUE_PARSED:
        return self->value.parse(command, self, word, out);
    case WEIR_VALUE_NONE:
        break;
    }
    WEIR_ASSERT(self->value.type != WEIR_VALUE_NONE);
    return WEIR_EXIT_MISUSE;
}

static int check_list(const struct weir_command_option *self,
                      const struct weir_command *command, const char *word,
                      const char *first, size_t count)
{
    for (size_t i = 0; self->list.unique && i < count; i++) {
        const char *other =
            *(const char *const *)(const void *)(first + i * self->list.stride);

        if (strcmp(other, word) == 0)
            return weir_command_misuse(command, "--%s '%s' is given twice", self->name,
                                       word);
    }
    if (count == self->list.max)
        return weir_command_misuse(command, "more than %zu %s", self->list.max,
                                   self->list.noun);
    return WEIR_EXIT_DONE;
}

static void mark(const struct weir_command_option *self, char *state)
{
    void *place = state + self->mark.offset;

    if (!self->mark.used)
        return;
    if (self->mark.bits != 0)
        *(uint32_t *)place |= self->mark.bits;
    else
        *(bool *)place = true;
}

/* Where the next value goes: the member, or a free place of its list. */
static int find_place(const struct weir_command_option *self,
                      const struct weir_command *command, const char *word, char *state,
                      char **out)
{
    size_t *count = (size_t *)(void *)(state + self->list.count_offset);
    int code;

    *out = state + self->value.offset;
    if (!weir_option_is_list(self))
        return WEIR_EXIT_DONE;
    code = check_list(self, command, word, *out, *count);
    *out += *count * self->list.stride;
    return code;
}

static void note_taken(const struct weir_command_option *self, char *state)
{
    if (weir_option_is_list(self))
        ++*(size_t *)(void *)(state + self->list.count_offset);
    mark(self, state);
}

int weir_option_take(const struct weir_command_option *self,
                     const struct weir_command *command, char *word, void *state)
{
    char *place = NULL;
    int code = find_place(self, command, word, state, &place);

    if (code == WEIR_EXIT_DONE)
        code = convert(self, command, word, place);
    if (code == WEIR_EXIT_DONE)
        note_taken(self, state);
    return code;
}

int weir_option_take_pair(const struct weir_command_option *self,
                          const struct weir_command *command, const char *first,
                          const char *second, void *state)
{
    char *place = NULL;
    int code = find_place(self, command, first, state, &place);

    WEIR_ASSERT(self->value.type == WEIR_VALUE_PAIR);
    if (code != WEIR_EXIT_DONE)
        return code;
    store_pair(self, first, second, place);
    note_taken(self, state);
    return code;
}

/* ---- fields of JSON ---------------------------------------------------------------- */

const char *weir_option_field(const struct weir_command_option *self, char *out)
{
    weir_text_format(out, WEIR_OPTION_FIELD_SIZE, "%s",
                     weir_option_is_list(self) ? self->list.noun : self->name);
    for (char *at = out; *at != '\0'; at++)
        *at = *at == '-' ? '_' : *at;
    return out;
}

int weir_option_take_field(const struct weir_command_option *self,
                           const struct weir_command *command, char *text, void *state)
{
    char field[WEIR_OPTION_FIELD_SIZE];

    if (self->value.type != WEIR_VALUE_FLAG || strcmp(text, "true") == 0)
        return weir_option_take(self, command, text, state);
    if (strcmp(text, "false") == 0)
        return WEIR_EXIT_DONE;
    return weir_command_misuse(command, "%s is '%.64s', must be true or false",
                               weir_option_field(self, field), text);
}
