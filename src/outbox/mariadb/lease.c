/*
 * lease.c - leases on MariaDB.
 *
 * There is no UPDATE that tells what it has changed, so rows are locked and looked at
 * in one statement, which sees what was committed last, and written in the next, within
 * a transaction. Many rows are locked in the order of the key, as acks lock them
 * (ack.c, I2).
 */
#include <stdlib.h>

#include "base/heap.h"
#include "base/no_memory.h"
#include "base/noun.h"
#include "db/transact.h"
#include "outbox/columns_json.h"
#include "outbox/lease/lease_ops.h"
#include "outbox/mariadb/engine.h"

#define TAKEABLE WEIR_LEASE_TAKEABLE(WEIR_INCARNATION_PLAIN)
#define MARKS_FROM WEIR_LEASE_MARKS_FROM(WEIR_INCARNATION_PLAIN)

/*
 * By the primary key, in its order, with what they will be. A row that another process
 * holds for the moment (it takes the lease, or its last ack is under way) is skipped.
 */
static const struct weir_sql SQL_PICK = {
    .name = "pick leases",
    .text = "SELECT pid, epoch + 1, " WEIR_LEASE_CRASHES ", " MARKS_FROM
            ", replay_to FROM {p}_lease FORCE INDEX (PRIMARY)"
            " WHERE subscription = {1} AND " TAKEABLE
            " ORDER BY pid LIMIT {2} FOR UPDATE SKIP LOCKED",
    .parameters = "ii",
};

/* A row that was picked. */
static const struct weir_sql SQL_TAKE = {
    .name = "take leases",
    .text = "UPDATE {p}_lease SET epoch = {3}, crashes = {4}, owner = {5},"
            " incarnation = " WEIR_INCARNATION_PLAIN ", until_us = {now} + {6},"
            " marks_from = {7} WHERE subscription = {1} AND pid = {2}",
    .parameters = "iiiiiii",
};

/* Each looked up by the primary key, in the order given (mariadb/ack.c). */
#define OWN                                                                              \
    "SELECT p.n FROM JSON_TABLE(" WEIR_JSON_AND_NONE                                     \
    ", '$[*]' COLUMNS (n FOR ORDINALITY,"                                                \
    " subscription BIGINT PATH '$[0]', pid BIGINT PATH '$[1]',"                          \
    " epoch BIGINT PATH '$[2]')) p"                                                      \
    " STRAIGHT_JOIN {p}_lease l FORCE INDEX (PRIMARY)"                                   \
    " ON l.subscription = p.subscription AND l.pid = p.pid"                              \
    " WHERE l.epoch = p.epoch AND l.owner = {2}"                                         \
    " AND " WEIR_LEASE_ALIVE(WEIR_INCARNATION_PLAIN)
static const struct weir_sql SQL_LOCK_OWN = {
    .name = "lock leases",
    .text = OWN " FOR UPDATE",
    .parameters = "ti",
};
static const struct weir_sql SQL_CHECK = {
    .name = "check leases",
    .text = OWN,
    .parameters = "ti",
};

/* One of those. Its time may be over by now, but no other process could take it. */
static const struct weir_sql SQL_EXTEND = {
    .name = "renew leases",
    .text = "UPDATE {p}_lease SET until_us = {now} + {3}"
            " WHERE subscription = {1} AND pid = {2}",
    .parameters = "iii",
};

/*
 * Also when it has expired and no process has taken it yet: it ended well. Crashes stay:
 * a process that has not delivered the head cannot say that it is harmless. Repeating
 * finds nothing.
 */
#define GIVE(what)                                                                       \
    "UPDATE {p}_lease SET " what                                                         \
    " WHERE subscription = {1} AND pid = {2} AND epoch = {3} AND owner = {4}"
static const struct weir_sql SQL_RELEASE = {
    .name = "release leases",
    .text = GIVE(WEIR_LEASE_GIVEN_UP),
    .parameters = "iiii",
};
static const struct weir_sql SQL_END = {
    .name = "end leases",
    .text = GIVE(WEIR_LEASE_RUN_OUT),
    .parameters = "iiii",
};

