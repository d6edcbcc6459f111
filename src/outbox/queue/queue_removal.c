/*
 * queue_removal.c - see queue_removal.h.
 *
 * Which transactions may still write under the number of a queue that is marked?
 *
 *   SQLite      Processes that remember it. The mark was the only write transaction there
 *               was, and a transaction with an older snapshot cannot write any more.
 *   PostgreSQL  Also a transaction whose snapshot is older than the mark: it looks the
 *               queue up and finds it unmarked. One that has no transaction id yet is
 *               in no list but that of the locks, where each transaction
 *               has its virtual id, visible to all. So all that are open now must have
 *               ended; then no transaction can find the old row, and a second later
 *               no process remembers it; and then those that are open again, since they
 *               may have remembered.
 *   MariaDB     Lists of transactions are for privileged users. There the look in the
 *               enqueue is a current read that holds the name until the transaction
 *               ends (catalog.c); a transaction that marks or removes the queue has it
 *               alone when all that have looked have ended, whatever their snapshot. What
 *               others have appended from memory is seen by a dirty read.
 */
#include "outbox/queue/queue_removal.h"

#include <string.h>

#include "base/buf.h"
#include "base/fault_point.h"
#include "base/noun.h"
#include "db/clock.h"
#include "outbox/queue/catalog.h"
#include "outbox/queue/registry.h"

/* The mark outlasts the wait by so much: what the last transaction may take. */
#define MARGIN_NS WEIR_SECONDS(10)
#define POLL_NS WEIR_MILLISECONDS(20)

enum { LIST_SIZE_MAX = 1 << 20 };

/*
 * Transactions of this database, except our own: by their virtual ids, all or those of
 * a list; and prepared ones that have written to the log. How many, their ids, and what
 * to call them.
 */
static const struct weir_sql SQL_OPEN_PG = {
    .name = "open transactions",
    .text = "SELECT count(*), coalesce(string_agg(t.key, ' '), ''),"
            " coalesce(string_agg(t.name, ', '), '') FROM"
            " (SELECT l.virtualxid AS key, 'pid ' || l.pid || coalesce(' of ' || "
            "a.usename, '')"
            "  AS name FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid"
            "  WHERE l.locktype = 'virtualxid' AND l.virtualxid = l.virtualtransaction"
            "  AND a.datname = current_database() AND a.usesysid IS NOT NULL"
            "  AND l.pid <> pg_backend_pid()"
            "  AND ({1} IS NULL OR l.virtualxid = ANY (string_to_array({1}, ' ')))"
            " UNION ALL SELECT '', 'prepared transaction ' || quote_literal(x.gid)"
            "  FROM pg_prepared_xacts x WHERE x.database = current_database() AND EXISTS"
            "  (SELECT FROM pg_locks k WHERE k.relation = '{q}_log'::regclass"
            "   AND k.virtualtransaction = '-1/' || x.transaction::text)) t",
    .parameters = "t",
};

/* What is appended and not moved yet: with what is not committed (a dirty read), and
 * without locked rows. Both read the whole table, which is small. */
#define OF_QUEUE " FROM {p}_incoming WHERE pid BETWEEN {1} * 64 AND {1} * 64 + 63"
static const struct weir_sql SQL_DIRTY_MARIA = {
    .name = "all that is appended",
    .text = "SELECT COUNT(*)" OF_QUEUE,
    .parameters = "i",
};
static const struct weir_sql SQL_COMMITTED_MARIA = {
    .name = "all that is committed",
    .text = "SELECT COUNT(*)" OF_QUEUE " LOCK IN SHARE MODE SKIP LOCKED",
    .parameters = "i",
};

struct remove_call {
    const struct weir_outbox_log *log;
    struct weir_connection *connection;
    const char *name;
    int64_t queue_id;
    int64_t deadline_ns;
    struct weir_buf waited_for; /* PostgreSQL: ids of transactions */
};

/* ---- PostgreSQL -------------------------------------------------------------------- */

/* Those of `ids`, NULL: all. Their number and ids; `error` gets a text if there are
 * any. */
static enum weir_status list_open(struct remove_call *self, struct weir_value ids,
                                  int64_t *count, struct weir_buf *out,
                                  struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status =
        weir_connection_query(self->connection, &SQL_OPEN_PG, VALUES(ids), &rows, error);

    if (status == WEIR_OK)
        status = weir_rows_next(&rows, error);
    if (status == WEIR_OK) {
        struct weir_str ids_found = weir_rows_text(&rows, 1);
        struct weir_str names = weir_rows_text(&rows, 2);

        *count = weir_rows_integer(&rows, 0);
        if (out != NULL) {
            weir_buf_reset(out);
            weir_buf_append(out, ids_found.data, ids_found.size);
            status = weir_buf_status(out);
        }
        if (*count > 0)
            (void)weir_error_set(
                error, WEIR_BUSY,
                "queue \"%.60s\": transactions are open that may have enqueued: %.*s",
                self->name, (int)names.size, names.data);
    }
    weir_rows_close(&rows);
    return status;
}

