/*
 * value.c - see value.h.
 *
 * Each reader gets the text and the place of the member. A list is a copy of the text
 * that is cut at its commas.
 */
#include "server/config/value.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/assert.h"
#include "base/codec/hex.h"
#include "base/count.h"
#include "base/duration.h"
#include "base/literal/moment.h"
#include "base/literal/number.h"
#include "base/literal/size.h"
#include "base/nearest.h"
#include "base/permissions.h"
#include "base/quote.h"
#include "base/text.h"
#include "db/url.h"
#include "outbox/names.h"
#include "server/config/address.h"
#include "server/config/config.h"
#include "server/config/file.h"
#include "server/config/state.h"
#include "sink/sink.h"
#include "weir/time.h"

enum {
    ITEMS_MAX = 1000,
    WORDS_MAX = 16,
    LISTED_SIZE = 128,
    HINT_SIZE = 96,
    SECRET_SIZE_MAX = 1 << 20,
    SCHEME_SIZE = 32,
    SINKS_MAX = 32,
};

struct value_call {
    struct weir_config_loading *loading;
    const struct weir_config_key *key;
    const char *text;
    void *values; /* the struct */
    void *out;    /* its member */
    struct weir_error *error;
};

typedef enum weir_status (*read_fn)(const struct value_call *self);

static enum weir_status no_memory(const struct value_call *self)
{
    return weir_error_set(self->error, WEIR_NO_MEMORY, "out of memory");
}

/* "TEXT" SENTENCE. */
static enum weir_status refuse(const struct value_call *self, const char *format, ...)
    WEIR_PRINTF(2, 3);
static enum weir_status refuse(const struct value_call *self, const char *format, ...)
{
    struct weir_quote shown;
    char sentence[WEIR_ERROR_TEXT_SIZE];
    va_list arguments;

    va_start(arguments, format);
    weir_text_format_list(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return weir_error_set(self->error, WEIR_INVALID, "\"%s\" %s",
                          weir_quote(&shown, self->text), sentence);
}

/* ---- texts ------------------------------------------------------------------------- */

static enum weir_status read_text(const struct value_call *self)
{
    if (self->text[0] == '\0')
        return weir_error_set(self->error, WEIR_INVALID, "has no value");
    *(const char **)self->out = self->text;
    return WEIR_OK;
}

static enum weir_status read_name(const struct value_call *self)
{
    enum weir_status status = weir_queue_name_check("name", self->text, self->error);

    if (status == WEIR_OK)
        *(const char **)self->out = self->text;
    return status;
}

static const char *without_prefix(const char *text, const char *prefix)
{
    size_t size = strlen(prefix);

    return strncmp(text, prefix, size) == 0 ? text + size : text;
}

/* Never shown: it may have a password. */
static enum weir_status read_url(const struct value_call *self)
{
    const struct weir_heap *heap = self->loading->state->heap;
    struct weir_error error = {0};
    struct weir_url url;
    enum weir_status status = weir_url_parse(heap, self->text, &url, &error);

    if (status == WEIR_NO_MEMORY)
        return no_memory(self);
    if (status != WEIR_OK)
        return weir_error_set(self->error, status, "%s",
                              without_prefix(error.text, "database URL: "));
    weir_url_fini(heap, &url);
    *(const char **)self->out = self->text;
    return WEIR_OK;
}

static const struct weir_sink_ops *find_sink(const char *scheme, size_t size)
{
    const struct weir_sink_ops *ops;

    for (size_t i = 0; (ops = weir_sink_kind(i)) != NULL; i++) {
        if (strlen(ops->scheme) == size && strncmp(ops->scheme, scheme, size) == 0)
            return ops;
    }
    return NULL;
}

static enum weir_status refuse_sink(const struct value_call *self, size_t size)
{
    const char *schemes[SINKS_MAX];
    char scheme[SCHEME_SIZE];
    char hint[HINT_SIZE];
    const struct weir_sink_ops *ops;
    const char *nearest;
    size_t count = 0;

    while (count < SINKS_MAX && (ops = weir_sink_kind(count)) != NULL)
        schemes[count++] = ops->scheme;
    /* What is behind the colon may have a secret. */
    weir_text_format(scheme, sizeof scheme, "%.*s", (int)size, self->text);
    nearest = weir_nearest_find(scheme, schemes, count);
    weir_text_format(hint, sizeof hint,
                     nearest != NULL ? "; %s:?"
                                     : "; stdout:, file:, "
                                       "exec: and exec-stream: are",
                     nearest);
    return weir_error_set(self->error, WEIR_INVALID, "begins with no kind of sink%s",
                          hint);
}

static enum weir_status read_sink(const struct value_call *self)
{
    size_t size = strcspn(self->text, ":");
    const struct weir_sink_ops *ops = find_sink(self->text, size);