/* By the primary key; takes no lock. */
static const struct weir_sql SQL_CONFIRM = {
    .name = "confirm lease",
    .text = "SELECT 1 FROM {p}_lease WHERE subscription = {1} AND pid = {2}"
            " AND epoch = {3} AND owner = {4}"
            " AND " WEIR_LEASE_ALIVE(WEIR_INCARNATION_PLAIN),
    .parameters = "iiii",
};

/* ---- take -------------------------------------------------------------------------- */

static enum weir_status pick(struct weir_lease_taking *self,
                             struct weir_connection *connection, struct weir_error *error)
{
    size_t limit = self->count + self->except_count;
    struct weir_rows rows;
    enum weir_status status = weir_connection_query(
        connection, &SQL_PICK,
        VALUES(weir_integer(self->subscription), weir_integer((int64_t)limit)), &rows,
        error);

    while (status == WEIR_OK && (status = weir_rows_next(&rows, error)) == WEIR_OK) {
        int64_t pid = weir_rows_integer(&rows, 0);

        if (self->taken < self->count && !weir_lease_is_excepted(self, pid))
            weir_lease_keep_taken(self, pid, &rows, 1);
    }
    weir_rows_close(&rows);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

static enum weir_status take_picked(struct weir_lease_taking *self,
                                    struct weir_connection *connection,
                                    struct weir_error *error)
{
    enum { WIDTH = 7 };
    const struct weir_heap *heap = weir_connection_config(connection)->heap;
    struct weir_value *rows =
        weir_heap_zalloc_array(heap, self->taken, WIDTH * sizeof *rows);
    enum weir_status status;

    if (rows == NULL)
        return weir_no_memory_for(error, "%zu %s", self->taken,
                                  WEIR_NOUN(self->taken, "lease", "leases"));
    for (size_t i = 0; i < self->taken; i++) {
        struct weir_value *row = &rows[i * WIDTH];

        row[0] = weir_integer(self->subscription);
        row[1] = weir_integer(self->out[i].key.pid);
        row[2] = weir_integer(self->out[i].epoch);
        row[3] = weir_integer(self->out[i].crashes);
        row[4] = weir_integer(self->owner);
        row[5] = weir_integer(self->duration_us);
        row[6] = weir_integer(self->out[i].marks_from);
    }
    status = weir_connection_execute_many(connection, &SQL_TAKE, rows, self->taken, WIDTH,
                                          NULL, error);
    weir_heap_free(heap, rows);
    return status;
}

static enum weir_status pick_and_take(struct weir_connection *connection, void *argument,
                                      struct weir_error *error)
{
    struct weir_lease_taking *self = argument;
    enum weir_status status = pick(self, connection, error);

    if (status == WEIR_OK && self->taken > 0)
        status = take_picked(self, connection, error);
    return status;
}

static enum weir_status take(struct weir_lease_taking *taking,
                             struct weir_connection *connection, struct weir_error *error)
{
    return weir_transact_once(connection, pick_and_take, taking, error);
}

/* ---- in order ---------------------------------------------------------------------- */

/* One of the leases of a call, which is number `at` there. */
struct own {
    struct weir_lease_key key;
    int64_t epoch;
    size_t at;
};

static int compare_keys(const void *a, const void *b)
{
    struct weir_lease_key left = ((const struct own *)a)->key;
    struct weir_lease_key right = ((const struct own *)b)->key;

    if (left.subscription != right.subscription)
        return left.subscription < right.subscription ? -1 : 1;
    if (left.pid != right.pid)
        return left.pid < right.pid ? -1 : 1;
    return 0;
}

/* In the order of their keys; to be freed. NULL: no memory. */
static struct own *sort_leases(const struct weir_heap *heap,
                               const struct weir_lease *leases, size_t count,
                               struct weir_error *error)
{
    struct own *own = weir_heap_zalloc_array(heap, count, sizeof *own);

