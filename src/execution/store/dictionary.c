/*
 * dictionary.c - see dictionary.h.
 *
 *   I1  by_number owns the terms; whatever is in by_text is in by_number.
 *   I2  by_text holds only terms that are committed: another transaction may use their
 *       numbers.
 *   I3  by_number holds only numbers that stand for this text for ever. PostgreSQL
 *       never gives a number twice, also when the transaction that got it is undone;
 *       SQLite does. There, what a transaction sees may be its own doing, and is looked
 *       up again instead.
 *
 * A term stays where it is until destroy(), so one that was found under the lock may be
 * read without it.
 */
#include "execution/store/dictionary.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/heap.h"
#include "base/map.h"
#include "base/md5.h"
#include "base/no_memory.h"
#include "base/noun.h"
#include "base/text.h"
#include "execution/capabilities.h"
#include "execution/draft.h"
#include "ward/lock.h"

struct term {
    int64_t number;
    enum weir_term_kind kind;
    struct weir_execution_policy policy; /* of a WEIR_TERM_POLICY */
    size_t size;
    char text[];
};

struct weir_dictionary {
    const struct weir_heap *heap; /* borrowed */

    struct weir_lock lock; /* guards all that follows */
    struct weir_map by_text;
    struct weir_map by_number;
    size_t capability_set_count; /* in by_text */
};

/* By the index on (kind, digest). */
static const struct weir_sql SQL_NUMBER = {
    .name = "find term",
    .text = "SELECT id, text FROM {p}_term WHERE kind = {1} AND digest = {2}",
    .parameters = "ib",
};

/* Repeating adds nothing. Waits for another transaction that adds the same. */
static const struct weir_sql SQL_ADD = {
    .name = "add term",
    .text = "INSERT INTO {p}_term (kind, digest, text) VALUES ({1}, {2}, {3})"
            " ON CONFLICT (kind, digest) DO NOTHING",
    .parameters = "ibt",
};

/* By the primary key. */
static const struct weir_sql SQL_TEXT = {
    .name = "read term",
    .text = "SELECT text FROM {p}_term WHERE id = {1} AND kind = {2}",
    .parameters = "ii",
};

/* By the index on (kind, digest). Numbers cannot tell what is new: one that is larger
 * may be committed first. */
static const struct weir_sql SQL_COUNT = {
    .name = "count terms",
    .text = "SELECT count(*) FROM {p}_term WHERE kind = {1}",
    .parameters = "i",
};
static const struct weir_sql SQL_ALL = {
    .name = "read terms",
    .text = "SELECT id, text FROM {p}_term WHERE kind = {1} ORDER BY id",
    .parameters = "i",
};

enum weir_status weir_dictionary_create(const struct weir_heap *heap, size_t terms_max,
                                        struct weir_dictionary **out,
                                        struct weir_error *error)
{
    struct weir_dictionary *self = weir_heap_zalloc(heap, sizeof *self);
    enum weir_status status;

    *out = NULL;
    if (self == NULL)
        return weir_no_memory_for(error, "a dictionary");
    status = weir_lock_init(&self->lock);
    if (status != WEIR_OK) {
        weir_heap_free(heap, self);
        return weir_error_set(error, status, "%s", weir_status_text(status));
    }
    self->heap = heap;
    weir_map_init(&self->by_text, heap, terms_max);
    weir_map_init(&self->by_number, heap, terms_max);
    *out = self;
    return WEIR_OK;
}

static bool free_term(void *argument, struct weir_str key, void *value)
{
    const struct weir_dictionary *self = argument;

    (void)key;
    weir_heap_free(self->heap, value);
    return true;
}

void weir_dictionary_destroy(struct weir_dictionary *self)
{
    if (self == NULL)
        return;
    weir_map_fini(&self->by_text);
    weir_map_remove_if(&self->by_number, free_term, self);
    weir_map_fini(&self->by_number);
    weir_lock_fini(&self->lock);
    weir_heap_free(self->heap, self);
}

/* ---- memory ------------------------------------------------------------------------ */

struct text_key {
    char bytes[1 + WEIR_TERM_SIZE_MAX];
    size_t size;
};