    if (ops == NULL || self->text[size] == '\0')
        return refuse_sink(self, size);
    /* "file:PATH" needs something behind the colon. */
    if (self->text[size + 1] == '\0' && strlen(ops->usage) > size + 1)
        return weir_error_set(self->error, WEIR_INVALID, "is empty; write %s",
                              ops->usage);
    *(const char **)self->out = self->text;
    return WEIR_OK;
}

static enum weir_status read_tag(const struct value_call *self)
{
    struct weir_arena *arena = &self->loading->state->arena;
    char *copy = weir_arena_copy_text(arena, self->text);
    char *equals = copy != NULL ? strchr(copy, '=') : NULL;

    if (copy == NULL)
        return no_memory(self);
    if (equals == NULL || equals == copy)
        return refuse(self, "is no KEY=VALUE");
    *equals = '\0';
    *(const char **)self->out = copy;
    *(const char **)(void *)((char *)self->values + self->key->second) = equals + 1;
    return WEIR_OK;
}

/* ---- numbers, durations, sizes ----------------------------------------------------- */

static void store_number(const struct value_call *self, int64_t number)
{
    uint32_t small = (uint32_t)number;

    if (self->key->size == sizeof small)
        memcpy(self->out, &small, sizeof small);
    else
        memcpy(self->out, &number, sizeof number);
}

static bool is_in_range(const struct value_call *self, int64_t number)
{
    return (number >= self->key->min && number <= self->key->max) ||
           (number == 0 && self->key->or_zero);
}

static bool is_digits(const char *text)
{
    return text[0] != '\0' && text[strspn(text, "0123456789")] == '\0';
}

static enum weir_status read_number(const struct value_call *self)
{
    int64_t number = 0;

    if (!is_digits(self->text))
        return refuse(self, "is no whole number");
    if (!weir_number_parse(self->text, &number) || number > self->key->max)
        return refuse(self, "is too large; at most %" PRId64, self->key->max);
    if (!is_in_range(self, number))
        return refuse(self, "is too small; at least %" PRId64, self->key->min);
    store_number(self, number);
    return WEIR_OK;
}

/* "90s", as it would be written. */
static const char *spell_duration(int64_t ns, char *out)
{
    char text[WEIR_DURATION_TEXT_SIZE];
    size_t used = 0;

    weir_duration_spell(ns, text, sizeof text);
    for (const char *at = text; *at != '\0'; at++) {
        if (*at != ' ')
            out[used++] = *at;
    }
    out[used] = '\0';
    return out;
}

static enum weir_status refuse_duration(const struct value_call *self)
{
    if (is_digits(self->text))
        return refuse(self, "has no unit; write %.20ss", self->text);
    return refuse(self, "is no duration, as in 500ms, 30s, 5min, 1h or 7d");
}

static enum weir_status read_duration(const struct value_call *self)
{
    int64_t unit = self->key->type == WEIR_KEY_IS_MS ? WEIR_MILLISECONDS(1) : 1;
    char limit[WEIR_DURATION_TEXT_SIZE];
    int64_t ns = 0;

    if (!weir_duration_parse(self->text, &ns))
        return refuse_duration(self);
    if (ns / unit > self->key->max)
        return refuse(self, "is too long; at most %s",
                      spell_duration(self->key->max * unit, limit));
    if (!is_in_range(self, ns / unit))
        return refuse(self, "is too short; at least %s",
                      spell_duration(self->key->min * unit, limit));
    store_number(self, ns / unit);
    return WEIR_OK;
}

static enum weir_status refuse_size(const struct value_call *self)
{
    char text[WEIR_SIZE_TEXT_SIZE];
    int64_t bytes = 0;

    if (weir_number_parse(self->text, &bytes))
        return refuse(self, "has no unit; write %s", weir_size_spell(bytes, text));
    return refuse(self, "is no size, as in 512B, 64KiB, 16MiB or 1GiB");
}

static enum weir_status read_size(const struct value_call *self)
{
    char limit[WEIR_SIZE_TEXT_SIZE];
    int64_t bytes = 0;

