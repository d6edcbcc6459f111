/*
 * dead_letter_read.c - looking at dead letters: list, count, one.
 *
 * A list is asked for by what a letter is now, and the index knows what is stored: a
 * claim that has run out is stored as reprocessing and is pending. So each stored
 * status is a branch of its own, in the order of the index (status, failed_us, id) and
 * with a limit of its own, and the newest of all branches are the page.
 */
#include "outbox/dead_letter/dead_letter_rows.h"
#include "outbox/dead_letter/dead_letter_sql.h"
#include "outbox/engine.h"
#include "outbox/transact_nested.h"

#define COUNTED(status)                                                                  \
    "(SELECT count(*) FROM {p}_dead_letter d WHERE " WEIR_LETTER_IS_##status             \
        " AND " WEIR_LETTER_FILTER ")"

/* Looks at all letters of the status. */
static const struct weir_sql SQL_COUNT = {
    .name = "count dead letters",
    .text = "SELECT " COUNTED(PENDING) " + " COUNTED(CLAIMED) " + " COUNTED(
        RESOLVED) " + " COUNTED(DISCARDED),
    .parameters = WEIR_LETTER_FILTER_LETTERS WEIR_LETTER_STATUS_LETTERS,
};

enum {
    STATUS_SIZE = 5,
    ASKED_SIZE = WEIR_LETTER_FILTER_SIZE + STATUS_SIZE,
    LIST_SIZE = ASKED_SIZE + 3,
};

/* A question and its answer. */
struct look {
    struct weir_outbox *outbox;
    const struct weir_dead_letter_scope *scope;
    enum weir_dead_letter_status status;
    struct weir_dead_letter_mark *mark;
    int64_t id;
    struct weir_letter_picks picks;
    struct weir_letters letters;
    int64_t *count;
};

static enum weir_status check_status(enum weir_dead_letter_status status,
                                     struct weir_error *error)
{
    if ((unsigned)status <= WEIR_DEAD_LETTER_REQUEUED)
        return WEIR_OK;
    return weir_error_set(error, WEIR_INVALID, "status is %d, must be from 0 to %d",
                          (int)status, (int)WEIR_DEAD_LETTER_REQUEUED);
}

/* The parameters of the statements about one stored status. */
static int64_t wanted(enum weir_dead_letter_status asked,
                      enum weir_dead_letter_status stored)
{
    if (asked == WEIR_DEAD_LETTER_REQUEUED)
        return stored == WEIR_DEAD_LETTER_RESOLVED ? 2 : 0;
    return asked == WEIR_DEAD_LETTER_ANY || asked == stored;
}

/* The first ASKED_SIZE values of both statements. */
static enum weir_status ask(const struct look *self, struct weir_connection *connection,
                            struct weir_value *values, int64_t *now_us,
                            struct weir_error *error)
{
    struct weir_letter_filter filter;
    enum weir_status status =
        weir_letter_scope_resolve(self->scope, connection, &filter, error);

    if (status == WEIR_OK)
        status = weir_connection_clock(connection, now_us, error);
    if (status != WEIR_OK)
        return status;
    weir_letter_filter_bind(&filter, values);
    values += WEIR_LETTER_FILTER_SIZE;
    *values++ = weir_integer(*now_us);
    for (int i = 0; i < WEIR_DEAD_LETTER_ANY; i++)
        *values++ = weir_integer(wanted(self->status, (enum weir_dead_letter_status)i));
    return WEIR_OK;
}

/* ---- list -------------------------------------------------------------------------- */

static int64_t limit_of(const struct look *self)
{
    return self->scope->limit != 0 ? self->scope->limit : WEIR_DEAD_LETTER_LIMIT_DEFAULT;
}

/* The page is the first of what was found; one more than the limit was asked for. */
static enum weir_status read_page(struct look *self, struct weir_connection *connection,
                                  int64_t now_us, struct weir_error *error)
{
    size_t count = weir_letter_picks_fitting(&self->picks, 0, (size_t)limit_of(self));
    struct weir_dead_letter_mark *mark = self->mark;

    mark->more = count < self->picks.count;
    if (count > 0) {
        mark->failed_us = self->picks.items[count - 1].failed_us;
        mark->id = self->picks.items[count - 1].id;
    }
    return weir_letters_fetch(&self->letters, connection, self->picks.items, count,
                              now_us, error);
}