    if (own == NULL) {
        (void)weir_no_memory_for(error, "%zu %s", count,
                                 WEIR_NOUN(count, "lease", "leases"));
        return NULL;
    }
    for (size_t i = 0; i < count; i++)
        own[i] = (struct own){leases[i].key, leases[i].epoch, i};
    qsort(own, count, sizeof *own, compare_keys);
    return own;
}

/* ---- renew ------------------------------------------------------------------------- */

/* What a renewal works with: leases in order, and a row of values for each. */
struct renew_call {
    struct weir_lease_renewal *renewal;
    struct own *own;
    struct weir_columns keys; /* of them */
    struct weir_buf text;     /* the same for the server */
};

enum own_column { SUBSCRIPTION, PARTITION, EPOCH, OWN_COLUMNS };

static enum weir_status list_own(struct renew_call *self, struct weir_error *error)
{
    size_t count = self->renewal->count;
    enum weir_status status =
        weir_columns_init(&self->keys, self->keys.heap, OWN_COLUMNS, count, error);

    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        const struct own *own = &self->own[i];

        weir_columns_set(&self->keys, SUBSCRIPTION, i,
                         weir_integer(own->key.subscription));
        weir_columns_set(&self->keys, PARTITION, i, weir_integer(own->key.pid));
        weir_columns_set(&self->keys, EPOCH, i, weir_integer(own->epoch));
    }
    if (status == WEIR_OK)
        status =
            weir_columns_json(&self->keys, OWN_COLUMNS, 0, count, &self->text, error);
    return status;
}