    if (!weir_size_parse(self->text, &bytes))
        return refuse_size(self);
    if (bytes > self->key->max)
        return refuse(self, "is too large; at most %s",
                      weir_size_spell(self->key->max, limit));
    if (!is_in_range(self, bytes))
        return refuse(self, "is too small; at least %s",
                      weir_size_spell(self->key->min, limit));
    store_number(self, bytes);
    return WEIR_OK;
}

static enum weir_status read_permissions(const struct value_call *self)
{
    if (!weir_permissions_parse(weir_str(self->text), self->out))
        return refuse(self, WEIR_PERMISSIONS_RULE);
    return WEIR_OK;
}

static enum weir_status read_moment(const struct value_call *self)
{
    if (!weir_moment_parse(self->text, self->out))
        return refuse(self, "is no time, as in 2027-01-31T12:00:00Z");
    return WEIR_OK;
}

/* Never shown: it may be the token itself. */
static enum weir_status read_sha256(const struct value_call *self)
{
    enum { SIZE = 32 };

    if (strncmp(self->text, "weir_", 5) == 0)
        return weir_error_set(self->error, WEIR_INVALID,
                              "is a token; write the SHA-256 of it, and make a new one");
    if (strlen(self->text) != (size_t)2 * SIZE ||
        !weir_hex_read(self->text, SIZE, self->out))
        return weir_error_set(self->error, WEIR_INVALID,
                              "is no SHA-256; it has 64 hexadecimal digits");
    return WEIR_OK;
}

/* ---- words ------------------------------------------------------------------------- */

static enum weir_status read_flag(const struct value_call *self)
{
    static const char *const ON[] = {"true", "on", "1", "Yes", "YES", "y"};
    static const char *const OFF[] = {"false", "off", "0", "No", "NO", "n"};
    const char *hint = "";

    if (strcmp(self->text, "yes") == 0 || strcmp(self->text, "no") == 0) {
        *(bool *)self->out = self->text[0] == 'y';
        return WEIR_OK;
    }
    for (size_t i = 0; i < COUNT_OF(ON); i++) {
        if (strcmp(self->text, ON[i]) == 0)
            hint = "; yes?";
        if (strcmp(self->text, OFF[i]) == 0)
            hint = "; no?";
    }
    return refuse(self, "is neither yes nor no%s", hint);
}

static size_t count_words(const char *const *words)
{
    size_t count = 0;

    while (words[count] != NULL)
        count++;
    WEIR_ASSERT(count <= WORDS_MAX);
    return count;
}

/* "a, b and c" */
static const char *spell_words(const char *const *words, char *out)
{
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0; words[i] != NULL; i++) {
        const char *before = i == 0 ? "" : words[i + 1] != NULL ? ", " : " and ";

        used +=
            weir_text_format(out + used, LISTED_SIZE - used, "%s%s", before, words[i]);
    }
    return out;
}

/* -1: it is none of them. */
static int find_word(const char *const *words, const char *word)
{
    for (int i = 0; words[i] != NULL; i++) {
        if (strcmp(words[i], word) == 0)
            return i;
    }
    return -1;
}

static enum weir_status refuse_word(const struct value_call *self, const char *word)
{
    const char *const *words = self->key->words;
    const char *nearest = weir_nearest_find(word, words, count_words(words));
    struct weir_quote shown;
    char list[LISTED_SIZE];
    char hint[HINT_SIZE];

    return weir_error_set(self->error, WEIR_INVALID, "\"%s\" is none of %s%s",
                          weir_quote(&shown, word), spell_words(words, list),
                          weir_config_suggest(nearest, hint, sizeof hint));
}

static enum weir_status read_choice(const struct value_call *self)
{
    int found = find_word(self->key->words, self->text);

    if (found < 0)
        return refuse_word(self, self->text);
    *(int *)self->out = found + (int)self->key->min;
    return WEIR_OK;
}

/* ---- lists ------------------------------------------------------------------------- */

/* Called for each item, without blanks around it. */
typedef enum weir_status (*item_fn)(const struct value_call *self, const char *item,
                                    size_t index, void *items);

