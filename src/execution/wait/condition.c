/*
 * condition.c - see condition.h.
 *
 * "all" is the only thing that has members, so a condition is the list of what it asks
 * for, however it is nested: neither reading nor asking needs memory.
 */
#include "execution/wait/condition.h"

#include <string.h>

struct reader {
    struct weir_condition *out;
    struct weir_str text;
    size_t at;
    struct weir_error *error;
};

/* ---- reading ----------------------------------------------------------------------- */

static bool is_word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("_-.:/", c) != NULL);
}

bool weir_condition_is_word(struct weir_str text, size_t size_max)
{
    if (text.size == 0 || text.size > size_max)
        return false;
    for (size_t i = 0; i < text.size; i++) {
        if (!is_word_char(text.data[i]))
            return false;
    }
    return true;
}

static enum weir_status expected(struct reader *self, const char *what)
{
    return weir_error_set(self->error, WEIR_INVALID,
                          "condition: %s expected at character %zu", what, self->at + 1);
}

static void skip_blanks(struct reader *self)
{
    while (self->at < self->text.size && self->text.data[self->at] == ' ')
        self->at++;
}

/* Is `c` next? If so it is behind us. */
static bool take(struct reader *self, char c)
{
    skip_blanks(self);
    if (self->at == self->text.size || self->text.data[self->at] != c)
        return false;
    self->at++;
    return true;
}

/* The next word; empty when there is none. */
static struct weir_str take_word(struct reader *self)
{
    size_t begin;

    skip_blanks(self);
    begin = self->at;
    while (self->at < self->text.size && is_word_char(self->text.data[self->at]))
        self->at++;
    return (struct weir_str){self->text.data + begin, self->at - begin};
}

static bool is(struct weir_str word, const char *text)
{
    return weir_str_equal(word, weir_str(text));
}

static enum weir_status add_part(struct reader *self, enum weir_condition_type type,
                                 struct weir_condition_part **out)
{
    struct weir_condition *condition = self->out;

    if (condition->part_count == WEIR_CONDITION_PARTS_MAX)
        return weir_error_set(self->error, WEIR_TOO_LARGE,
                              "condition: has more than %d parts",
                              WEIR_CONDITION_PARTS_MAX);
    *out = &condition->parts[condition->part_count++];
    **out = (struct weir_condition_part){
        .type = type, .wanted = 1, .first_key = condition->key_count};
    return WEIR_OK;
}

static enum weir_status read_key(struct reader *self, struct weir_condition_part *part)
{
    struct weir_condition *condition = self->out;
    struct weir_str key = take_word(self);

    if (!weir_condition_is_word(key, WEIR_WAITPOINT_KEY_SIZE_MAX))
        return expected(self, "the key of a waitpoint, of 1 to 256 characters,");
    if (condition->key_count == WEIR_CONDITION_KEYS_MAX)
        return weir_error_set(self->error, WEIR_TOO_LARGE,
                              "condition: names more than %d waitpoints",
                              WEIR_CONDITION_KEYS_MAX);
    condition->keys[condition->key_count++] = key;
    part->key_count++;
    return WEIR_OK;
}

/* "(key, key)", or one without. */
static enum weir_status read_keys(struct reader *self, struct weir_condition_part *part)
{
    enum weir_status status;

    if (!take(self, '('))
        return read_key(self, part);
    do {
        status = read_key(self, part);
    } while (status == WEIR_OK && take(self, ','));
    if (status != WEIR_OK)
        return status;
    return take(self, ')') ? WEIR_OK : expected(self, "\",\" or \")\"");
}

/* "name@keys"; `name` was read already, and is empty for "*". */
static enum weir_status read_matcher(struct reader *self, struct weir_str name,
                                     struct weir_condition_part *part)
{
    if (name.size == 0 && !take(self, '*'))
        return expected(self, "the name of a signal, or \"*\",");
    if (name.size > WEIR_SIGNAL_NAME_SIZE_MAX)
        return expected(self, "a name of at most 256 characters");
    part->name = name;
    if (!take(self, '@'))
        return expected(self, "\"@\"");
    return read_keys(self, part);
}

