/*
 * call.c - see call.h.
 */
#include "server/api/call.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/literal/moment.h"
#include "base/nearest.h"
#include "base/text.h"

const char *weir_call_name(const struct weir_api_call *self, size_t index)
{
    return self->match.names[index];
}

const char *weir_call_text(const struct weir_api_call *self, const char *name)
{
    return weir_target_find(&self->target, name);
}

/* Digits only, with a sign; what does not fit 64 bits is none either. */
static bool parse_number(const char *text, int64_t *out)
{
    size_t digits = strspn(text[0] == '-' ? text + 1 : text, "0123456789");
    char *end;

    if (digits == 0)
        return false;
    errno = 0;
    *out = strtoll(text, &end, 10);
    return errno == 0 && *end == '\0';
}

int64_t weir_call_number(const struct weir_api_call *self, const char *name,
                         int64_t otherwise)
{
    const char *text = weir_call_text(self, name);
    int64_t number = otherwise;

    return text != NULL && parse_number(text, &number) ? number : otherwise;
}

int64_t weir_call_moment(const struct weir_api_call *self, const char *name)
{
    const char *text = weir_call_text(self, name);
    int64_t moment_us = 0;

    return text != NULL && weir_moment_parse(text, &moment_us) ? moment_us : 0;
}

/* ---- checking ---------------------------------------------------------------------- */

static void complain(struct weir_api_call *self, enum weir_problem_code code,
                     const char *field, const char *sentence)
{
    weir_problem_set(&self->problem, code, "parameter '%s' %s", field, sentence);
    weir_text_format(self->problem.field, sizeof self->problem.field, "%s", field);
}

/* What of all parameters was meant? */
static void complain_unknown(struct weir_api_call *self, const char *name)
{
    const struct weir_endpoint *endpoint = self->match.endpoint;
    const char *words[WEIR_TARGET_PARAMETERS_MAX];
    const char *nearest;
    size_t count = endpoint->parameter_count;

    for (size_t i = 0; i < count; i++)
        words[i] = endpoint->parameters[i].name;
    nearest = weir_nearest_find(name, words, count);
    complain(self, WEIR_PROBLEM_BAD_REQUEST, name, "does not exist here");
    if (nearest != NULL)
        weir_text_format(self->problem.nearest, sizeof self->problem.nearest, "%s",
                         nearest);
}

static bool check_number(struct weir_api_call *self,
                         const struct weir_parameter *parameter, const char *text)
{
    int64_t number = 0;

    if (!parse_number(text, &number)) {
        complain(self, WEIR_PROBLEM_BAD_REQUEST, parameter->name, "must be an integer");
        return false;
    }
    if (number < parameter->min || number > parameter->max) {
        weir_problem_set(&self->problem, WEIR_PROBLEM_OUT_OF_RANGE,
                         "parameter '%s' is %" PRId64 ", must be from %" PRId64
                         " to %" PRId64,
                         parameter->name, number, parameter->min, parameter->max);
        weir_text_format(self->problem.field, sizeof self->problem.field, "%s",
                         parameter->name);
        self->problem.limit = number > parameter->max ? parameter->max : parameter->min;
        return false;
    }
    return true;
}

/* The index of a word, or SIZE_MAX. */
static size_t index_of(const struct weir_parameter *parameter, struct weir_str word)
{
    for (size_t i = 0; i < parameter->word_count; i++)
        if (weir_str_equal(weir_str(parameter->word(i)), word))
            return i;
    return SIZE_MAX;
}

static void complain_word(struct weir_api_call *self,
                          const struct weir_parameter *parameter, struct weir_str word)
{
    enum { WORDS_MAX = 32 };
    const char *words[WORDS_MAX];
    char text[WEIR_PROBLEM_WORD_SIZE];
    size_t count = parameter->word_count < WORDS_MAX ? parameter->word_count : WORDS_MAX;
    const char *nearest;

    weir_text_format(text, sizeof text, "%.*s", (int)(word.size < 64 ? word.size : 64),
                     word.data);
    for (size_t i = 0; i < count; i++)
        words[i] = parameter->word(i);
    nearest = weir_nearest_find(text, words, count);
    complain(self, WEIR_PROBLEM_BAD_REQUEST, parameter->name,
             "has a word that it must not have");
    if (nearest != NULL)
        weir_text_format(self->problem.nearest, sizeof self->problem.nearest, "%s",
                         nearest);
}