static struct weir_str key_of_text(enum weir_term_kind kind, struct weir_str text,
                                   struct text_key *key)
{
    WEIR_ASSERT(text.size <= WEIR_TERM_SIZE_MAX);
    key->bytes[0] = (char)kind;
    memcpy(key->bytes + 1, text.data, text.size);
    return (struct weir_str){key->bytes, 1 + text.size};
}

static struct weir_str key_of_number(const int64_t *number)
{
    return (struct weir_str){(const char *)number, sizeof *number};
}

static const struct term *recall(struct weir_dictionary *self, enum weir_term_kind kind,
                                 struct weir_str text)
{
    struct text_key key;
    const struct term *term;

    weir_lock_acquire(&self->lock);
    term = weir_map_find(&self->by_text, key_of_text(kind, text, &key));
    weir_lock_release(&self->lock);
    return term;
}

static const struct term *recall_number(struct weir_dictionary *self, int64_t number)
{
    const struct term *term;

    weir_lock_acquire(&self->lock);
    term = weir_map_find(&self->by_number, key_of_number(&number));
    weir_lock_release(&self->lock);
    return term;
}

static struct term *make_term(struct weir_dictionary *self, enum weir_term_kind kind,
                              int64_t number, struct weir_str text)
{
    struct term *term = weir_heap_zalloc(self->heap, sizeof *term + text.size + 1);

    if (term == NULL)
        return NULL;
    term->number = number;
    term->kind = kind;
    term->size = text.size;
    memcpy(term->text, text.data, text.size);
    if (kind == WEIR_TERM_POLICY && !weir_policy_parse(text, &term->policy)) {
        weir_heap_free(self->heap, term);
        return NULL;
    }
    return term;
}

/*
 * Under the lock. The one that is there already stays, since another thread may be
 * reading it.
 */
static struct term *keep_number(struct weir_dictionary *self, struct term *term)
    WEIR_REQUIRES(self->lock)
{
    struct weir_str key = key_of_number(&term->number);
    struct term *there = weir_map_find(&self->by_number, key);

    if (there == NULL && weir_map_put(&self->by_number, key, term) == WEIR_OK)
        return term;
    weir_heap_free(self->heap, term);
    return there;
}

static void keep_text(struct weir_dictionary *self, struct term *term)
    WEIR_REQUIRES(self->lock)
{
    struct weir_str text = {term->text, term->size};
    struct text_key buffer;
    struct weir_str key = key_of_text(term->kind, text, &buffer);

    if (weir_map_find(&self->by_text, key) != NULL ||
        weir_map_put(&self->by_text, key, term) != WEIR_OK)
        return;
    if (term->kind == WEIR_TERM_CAPABILITY_SET)
        self->capability_set_count++;
}

/* What is seen may be what this very transaction has done, and undone it will be gone. */
static bool is_committed(struct weir_connection *connection)
{
    return weir_connection_transaction(connection) == WEIR_TRANSACTION_NONE;
}

static bool is_for_ever(struct weir_connection *connection)
{
    return is_committed(connection) ||
           weir_connection_traits(connection)->numbers_are_final;
}

/* As far as it may be, and there is memory. */
static void remember(struct weir_dictionary *self, struct weir_connection *connection,
                     enum weir_term_kind kind, int64_t number, struct weir_str text)
{
    struct term *made;
    struct term *term;

    if (!is_for_ever(connection))
        return;
    made = make_term(self, kind, number, text);
    if (made == NULL)
        return;
    weir_lock_acquire(&self->lock);
    term = keep_number(self, made);
    if (term != NULL && is_committed(connection))
        keep_text(self, term);
    weir_lock_release(&self->lock);
}

/* ---- numbers ----------------------------------------------------------------------- */