static char *cut_item(char **rest)
{
    char *item = *rest + strspn(*rest, " \t");
    size_t size = strcspn(item, ",");
    char *end = item + size;

    *rest = *end == ',' ? end + 1 : NULL;
    while (end > item && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    *end = '\0';
    return item;
}

static size_t count_items(const char *text)
{
    size_t count = text[0] != '\0';

    for (; *text != '\0'; text++)
        count += *text == ',';
    return count;
}

/* *items has *count places of `size` bytes, each given to `take`. NULL: an empty list. */
static enum weir_status read_list(const struct value_call *self, size_t size,
                                  item_fn take, void **items, size_t *count)
{
    struct weir_arena *arena = &self->loading->state->arena;
    char *rest = weir_arena_copy_text(arena, self->text);
    enum weir_status status = WEIR_OK;

    *items = NULL;
    *count = count_items(self->text);
    if (*count == 0)
        return WEIR_OK;
    if (*count > ITEMS_MAX)
        return weir_error_set(self->error, WEIR_INVALID, "has %zu items, at most %d",
                              *count, ITEMS_MAX);
    *items = weir_arena_alloc(arena, *count * size);
    if (*items == NULL || rest == NULL)
        return no_memory(self);
    memset(*items, 0, *count * size);
    for (size_t i = 0; i < *count && status == WEIR_OK; i++) {
        const char *item = cut_item(&rest);

        status = item[0] != '\0' ? take(self, item, i, *items)
                                 : weir_error_set(self->error, WEIR_INVALID,
                                                  "item %zu of the list is empty", i + 1);
    }
    return status;
}

static enum weir_status take_text(const struct value_call *self, const char *item,
                                  size_t index, void *items)
{
    (void)self;
    ((const char **)items)[index] = item;
    return WEIR_OK;
}

static enum weir_status read_texts(const struct value_call *self)
{
    struct weir_config_texts *out = self->out;
    void *items = NULL;
    size_t count = 0;
    enum weir_status status = read_list(self, sizeof(char *), take_text, &items, &count);

    if (status == WEIR_OK)
        *out = (struct weir_config_texts){items, count};
    return status;
}

static enum weir_status take_word(const struct value_call *self, const char *item,
                                  size_t index, void *items)
{
    int found = find_word(self->key->words, item);

    if (found < 0)
        return refuse_word(self, item);
    ((uint32_t *)items)[index] = UINT32_C(1) << found;
    return WEIR_OK;
}

static enum weir_status read_choices(const struct value_call *self)
{
    void *items = NULL;
    size_t count = 0;
    enum weir_status status =
        read_list(self, sizeof(uint32_t), take_word, &items, &count);
    uint32_t bits = 0;

    if (status != WEIR_OK)
        return status;
    if (count == 0)
        return weir_error_set(self->error, WEIR_INVALID, "has no value");
    for (size_t i = 0; i < count; i++)
        bits |= ((const uint32_t *)items)[i];
    memcpy(self->out, &bits, sizeof bits);
    return WEIR_OK;
}

static enum weir_status take_listener(const struct value_call *self, const char *item,
                                      size_t index, void *items)
{
    struct weir_config_listener *listeners = items;

    for (size_t i = 0; i < index; i++) {
        if (strcmp(listeners[i].text, item) == 0)
            return weir_error_set(self->error, WEIR_INVALID,
                                  "\"%s\" is in the list twice", item);
    }
    return weir_address_read_listener(&self->loading->state->arena, item,
                                      &listeners[index], self->error);
}

static enum weir_status read_listeners(const struct value_call *self)
{
    struct weir_config_listeners *out = self->out;
    void *items = NULL;
    size_t count = 0;
    enum weir_status status = read_list(self, sizeof(struct weir_config_listener),
                                        take_listener, &items, &count);

    if (status != WEIR_OK)
        return status;
    if (count == 0)
        return weir_error_set(self->error, WEIR_INVALID, "has no value");
    *out = (struct weir_config_listeners){items, count};
    return WEIR_OK;
}

/* ---- files ------------------------------------------------------------------------- */

static enum weir_status read_file(const struct value_call *self)
{
    struct weir_config_file *out = self->out;
    const struct weir_config_file_rules rules = {.size_max = SECRET_SIZE_MAX,
                                                 .secret = self->key->secret,
                                                 .guarded = self->key->secret};
    struct weir_config_file file = {.path = NULL};
    struct weir_bytes content = {NULL, 0};
    struct weir_error error = {0};
    enum weir_status status;

    if (self->text[0] == '\0')
        return weir_error_set(self->error, WEIR_INVALID, "has no value");
    status = weir_config_file_path(self->loading, self->text, &file.path, &error);
    if (status == WEIR_OK)
        status = weir_config_file_read(self->loading->state, file.path, &rules, &content,
                                       &error);
    if (status == WEIR_NO_MEMORY)
        return no_memory(self);
    if (status != WEIR_OK)
        return refuse(self, "%s", error.text);
    if (content.size > 0 && content.data[content.size - 1] == '\n')
        content.data[--content.size] = '\0';
    if (content.size == 0)
        return refuse(self, "is empty");
    file.content = (struct weir_str){content.data, content.size};
    *out = file;
    return WEIR_OK;
}

/* ---- all of them ------------------------------------------------------------------- */

static const read_fn READERS[] = {
    [WEIR_KEY_IS_TEXT] = read_text,
    [WEIR_KEY_IS_NAME] = read_name,
    [WEIR_KEY_IS_URL] = read_url,
    [WEIR_KEY_IS_SINK] = read_sink,
    [WEIR_KEY_IS_FLAG] = read_flag,
    [WEIR_KEY_IS_NUMBER] = read_number,
    [WEIR_KEY_IS_NS] = read_duration,
    [WEIR_KEY_IS_MS] = read_duration,
    [WEIR_KEY_IS_SIZE] = read_size,
    [WEIR_KEY_IS_CHOICE] = read_choice,
    [WEIR_KEY_IS_CHOICES] = read_choices,
    [WEIR_KEY_IS_TEXTS] = read_texts,
    [WEIR_KEY_IS_LISTENERS] = read_listeners,
    [WEIR_KEY_IS_FILE] = read_file,
    [WEIR_KEY_IS_PERMISSIONS] = read_permissions,
    [WEIR_KEY_IS_SHA256] = read_sha256,
    [WEIR_KEY_IS_MOMENT] = read_moment,
    [WEIR_KEY_IS_TAG] = read_tag,
};

enum weir_status weir_value_read(struct weir_config_loading *loading,
                                 const struct weir_config_key *key, const char *text,
                                 void *values, struct weir_error *error)
{
    const struct value_call call = {
        .loading = loading,
        .key = key,
        .text = text,
        .values = values,
        .out = (char *)values + key->offset,
        .error = error,
    };

    return READERS[key->type](&call);
}

/* ---- equality ---------------------------------------------------------------------- */

static bool equal_texts(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool equal_lists(const struct weir_config_texts *a,
                        const struct weir_config_texts *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        if (strcmp(a->items[i], b->items[i]) != 0)
            return false;
    }
    return true;
}

static bool equal_listeners(const struct weir_config_listeners *a,
                            const struct weir_config_listeners *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        if (strcmp(a->items[i].text, b->items[i].text) != 0)
            return false;
    }
    return true;
}