/* Until all transactions that are open now have ended. */
static enum weir_status outlast_pg(struct remove_call *self, struct weir_error *error)
{
    int64_t count = 0;
    enum weir_status status =
        list_open(self, weir_null(), &count, &self->waited_for, error);

    while (status == WEIR_OK && count > 0) {
        if (weir_clock_now_ns() >= self->deadline_ns || !weir_clock_sleep(POLL_NS))
            return WEIR_BUSY;
        status = list_open(self, weir_text(weir_buf_get(&self->waited_for)), &count, NULL,
                           error);
    }
    return status;
}

/* ---- MariaDB ----------------------------------------------------------------------- */

static enum weir_status count_uncommitted(struct remove_call *self, int64_t *out,
                                          struct weir_error *error)
{
    int64_t all = 0;
    int64_t committed = 0;
    enum weir_status status = weir_connection_execute_text(
        self->connection, "SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED", error);

    if (status == WEIR_OK)
        status = weir_connection_query_integer(self->connection, &SQL_DIRTY_MARIA,
                                               VALUES(weir_integer(self->queue_id)), &all,
                                               error);
    if (status == WEIR_OK)
        status = weir_connection_query_integer(self->connection, &SQL_COMMITTED_MARIA,
                                               VALUES(weir_integer(self->queue_id)),
                                               &committed, error);
    *out = all - committed;
    return status;
}

static enum weir_status outlast_maria(struct remove_call *self, struct weir_error *error)
{
    int64_t count = 0;
    enum weir_status status = count_uncommitted(self, &count, error);

    while (status == WEIR_OK && count > 0) {
        if (weir_clock_now_ns() >= self->deadline_ns || !weir_clock_sleep(POLL_NS))
            return weir_error_set(
                error, WEIR_BUSY,
                "queue \"%.60s\": transactions are open that have enqueued %lld %s",
                self->name, (long long)count, WEIR_NOUN(count, "message", "messages"));
        status = count_uncommitted(self, &count, error);
    }
    return status;
}

/* ---- the three steps --------------------------------------------------------------- */

static enum weir_status wait_for_others(struct remove_call *self,
                                        struct weir_error *error)
{
    enum weir_engine engine = weir_connection_engine(self->connection);
    enum weir_status status = WEIR_OK;

    if (engine == WEIR_POSTGRESQL)
        status = outlast_pg(self, error); /* those that cannot see the mark */
    if (status == WEIR_OK && !weir_clock_sleep(WEIR_REGISTRY_AGE_NS))
        return weir_error_set(error, WEIR_CLOSED, "told to stop");
    if (status == WEIR_OK && engine == WEIR_POSTGRESQL)
        status = outlast_pg(self, error); /* those that may have remembered */
    if (status == WEIR_OK && engine == WEIR_MARIADB)
        status = outlast_maria(self, error);
    return status;
}

enum weir_status weir_queue_remove(const struct weir_outbox_log *log,
                                   struct weir_connection *connection, const char *name,
                                   bool force, struct weir_error *error)
{
    int64_t wait_ns = WEIR_POINT(log->points, "removal.impatient") ? WEIR_MILLISECONDS(50)
                                                                   : WEIR_REMOVAL_WAIT_NS;
    struct remove_call self = {.log = log, .connection = connection, .name = name};
    enum weir_status status = weir_catalog_mark(
        log, connection, name, force, (wait_ns + WEIR_REGISTRY_AGE_NS + MARGIN_NS) / 1000,
        &self.queue_id, error);

    if (status != WEIR_OK)
        return status;
    self.deadline_ns = weir_clock_now_ns() + WEIR_REGISTRY_AGE_NS + wait_ns;
    weir_buf_init(&self.waited_for, weir_connection_config(connection)->heap,
                  LIST_SIZE_MAX);
    (void)WEIR_POINT(log->points, "removal.marked");
    status = wait_for_others(&self, error);
    if (status == WEIR_OK)
        status = weir_catalog_remove(log, connection, name, force, error);
    if (status != WEIR_OK)
        weir_catalog_unmark(connection, self.queue_id);
    weir_buf_fini(&self.waited_for);
    return status;
}