static enum weir_status look_up(struct weir_dictionary *self,
                                struct weir_connection *connection,
                                enum weir_term_kind kind, struct weir_str text,
                                const uint8_t digest[WEIR_MD5_SIZE], int64_t *out,
                                struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status = weir_connection_query(
        connection, &SQL_NUMBER,
        VALUES(weir_integer(kind), weir_bytes(digest, WEIR_MD5_SIZE)), &rows, error);

    *out = -1;
    if (status == WEIR_OK)
        status = weir_rows_next(&rows, error);
    if (status == WEIR_OK && !weir_str_equal(weir_rows_text(&rows, 1), text))
        status = weir_error_set(error, WEIR_MISMATCH,
                                "\"%.*s\" has the digest of another term",
                                (int)(text.size < 64 ? text.size : 64), text.data);
    if (status == WEIR_OK)
        *out = weir_rows_integer(&rows, 0);
    weir_rows_close(&rows);
    if (status == WEIR_OK)
        remember(self, connection, kind, *out, text);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

static bool is_empty_set(enum weir_term_kind kind, struct weir_str text)
{
    return kind == WEIR_TERM_CAPABILITY_SET && text.size == 0;
}

enum weir_status weir_dictionary_find(struct weir_dictionary *self,
                                      struct weir_connection *connection,
                                      enum weir_term_kind kind, struct weir_str text,
                                      int64_t *out, struct weir_error *error)
{
    const struct term *term;
    uint8_t digest[WEIR_MD5_SIZE];

    *out = 0;
    if (is_empty_set(kind, text))
        return WEIR_OK;
    term = recall(self, kind, text);
    if (term != NULL) {
        *out = term->number;
        return WEIR_OK;
    }
    weir_md5(text.data, text.size, digest);
    return look_up(self, connection, kind, text, digest, out, error);
}

enum weir_status weir_dictionary_number(struct weir_dictionary *self,
                                        struct weir_connection *connection,
                                        enum weir_term_kind kind, struct weir_str text,
                                        int64_t *out, struct weir_error *error)
{
    uint8_t digest[WEIR_MD5_SIZE];
    enum weir_status status =
        weir_dictionary_find(self, connection, kind, text, out, error);

    if (status != WEIR_OK || *out >= 0)
        return status;
    weir_md5(text.data, text.size, digest);
    status = weir_connection_execute(
        connection, &SQL_ADD,
        VALUES(weir_integer(kind), weir_bytes(digest, sizeof digest), weir_text(text)),
        NULL, error);
    if (status == WEIR_OK)
        status = look_up(self, connection, kind, text, digest, out, error);
    if (status == WEIR_OK && *out < 0)
        status =
            weir_error_set(error, WEIR_CONFLICT, "\"%.*s\" was added and is not there",
                           (int)(text.size < 64 ? text.size : 64), text.data);
    return status;
}

enum weir_status weir_dictionary_policy_number(struct weir_dictionary *self,
                                               struct weir_connection *connection,
                                               const struct weir_execution_policy *policy,
                                               int64_t *out, struct weir_error *error)
{
    char text[WEIR_POLICY_TEXT_SIZE];

    weir_policy_format(policy, text);
    return weir_dictionary_number(self, connection, WEIR_TERM_POLICY, weir_str(text), out,
                                  error);
}

/* ---- texts ------------------------------------------------------------------------- */

static enum weir_status look_up_text(struct weir_dictionary *self,
                                     struct weir_connection *connection,
                                     enum weir_term_kind kind, int64_t number, char *text,
                                     struct weir_str *out, struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status = weir_connection_query(
        connection, &SQL_TEXT, VALUES(weir_integer(number), weir_integer(kind)), &rows,
        error);

    if (status == WEIR_OK)
        status = weir_rows_next(&rows, error);
    if (status == WEIR_OK) {
        struct weir_str found = weir_rows_text(&rows, 0);

        *out = (struct weir_str){text, found.size};
        if (found.size > WEIR_TERM_SIZE_MAX)
            status =
                weir_error_set(error, WEIR_SCHEMA, "term %" PRId64 " has %zu %s", number,
                               found.size, WEIR_NOUN(found.size, "byte", "bytes"));
        else
            memcpy(text, found.data, found.size);
    }
    weir_rows_close(&rows);
    if (status == WEIR_OK)
        remember(self, connection, kind, number, *out);
    if (status == WEIR_NO_ROW)
        status =
            weir_error_set(error, WEIR_SCHEMA, "there is no term %" PRId64 " of kind %d",
                           number, (int)kind);
    return status;
}

enum weir_status weir_dictionary_text(struct weir_dictionary *self,
                                      struct weir_connection *connection,
                                      enum weir_term_kind kind, int64_t number,
                                      char *text, struct weir_str *out,
                                      struct weir_error *error)
{
    const struct term *term = recall_number(self, number);

    if (kind == WEIR_TERM_CAPABILITY_SET && number == 0) {
        *out = weir_str("");
        return WEIR_OK;
    }
    if (term == NULL || term->kind != kind)
        return look_up_text(self, connection, kind, number, text, out, error);
    *out = (struct weir_str){term->text, term->size};
    return WEIR_OK;
}

enum weir_status weir_dictionary_policy(struct weir_dictionary *self,
                                        struct weir_connection *connection,
                                        int64_t number, struct weir_execution_policy *out,
                                        struct weir_error *error)
{
    const struct term *term = recall_number(self, number);
    char buffer[WEIR_TERM_SIZE_MAX + 1];
    struct weir_str text;
    enum weir_status status;

    if (term != NULL && term->kind == WEIR_TERM_POLICY) {
        *out = term->policy;
        return WEIR_OK;
    }
    status =
        look_up_text(self, connection, WEIR_TERM_POLICY, number, buffer, &text, error);
    if (status == WEIR_OK && !weir_policy_parse(text, out))
        status =
            weir_error_set(error, WEIR_SCHEMA,
                           "term %" PRId64 " is \"%.*s\", which is out of range or "
                           "of a newer weir",
                           number, (int)(text.size < 64 ? text.size : 64), text.data);
    return status;
}

/* ---- sets of capabilities ---------------------------------------------------------- */

/* Which of them a worker fulfils. */
struct capability_match {
    const struct weir_heap *heap;
    struct weir_str offered;
    int64_t *numbers; /* the heap's */
    size_t count;
    bool failed; /* there was no memory */
};

enum { NUMBERS_FIRST = 16 };

/* The array doubles. */
static void add_number(struct capability_match *self, int64_t number)
{
    size_t count = self->count;

    if (count == 0 || (count >= NUMBERS_FIRST && (count & (count - 1)) == 0)) {
        size_t room = count == 0 ? NUMBERS_FIRST : count * 2;
        int64_t *numbers =
            weir_heap_resize(self->heap, self->numbers, room * sizeof *numbers);

        self->failed |= numbers == NULL;
        if (numbers != NULL)
            self->numbers = numbers;
    }
    if (!self->failed)
        self->numbers[self->count++] = number;
}

static void consider(struct capability_match *self, int64_t number, struct weir_str set)
{
    if (weir_capabilities_suffice(self->offered, set))
        add_number(self, number);
}

static bool consider_term(void *argument, struct weir_str key, void *value)
{
    const struct term *term = value;

    (void)key;
    if (term->kind == WEIR_TERM_CAPABILITY_SET)
        consider(argument, term->number, (struct weir_str){term->text, term->size});
    return false;
}

/* *known: all that there are, and so they are considered. */
static enum weir_status consider_known(struct weir_dictionary *self,
                                       struct weir_connection *connection,
                                       struct capability_match *capability_match,
                                       bool *known, struct weir_error *error)
{
    int64_t there = 0;
    enum weir_status status = weir_connection_query_integer(
        connection, &SQL_COUNT, VALUES(weir_integer(WEIR_TERM_CAPABILITY_SET)), &there,
        error);

    if (status != WEIR_OK)
        return status;
    weir_lock_acquire(&self->lock);
    *known = (uint64_t)there == self->capability_set_count;
    if (*known)
        weir_map_remove_if(&self->by_text, consider_term, capability_match);
    weir_lock_release(&self->lock);
    return WEIR_OK;
}

/* As they are read: of what is learnt here not all may be remembered. */
static enum weir_status consider_all(struct weir_dictionary *self,
                                     struct weir_connection *connection,
                                     struct capability_match *capability_match,
                                     struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status = weir_connection_query(
        connection, &SQL_ALL, VALUES(weir_integer(WEIR_TERM_CAPABILITY_SET)), &rows,
        error);

    while (status == WEIR_OK && (status = weir_rows_next(&rows, error)) == WEIR_OK) {
        int64_t number = weir_rows_integer(&rows, 0);
        struct weir_str set = weir_rows_text(&rows, 1);

        if (set.size > WEIR_TERM_SIZE_MAX)
            continue;
        consider(capability_match, number, set);
        remember(self, connection, WEIR_TERM_CAPABILITY_SET, number, set);
    }
    weir_rows_close(&rows);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

enum weir_status weir_dictionary_fulfilled(struct weir_dictionary *self,
                                           struct weir_connection *connection,
                                           struct weir_str offered, int64_t **out,
                                           size_t *count, struct weir_error *error)
{
    struct capability_match capability_match = {.heap = self->heap, .offered = offered};
    enum weir_status status = WEIR_OK;
    bool known = true;

    *out = NULL;
    *count = 0;
    add_number(&capability_match, 0);
    /* a worker that offers nothing fulfils the empty set, and no other */
    if (offered.size > 0)
        status = consider_known(self, connection, &capability_match, &known, error);
    if (status == WEIR_OK && !known)
        status = consider_all(self, connection, &capability_match, error);
    if (status == WEIR_OK && capability_match.failed)
        status = weir_no_memory_for(error, "sets of capabilities");
    if (status != WEIR_OK) {
        weir_heap_free(self->heap, capability_match.numbers);
        return status;
    }
    *out = capability_match.numbers;
    *count = capability_match.count;
    return WEIR_OK;
}

/* ---- policies ---------------------------------------------------------------------- */

/* The multiplier in decimal, by whole numbers: what printf makes of a double depends on
 * the host's locale. Nine digits behind the point bring back any multiplier that people
 * write down. */
enum { BILLION = 1000000000 };

void weir_policy_format(const struct weir_execution_policy *policy,
                        char out[WEIR_POLICY_TEXT_SIZE])
{
    int64_t multiplier = (int64_t)(policy->backoff_multiplier * (double)BILLION + 0.5);

    (void)weir_text_format(
        out, WEIR_POLICY_TEXT_SIZE,
        "retries=%" PRIu32 " backoff=%d initial_ms=%" PRId64 " multiplier=%" PRId64
        ".%09" PRId64 " max_ms=%" PRId64 " attempt_ms=%" PRId64 " reclaims=%" PRIu32
        " replays=%" PRIu32,
        policy->retries_max, (int)policy->backoff, policy->backoff_initial_ms,
        multiplier / BILLION, multiplier % BILLION, policy->backoff_max_ms,
        policy->attempt_timeout_ms, policy->reclaims_max, policy->replays_max);
}

/* Numbers as they are written, whatever they are. */
static bool scan_policy(const char *text, struct weir_execution_policy *out)
{
    int64_t whole = 0;
    int64_t billionths = 0;
    int backoff = 0;
    int end = -1;

    *out = (struct weir_execution_policy){0};
    (void)sscanf(text,
                 "retries=%9" SCNu32 " backoff=%9d initial_ms=%18" SCNd64
                 " multiplier=%9" SCNd64 ".%9" SCNd64 " max_ms=%18" SCNd64
                 " attempt_ms=%18" SCNd64 " reclaims=%9" SCNu32 " replays=%9" SCNu32 "%n",
                 &out->retries_max, &backoff, &out->backoff_initial_ms, &whole,
                 &billionths, &out->backoff_max_ms, &out->attempt_timeout_ms,
                 &out->reclaims_max, &out->replays_max, &end);
    out->backoff = (enum weir_retry_backoff)backoff;
    out->backoff_multiplier = (double)(whole * BILLION + billionths) / (double)BILLION;
    return end >= 0;
}

/* In range, and spelled as format() does it: then no number was cut, wrapped or
 * signed. */
bool weir_policy_parse(struct weir_str text, struct weir_execution_policy *out)
{
    char copy[WEIR_POLICY_TEXT_SIZE];

    if (text.size == 0 || text.size >= sizeof copy)
        return false;
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    if (!scan_policy(copy, out) || weir_execution_policy_check(out, NULL) != WEIR_OK)
        return false;
    weir_policy_format(out, copy);
    return weir_str_equal(weir_str(copy), text);
}