static bool equal_files(const struct weir_config_file *a,
                        const struct weir_config_file *b)
{
    return equal_texts(a->path, b->path) && weir_str_equal(a->content, b->content);
}

bool weir_value_equal(const struct weir_config_key *key, const void *a, const void *b)
{
    const char *x = (const char *)a + key->offset;
    const char *y = (const char *)b + key->offset;

    switch (key->type) {
    case WEIR_KEY_IS_TEXT:
    case WEIR_KEY_IS_NAME:
    case WEIR_KEY_IS_URL:
    case WEIR_KEY_IS_SINK:
        return equal_texts(*(const char *const *)(const void *)x,
                           *(const char *const *)(const void *)y);
    case WEIR_KEY_IS_TAG:
        return equal_texts(*(const char *const *)(const void *)x,
                           *(const char *const *)(const void *)y) &&
               equal_texts(
                   *(const char *const *)(const void *)((const char *)a + key->second),
                   *(const char *const *)(const void *)((const char *)b + key->second));
    case WEIR_KEY_IS_TEXTS:
        return equal_lists((const void *)x, (const void *)y);
    case WEIR_KEY_IS_LISTENERS:
        return equal_listeners((const void *)x, (const void *)y);
    case WEIR_KEY_IS_FILE:
        return equal_files((const void *)x, (const void *)y);
    case WEIR_KEY_IS_FLAG:
    case WEIR_KEY_IS_NUMBER:
    case WEIR_KEY_IS_NS:
    case WEIR_KEY_IS_MS:
    case WEIR_KEY_IS_SIZE:
    case WEIR_KEY_IS_CHOICE:
    case WEIR_KEY_IS_CHOICES:
    case WEIR_KEY_IS_PERMISSIONS:
    case WEIR_KEY_IS_SHA256:
    case WEIR_KEY_IS_MOMENT:
        return memcmp(x, y, key->size) == 0;
    }
    return false;
}