static enum weir_status read_kind(struct reader *self, enum weir_condition_type *out)
{
    struct weir_str word = take_word(self);

    if (is(word, "waitpoints"))
        *out = WEIR_CONDITION_WAITPOINTS;
    else if (is(word, "signals"))
        *out = WEIR_CONDITION_SIGNALS;
    else if (is(word, "sources"))
        *out = WEIR_CONDITION_SOURCES;
    else
        return expected(self, "\"waitpoints\", \"signals\" or \"sources\"");
    return WEIR_OK;
}

/* One that is named twice is one. */
static uint32_t count_keys(const struct weir_condition *self,
                           const struct weir_condition_part *part)
{
    const struct weir_str *keys = &self->keys[part->first_key];
    uint32_t count = 0;

    for (uint32_t i = 0; i < part->key_count; i++) {
        uint32_t first = 0;

        while (!weir_str_equal(keys[first], keys[i]))
            first++;
        count += first == i;
    }
    return count;
}

/* "2 of sources vote@(a, b)", of which the number was read. */
static enum weir_status read_count(struct reader *self, int64_t wanted)
{
    enum weir_condition_type type = WEIR_CONDITION_SIGNALS;
    struct weir_condition_part *part = NULL;
    enum weir_status status;

    if (wanted < 1 || wanted > WEIR_SIGNALS_MAX)
        return weir_error_set(self->error, WEIR_INVALID,
                              "condition: a count must be from 1 to %d",
                              WEIR_SIGNALS_MAX);
    if (!is(take_word(self), "of"))
        return expected(self, "\"of\"");
    status = read_kind(self, &type);
    if (status == WEIR_OK)
        status = add_part(self, type, &part);
    if (status != WEIR_OK)
        return status;
    part->wanted = (uint32_t)wanted;
    status = read_matcher(self, take_word(self), part);
    if (status == WEIR_OK && type == WEIR_CONDITION_WAITPOINTS &&
        part->wanted > count_keys(self->out, part))
        return weir_error_set(
            self->error, WEIR_INVALID, "condition: %u of %u waitpoints can never be",
            (unsigned)part->wanted, (unsigned)count_keys(self->out, part));
    return status;
}

static enum weir_status read_single(struct reader *self, struct weir_str name)
{
    struct weir_condition_part *part = NULL;
    enum weir_status status = add_part(self, WEIR_CONDITION_SINGLE, &part);

    if (status != WEIR_OK)
        return status;
    status = read_matcher(self, name, part);
    if (status == WEIR_OK && part->key_count > 1)
        return weir_error_set(self->error, WEIR_INVALID,
                              "condition: several waitpoints need a count, as in "
                              "\"1 of signals\"");
    return status;
}

/* `depth`: of so many all() it is a part. */
static enum weir_status read_part(struct reader *self, int depth);

static enum weir_status read_all(struct reader *self, int depth)
{
    enum weir_status status;

    if (depth == WEIR_CONDITION_DEPTH_MAX)
        return weir_error_set(self->error, WEIR_TOO_DEEP,
                              "condition: all() is nested deeper than %d",
                              WEIR_CONDITION_DEPTH_MAX);
    do {
        status = read_part(self, depth + 1);
    } while (status == WEIR_OK && take(self, ','));
    if (status != WEIR_OK)
        return status;
    return take(self, ')') ? WEIR_OK : expected(self, "\",\" or \")\"");
}

static bool is_number(struct weir_str word)
{
    for (size_t i = 0; i < word.size; i++) {
        if (word.data[i] < '0' || word.data[i] > '9')
            return false;
    }
    return word.size > 0;
}