static enum weir_status list(struct weir_connection *connection, void *argument,
                             struct weir_error *error)
{
    struct look *self = argument;
    const struct weir_letter_sql *letters = weir_outbox_engine_of(connection)->letters;
    const struct weir_sql *sql =
        self->scope->sealed ? &letters->list_sealed : &letters->list;
    bool beginning = self->mark->id == 0;
    struct weir_value values[LIST_SIZE];
    int64_t now_us;
    enum weir_status status = ask(self, connection, values, &now_us, error);

    values[ASKED_SIZE] = weir_integer(beginning ? INT64_MAX : self->mark->failed_us);
    values[ASKED_SIZE + 1] = weir_integer(beginning ? INT64_MAX : self->mark->id);
    values[ASKED_SIZE + 2] = weir_integer(limit_of(self) + 1);
    if (status == WEIR_OK)
        status = weir_letter_picks_read(&self->picks, connection, sql, values, LIST_SIZE,
                                        error);
    self->letters.sealed = self->scope->sealed;
    if (status == WEIR_OK)
        status = read_page(self, connection, now_us, error);
    return status;
}

/* Run a body, then show what it has read. */
static enum weir_status look(struct look *self, struct weir_connection *connection,
                             weir_transact_fn body, weir_dead_letter_fn visit,
                             void *state, struct weir_error *error)
{
    enum weir_status status;

    weir_letter_picks_init(&self->picks, self->outbox->heap);
    weir_letters_init(&self->letters, self->outbox->heap);
    status = weir_transact_nested_reading(self->outbox, connection, body, self, error);
    if (status == WEIR_OK)
        weir_letters_visit(&self->letters, visit, state);
    weir_letters_fini(&self->letters);
    weir_letter_picks_fini(&self->picks);
    return status;
}

enum weir_status weir_dead_letter_list(struct weir_outbox *outbox,
                                       struct weir_connection *connection,
                                       const struct weir_dead_letter_scope *scope,
                                       enum weir_dead_letter_status status,
                                       struct weir_dead_letter_mark *mark,
                                       weir_dead_letter_fn visit, void *state,
                                       struct weir_error *error)
{
    struct look self = {.outbox = outbox, .scope = scope, .status = status, .mark = mark};
    enum weir_status result =
        weir_letter_scope_check(scope, WEIR_DEAD_LETTER_LIMIT_MAX, error);

    if (result == WEIR_OK)
        result = check_status(status, error);
    if (result == WEIR_OK)
        result = look(&self, connection, list, visit, state, error);
    return result;
}

/* ---- count ------------------------------------------------------------------------- */

static enum weir_status count(struct weir_connection *connection, void *argument,
                              struct weir_error *error)
{
    struct look *self = argument;
    struct weir_value values[ASKED_SIZE];
    int64_t now_us;
    enum weir_status status = ask(self, connection, values, &now_us, error);

    if (status == WEIR_OK)
        status = weir_connection_query_integer(connection, &SQL_COUNT, values, ASKED_SIZE,
                                               self->count, error);
    return status;
}

enum weir_status weir_dead_letter_count(struct weir_outbox *outbox,
                                        struct weir_connection *connection,
                                        const struct weir_dead_letter_scope *scope,
                                        enum weir_dead_letter_status status, int64_t *out,
                                        struct weir_error *error)
{
    struct look self = {.outbox = outbox, .scope = scope, .status = status, .count = out};
    enum weir_status result = weir_letter_scope_check(scope, INT64_MAX, error);

    *out = 0;
    if (result == WEIR_OK)
        result = check_status(status, error);
    if (result == WEIR_OK)
        result = weir_transact_nested_reading(outbox, connection, count, &self, error);
    return result;
}

/* ---- one --------------------------------------------------------------------------- */

static enum weir_status read_one(struct weir_connection *connection, void *argument,
                                 struct weir_error *error)
{
    struct look *self = argument;
    const struct weir_letter_pick pick = {.id = self->id};
    int64_t now_us;
    enum weir_status status = weir_connection_clock(connection, &now_us, error);

    if (status == WEIR_OK)
        status = weir_letters_fetch(&self->letters, connection, &pick, 1, now_us, error);
    if (status == WEIR_OK && self->letters.count == 0)
        status = weir_error_set(error, WEIR_NOT_FOUND, "there is no dead letter %lld",
                                (long long)self->id);
    return status;
}

enum weir_status weir_dead_letter_read(struct weir_outbox *outbox,
                                       struct weir_connection *connection, int64_t id,
                                       weir_dead_letter_fn visit, void *state,
                                       struct weir_error *error)
{
    struct look self = {.outbox = outbox, .id = id};

    return look(&self, connection, read_one, visit, state, error);
}