/* Run a statement that tells which of the leases are kept. */
static enum weir_status find_own(struct renew_call *self,
                                 struct weir_connection *connection,
                                 const struct weir_sql *sql, struct weir_error *error)
{
    struct weir_lease_renewal *renewal = self->renewal;
    struct weir_rows rows;
    enum weir_status status = weir_connection_query(
        connection, sql,
        VALUES(weir_text(weir_buf_get(&self->text)), weir_integer(renewal->owner)), &rows,
        error);

    while (status == WEIR_OK && (status = weir_rows_next(&rows, error)) == WEIR_OK) {
        int64_t n = weir_rows_integer(&rows, 0); /* from 1 */

        if (n >= 1 && (size_t)n <= renewal->count)
            renewal->leases[self->own[n - 1].at].kept = true;
    }
    weir_rows_close(&rows);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

static enum weir_status extend(struct renew_call *self,
                               struct weir_connection *connection,
                               struct weir_error *error)
{
    enum { WIDTH = 3 };
    const struct weir_lease_renewal *renewal = self->renewal;
    struct weir_value *rows =
        weir_heap_zalloc_array(self->keys.heap, renewal->count, WIDTH * sizeof *rows);
    size_t count = 0;
    enum weir_status status = WEIR_OK;

    if (rows == NULL)
        return weir_no_memory_for(error, "%zu %s", renewal->count,
                                  WEIR_NOUN(renewal->count, "lease", "leases"));
    for (size_t i = 0; i < renewal->count; i++) {
        if (!renewal->leases[i].kept)
            continue;
        rows[WIDTH * count] = weir_integer(renewal->leases[i].key.subscription);
        rows[WIDTH * count + 1] = weir_integer(renewal->leases[i].key.pid);
        rows[WIDTH * count + 2] = weir_integer(renewal->duration_us);
        count++;
    }
    if (count > 0)
        status = weir_connection_execute_many(connection, &SQL_EXTEND, rows, count, WIDTH,
                                              NULL, error);
    weir_heap_free(self->keys.heap, rows);
    return status;
}

static enum weir_status lock_and_extend(struct weir_connection *connection,
                                        void *argument, struct weir_error *error)
{
    enum weir_status status = find_own(argument, connection, &SQL_LOCK_OWN, error);

    return status == WEIR_OK ? extend(argument, connection, error) : status;
}

/* To be ended by stop_renewing(), also when it fails. */
static enum weir_status begin_renewing(struct renew_call *self,
                                       struct weir_lease_renewal *renewal,
                                       const struct weir_heap *heap,
                                       struct weir_error *error)
{
    *self = (struct renew_call){.renewal = renewal, .keys = {.heap = heap}};
    weir_buf_init(&self->text, heap, WEIR_VALUE_SIZE_MAX);
    self->own = sort_leases(heap, renewal->leases, renewal->count, error);
    return self->own != NULL ? list_own(self, error) : WEIR_NO_MEMORY;
}

static void stop_renewing(struct renew_call *self)
{
    weir_heap_free(self->keys.heap, self->own);
    weir_columns_fini(&self->keys);
    weir_buf_fini(&self->text);
}

static enum weir_status renew(struct weir_lease_renewal *renewal,
                              struct weir_connection *connection,
                              struct weir_error *error)
{
    struct renew_call self;
    enum weir_status status =
        begin_renewing(&self, renewal, weir_connection_config(connection)->heap, error);

    if (status == WEIR_OK)
        status = weir_transact_once(connection, lock_and_extend, &self, error);
    stop_renewing(&self);
    return status;
}

static enum weir_status check(struct weir_lease_renewal *renewal,
                              struct weir_connection *connection,
                              struct weir_error *error)
{
    struct renew_call self;
    enum weir_status status =
        begin_renewing(&self, renewal, weir_connection_config(connection)->heap, error);

    if (status == WEIR_OK)
        status = find_own(&self, connection, &SQL_CHECK, error);
    stop_renewing(&self);
    return status;
}

/* ---- release and confirm ----------------------------------------------------------- */

static enum weir_status release(struct weir_lease_giving *giving,
                                struct weir_connection *connection,
                                struct weir_error *error)
{
    enum { WIDTH = 4 };
    const struct weir_heap *heap = weir_connection_config(connection)->heap;
    struct own *own = sort_leases(heap, giving->leases, giving->count, error);
    struct weir_value *rows =
        weir_heap_zalloc_array(heap, giving->count, WIDTH * sizeof *rows);
    enum weir_status status = WEIR_OK;

    if (own == NULL || rows == NULL)
        status = weir_no_memory_for(error, "%zu %s", giving->count,
                                    WEIR_NOUN(giving->count, "lease", "leases"));
    for (size_t i = 0; i < giving->count && status == WEIR_OK; i++) {
        rows[WIDTH * i] = weir_integer(own[i].key.subscription);
        rows[WIDTH * i + 1] = weir_integer(own[i].key.pid);
        rows[WIDTH * i + 2] = weir_integer(own[i].epoch);
        rows[WIDTH * i + 3] = weir_integer(giving->owner);
    }
    if (status == WEIR_OK)
        status = weir_connection_execute_many(connection,
                                              giving->dead ? &SQL_END : &SQL_RELEASE,
                                              rows, giving->count, WIDTH, NULL, error);
    weir_heap_free(heap, rows);
    weir_heap_free(heap, own);
    return status;
}

/* How long the transaction may idle was said when it was begun (tx.c). */
static enum weir_status confirm(struct weir_connection *connection, int64_t owner,
                                const struct weir_lease *lease, int64_t duration_us,
                                bool *ours, struct weir_error *error)
{
    int64_t found = 0;
    enum weir_status status = weir_connection_query_integer(
        connection, &SQL_CONFIRM,
        VALUES(weir_integer(lease->key.subscription), weir_integer(lease->key.pid),
               weir_integer(lease->epoch), weir_integer(owner)),
        &found, error);

    (void)duration_us;
    *ours = status == WEIR_OK;
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

const struct weir_lease_ops weir_lease_maria = {
    .take = take,
    .renew = renew,
    .check = check,
    .release = release,
    .confirm = confirm,
};