/* Large ones are all the same: too large. */
static int64_t number_of(struct weir_str word)
{
    int64_t number = 0;

    for (size_t i = 0; i < word.size && number <= WEIR_SIGNALS_MAX; i++)
        number = number * 10 + (word.data[i] - '0');
    return number;
}

/* A word is what its neighbour makes of it: a signal may be called "all", or "7". */
static enum weir_status read_part(struct reader *self, int depth)
{
    struct weir_condition_part *part;
    struct weir_str word;
    bool named;

    word = take_word(self);
    skip_blanks(self);
    named = self->at < self->text.size && self->text.data[self->at] == '@';
    if (named || word.size == 0)
        return read_single(self, word);
    if (is(word, "all") && take(self, '('))
        return read_all(self, depth);
    if (is(word, "operator"))
        return add_part(self, WEIR_CONDITION_OPERATOR, &part);
    if (is(word, "timeout"))
        return add_part(self, WEIR_CONDITION_TIMEOUT, &part);
    if (is_number(word))
        return read_count(self, number_of(word));
    return expected(self, "\"@\"");
}

enum weir_status weir_condition_parse(struct weir_condition *self, struct weir_str text,
                                      struct weir_error *error)
{
    struct reader reader = {.out = self, .text = text, .error = error};
    enum weir_status status;

    self->part_count = 0;
    self->key_count = 0;
    if (text.size > WEIR_CONDITION_SIZE_MAX)
        return weir_error_set(error, WEIR_TOO_LARGE,
                              "condition: has %zu bytes, must have at most %d", text.size,
                              WEIR_CONDITION_SIZE_MAX);
    status = read_part(&reader, 0);
    skip_blanks(&reader);
    if (status == WEIR_OK && reader.at < text.size)
        status = expected(&reader, "the end");
    return status;
}

static bool is_one_of(struct weir_str key, const struct weir_waitpoint *waitpoints,
                      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (is(key, waitpoints[i].key))
            return true;
    }
    return false;
}

enum weir_status weir_condition_check(const struct weir_condition *self,
                                      const struct weir_waitpoint *waitpoints,
                                      size_t count, bool has_timeout,
                                      struct weir_error *error)
{
    for (uint32_t i = 0; i < self->key_count; i++) {
        if (!is_one_of(self->keys[i], waitpoints, count))
            return weir_error_set(error, WEIR_INVALID,
                                  "condition: \"%.*s\" is none of the waitpoints",
                                  (int)self->keys[i].size, self->keys[i].data);
    }
    for (uint32_t i = 0; i < self->part_count; i++) {
        if (self->parts[i].type == WEIR_CONDITION_TIMEOUT && !has_timeout)
            return weir_error_set(error, WEIR_INVALID,
                                  "condition: \"timeout\" needs a timeout");
    }
    return WEIR_OK;
}

/* ---- asking ------------------------------------------------------------------------ */

/* "operator" and "timeout" have no keys: no signal matches. */
static bool matches(const struct weir_condition *self,
                    const struct weir_condition_part *part,
                    const struct weir_signal_seen *signal)
{
    if (part->name.size > 0 && !weir_str_equal(part->name, signal->name))
        return false;
    for (uint32_t i = 0; i < part->key_count; i++) {
        if (weir_str_equal(self->keys[part->first_key + i], signal->key))
            return true;
    }
    return false;
}

static bool is_same(enum weir_condition_type type, const struct weir_signal_seen *a,
                    const struct weir_signal_seen *b)
{
    if (type == WEIR_CONDITION_WAITPOINTS)
        return weir_str_equal(a->key, b->key);
    return type == WEIR_CONDITION_SOURCES &&
           weir_str_equal(a->source_type, b->source_type) &&
           weir_str_equal(a->source, b->source);
}