/* Bits of a list of words, or of one; false: one of them is wrong, and *wrong. */
static bool read_words(const struct weir_parameter *parameter, const char *text,
                       unsigned *out, struct weir_str *wrong)
{
    bool several = parameter->type == WEIR_PARAMETER_WORDS;

    *out = 0;
    for (bool more = true; more;) {
        size_t size = several ? strcspn(text, ",") : strlen(text);
        size_t index = index_of(parameter, (struct weir_str){text, size});

        if (index == SIZE_MAX) {
            *wrong = (struct weir_str){text, size};
            return false;
        }
        *out |= 1u << index;
        more = text[size] == ',';
        text += size + (more ? 1 : 0);
    }
    return true;
}

static const struct weir_parameter *find_parameter(const struct weir_endpoint *endpoint,
                                                   const char *name)
{
    for (size_t i = 0; i < endpoint->parameter_count; i++)
        if (strcmp(endpoint->parameters[i].name, name) == 0)
            return &endpoint->parameters[i];
    return NULL;
}

static bool check_moment(struct weir_api_call *self,
                         const struct weir_parameter *parameter, const char *text)
{
    int64_t moment_us;

    if (weir_moment_parse(text, &moment_us))
        return true;
    complain(self, WEIR_PROBLEM_BAD_REQUEST, parameter->name,
             "must be a time, as in 2026-11-19T20:00:00Z");
    return false;
}

static bool check_value(struct weir_api_call *self,
                        const struct weir_parameter *parameter, const char *text)
{
    struct weir_str wrong;
    unsigned bits;

    switch (parameter->type) {
    case WEIR_PARAMETER_NUMBER:
        return check_number(self, parameter, text);
    case WEIR_PARAMETER_MOMENT:
        return check_moment(self, parameter, text);
    case WEIR_PARAMETER_WORD:
    case WEIR_PARAMETER_WORDS:
        if (read_words(parameter, text, &bits, &wrong))
            return true;
        complain_word(self, parameter, wrong);
        return false;
    case WEIR_PARAMETER_TEXT:
        break;
    }
    return true;
}

static bool check_parameter(struct weir_api_call *self, size_t index)
{
    const struct weir_target_parameter *given = &self->target.parameters[index];
    const struct weir_parameter *parameter =
        find_parameter(self->match.endpoint, given->name);

    if (parameter == NULL) {
        complain_unknown(self, given->name);
        return false;
    }
    for (size_t i = 0; i < index; i++) {
        if (strcmp(self->target.parameters[i].name, given->name) != 0)
            continue;
        complain(self, WEIR_PROBLEM_BAD_REQUEST, given->name, "is given twice");
        return false;
    }
    return check_value(self, parameter, given->value);
}

bool weir_call_check_parameters(struct weir_api_call *self)
{
    for (size_t i = 0; i < self->target.parameter_count; i++)
        if (!check_parameter(self, i))
            return false;
    return true;
}

unsigned weir_call_words(const struct weir_api_call *self, const char *name)
{
    const struct weir_parameter *parameter = find_parameter(self->match.endpoint, name);
    const char *text = weir_call_text(self, name);
    struct weir_str wrong;
    unsigned bits = 0;

    if (parameter != NULL && text != NULL && read_words(parameter, text, &bits, &wrong))
        return bits;
    return 0;
}

/* ---- what the caller may see ------------------------------------------------------- */

bool weir_call_sees_queue(const struct weir_api_call *self, const char *queue)
{
    return weir_grant_covers(&self->grant, WEIR_RESTRICT_QUEUES, queue);
}

bool weir_call_sees_lane(const struct weir_api_call *self, const char *lane,
                         const char *name_space)
{
    return weir_grant_covers(&self->grant, WEIR_RESTRICT_LANES, lane) &&
           weir_grant_covers(&self->grant, WEIR_RESTRICT_NAMESPACES, name_space);
}

bool weir_call_sees_content(const struct weir_api_call *self)
{
    return weir_grant_allows(&self->grant, WEIR_SCOPE_CONTENT);
}

enum weir_status weir_call_hide(const char *what, const char *name,
                                struct weir_error *error)
{
    return weir_error_set(error, WEIR_NOT_FOUND, "there is no %s '%s'", what, name);
}