/* Has one before it, which matches too, the same waitpoint or source? */
static bool is_repeat(const struct weir_condition *self,
                      const struct weir_condition_part *part,
                      const struct weir_signal_seen *signals, size_t index)
{
    if (part->type == WEIR_CONDITION_SIGNALS)
        return false;
    for (size_t i = 0; i < index; i++) {
        if (is_same(part->type, &signals[i], &signals[index]) &&
            matches(self, part, &signals[i]))
            return true;
    }
    return false;
}

uint32_t weir_condition_found(const struct weir_condition *self,
                              const struct weir_condition_part *part,
                              const struct weir_signal_seen *signals, size_t count)
{
    uint32_t found = 0;

    for (size_t i = 0; i < count && found < part->wanted; i++) {
        if (matches(self, part, &signals[i]) && !is_repeat(self, part, signals, i))
            found++;
    }
    return found;
}

bool weir_condition_holds(const struct weir_condition *self,
                          const struct weir_signal_seen *signals, size_t count)
{
    for (uint32_t i = 0; i < self->part_count; i++) {
        const struct weir_condition_part *part = &self->parts[i];

        if (weir_condition_found(self, part, signals, count) < part->wanted)
            return false;
    }
    return self->part_count > 0;
}

bool weir_condition_wants(const struct weir_condition *self,
                          const struct weir_signal_seen *signal)
{
    for (uint32_t i = 0; i < self->part_count; i++) {
        if (matches(self, &self->parts[i], signal))
            return true;
    }
    return false;
}

/* ---- writing ----------------------------------------------------------------------- */

static const char *const COUNTED[] = {
    [WEIR_CONDITION_WAITPOINTS] = "waitpoints",
    [WEIR_CONDITION_SIGNALS] = "signals",
    [WEIR_CONDITION_SOURCES] = "sources",
};

/* "vote@(a, b)" */
static void write_matcher(const struct weir_condition *self,
                          const struct weir_condition_part *part, struct weir_buf *out)
{
    bool several = part->key_count > 1;

    weir_buf_append(out, part->name.size > 0 ? part->name.data : "*",
                    part->name.size > 0 ? part->name.size : 1);
    weir_buf_append_text(out, several ? "@(" : "@");
    for (uint32_t i = 0; i < part->key_count; i++) {
        struct weir_str key = self->keys[part->first_key + i];

        weir_buf_append_text(out, i > 0 ? ", " : "");
        weir_buf_append(out, key.data, key.size);
    }
    weir_buf_append_text(out, several ? ")" : "");
}

void weir_condition_write(const struct weir_condition *self,
                          const struct weir_condition_part *part, struct weir_buf *out)
{
    switch (part->type) {
    case WEIR_CONDITION_OPERATOR:
        weir_buf_append_text(out, "operator");
        return;
    case WEIR_CONDITION_TIMEOUT:
        weir_buf_append_text(out, "timeout");
        return;
    case WEIR_CONDITION_SINGLE:
        break;
    case WEIR_CONDITION_WAITPOINTS:
    case WEIR_CONDITION_SIGNALS:
    case WEIR_CONDITION_SOURCES:
        weir_buf_append_format(out, "%u of %s ", (unsigned)part->wanted,
                               COUNTED[part->type]);
        break;
    }
    write_matcher(self, part, out);
}

void weir_condition_write_missing(const struct weir_condition *self,
                                  const struct weir_condition_part *part, uint32_t found,
                                  struct weir_buf *out)
{
    switch (part->type) {
    case WEIR_CONDITION_OPERATOR:
        weir_buf_append_text(out, "an operator");
        return;
    case WEIR_CONDITION_TIMEOUT:
        weir_buf_append_text(out, "its timeout");
        return;
    case WEIR_CONDITION_SINGLE:
        break;
    case WEIR_CONDITION_WAITPOINTS:
    case WEIR_CONDITION_SIGNALS:
    case WEIR_CONDITION_SOURCES:
        weir_buf_append_format(out, "%u of %u %s, ", (unsigned)found,
                               (unsigned)part->wanted, COUNTED[part->type]);
        break;
    }
    write_matcher(self, part, out);
}
