/*
 * budget_store.c - see budget_store.h.
 */
#include "execution/budget/budget_store.h"

#include <string.h>

#include "base/text.h"
#include "db/driver.h"
#include "db/query.h"
#include "execution/store/engine_sql.h"
#include "outbox/columns.h"

enum { SCOPE_SIZE = 40 };

#define BUDGET_COLUMNS                                                                   \
    "b.no, b.name, b.scope_type, b.scope, b.period_us, b.next_reset_us, b.era,"          \
    " b.hard_breaches, b.soft_breaches, b.breached_us, b.created_us, b.breached, b.part"

static const struct weir_sql SQL_INSERT = {
    .name = "insert budget",
    .text = "INSERT INTO {p}_budget (name, part, scope_type, scope, period_us,"
            " next_reset_us, created_us) VALUES ({1}, {2}, {3}, {4}, {5}, {6}, {7})"
            " ON CONFLICT DO NOTHING",
    .parameters = "tittiii",
};
#define FIND(name_, more)                                                                \
    {                                                                                    \
        .name = name_,                                                                   \
        .text = "SELECT " BUDGET_COLUMNS " FROM {p}_budget b WHERE b.name = {1}" more,   \
        .parameters = "t",                                                               \
    }
static const struct weir_sql SQL_FIND[] = {
    [WEIR_BUDGET_UNLOCKED] = FIND("find budget", ""),
    [WEIR_BUDGET_LOCKED] = FIND("lock budget", "{for_no_key_update}"),
};
static const struct weir_sql SQL_WRITE = {
    .name = "write budget",
    .text = "UPDATE {p}_budget SET period_us = {2}, next_reset_us = {3}, era = {4},"
            " hard_breaches = {5}, soft_breaches = {6}, breached_us = {7},"
            " breached = {8} WHERE no = {1}",
    .parameters = "iiiiiiit",
};
static const struct weir_sql SQL_PAGE = {
    .name = "list budgets",
    .text = "SELECT " BUDGET_COLUMNS " FROM {p}_budget b WHERE b.name > {1}"
            " ORDER BY b.name LIMIT {2}",
    .parameters = "ti",
};

/* By the partial index of those that are reset, as the next. */
static const struct weir_sql SQL_DUE = {
    .name = "find budgets to reset",
    .text = "SELECT " BUDGET_COLUMNS " FROM {p}_budget b WHERE b.no IN (SELECT d.no"
            " FROM {p}_budget d WHERE d.next_reset_us > 0 AND d.next_reset_us <= {1}"
            " ORDER BY d.next_reset_us LIMIT {2}) ORDER BY b.no",
    .parameters = "ii",
};
static const struct weir_sql SQL_NEXT = {
    .name = "next reset",
    .text = "SELECT (SELECT next_reset_us FROM {p}_budget WHERE next_reset_us > 0"
            " AND next_reset_us > {1} ORDER BY next_reset_us LIMIT 1), {now}",
    .parameters = "i",
};

/* Keys of reports are among those of executions; no namespace has a name like theirs. */
static const struct weir_sql SQL_FIND_KEY = {
    .name = "find key of a report",
    .text = "SELECT digest FROM {p}_idempotency WHERE scope = {1} AND key = {2}"
            " AND until_us > {3}",
    .parameters = "tti",
};
static const struct weir_sql SQL_KEEP_KEY = {
    .name = "keep key of a report",
    .text = "INSERT INTO {p}_idempotency (scope, key, uuid, part, digest, until_us)"
            " VALUES ({1}, {2}, {3}, 0, {4}, {5}) ON CONFLICT (scope, key) DO UPDATE SET"
            " digest = excluded.digest, until_us = excluded.until_us",
    .parameters = "ttbbi",
};

/* By the primary keys. */
static const struct weir_sql SQL_USAGE = {
    .name = "read usage",
    .text = "SELECT dimension, used, hard, soft FROM {p}_usage WHERE budget = {1}"
            " ORDER BY dimension",
    .parameters = "i",
};
static const struct weir_sql SQL_LIMIT = {
    .name = "limit usage",
    .text = "INSERT INTO {p}_usage (budget, dimension, hard, soft)"
            " VALUES ({1}, {2}, {3}, {4}) ON CONFLICT (budget, dimension)"
            " DO UPDATE SET hard = excluded.hard, soft = excluded.soft",
    .parameters = "itii",
};
static const struct weir_sql SQL_SET = {
    .name = "set usage",
    .text = "INSERT INTO {p}_usage (budget, dimension, used) VALUES ({1}, {2}, {3})"
            " ON CONFLICT (budget, dimension) DO UPDATE SET used = excluded.used",
    .parameters = "iti",
};
static const struct weir_sql SQL_CLEAR = {
    .name = "clear usage",
    .text = "UPDATE {p}_usage SET used = 0 WHERE budget = {1}",
    .parameters = "i",
};
static const struct weir_sql SQL_SPEND = {
    .name = "spend",
    .text = "INSERT INTO {p}_spent (no, budget, dimension, amount, era)"
            " VALUES ({1}, {2}, {3}, {4}, {5}) ON CONFLICT (no, budget, dimension)"
            " DO UPDATE SET amount = excluded.amount + CASE WHEN {p}_spent.era ="
            " excluded.era THEN {p}_spent.amount ELSE 0 END, era = excluded.era",
    .parameters = "iitii",
};
static const struct weir_sql SQL_SPENT = {
    .name = "read spent",
    .text = "SELECT dimension, amount, 0, 0 FROM {p}_spent WHERE no = {1}"
            " AND budget = {2} AND dimension <> '' AND era = {3} ORDER BY dimension",
    .parameters = "iii",
};
static const struct weir_sql SQL_REMOVE = {
    .name = "remove spent",
    .text = "DELETE FROM {p}_spent WHERE no = {1} AND budget = {2} AND dimension <> ''",
    .parameters = "ii",
};
static const struct weir_sql SQL_CHARGE = {
    .name = "charge",
    .text = "INSERT INTO {p}_spent (no, budget, dimension, amount, era)"
            " VALUES ({1}, {2}, '', 0, 0) ON CONFLICT DO NOTHING",
    .parameters = "ii",
};
static const struct weir_sql SQL_CHARGED = {
    .name = "find budgets of an execution",
    .text = "SELECT " BUDGET_COLUMNS " FROM {p}_spent s JOIN {p}_budget b"
            " ON b.no = s.budget WHERE s.no = {1} AND s.dimension = '' ORDER BY b.name",
    .parameters = "i",
};
static const struct weir_sql SQL_EXCEEDED = {
    .name = "find exceeded budget",
    .text = "SELECT s.budget FROM {p}_spent s JOIN {p}_usage u ON u.budget = s.budget"
            " WHERE s.no = {1} AND s.dimension = '' AND u.hard > 0 AND u.used >= u.hard"
            " ORDER BY s.budget LIMIT 1",
    .parameters = "i",
};

/* By the primary keys. On SQLite there is no other writer. */
static const struct weir_sql SQL_LOCK_ALL_EXCEEDED = {
    .name = "lock exceeded budgets",
    .text = "SELECT k.no FROM (SELECT DISTINCT s.budget FROM unnest({1}) AS t (no)"
            " CROSS JOIN LATERAL (SELECT x.budget FROM {p}_spent x WHERE x.no = t.no"
            " AND x.dimension = '' AND EXISTS (SELECT 1 FROM {p}_usage u"
            " WHERE u.budget = x.budget AND u.hard > 0 AND u.used >= u.hard)) s"
            " ORDER BY s.budget) b CROSS JOIN LATERAL (SELECT no FROM {p}_budget y"
            " WHERE y.no = b.budget FOR NO KEY UPDATE) k",
    .parameters = "I",
};

/* Locks the budget, whatever is used of it. */
static const struct weir_sql SQL_LOCK_EXCEEDED = {
    .name = "lock exceeded budget",
    .text = "UPDATE {p}_budget SET era = era WHERE no = {1}",
    .parameters = "i",
};
static const struct weir_sql SQL_IS_EXCEEDED = {
    .name = "look at exceeded budget",
    .text = "SELECT count(*) FROM {p}_usage WHERE budget = {1} AND hard > 0"
            " AND used >= hard",
    .parameters = "i",
};
static const struct weir_sql SQL_WAIT = {
    .name = "wait for budget",
    .text = "UPDATE {p}_spent SET amount = {3} WHERE no = {1} AND budget = {2}"
            " AND dimension = ''",
    .parameters = "iii",
};

static const struct weir_sql SQL_COUNT_WAITERS = {
    .name = "count waiters of a budget",
    .text = "SELECT count(*) FROM (SELECT 1 FROM {p}_spent s WHERE " WEIR_WAITS
            " AND s.budget = {1} AND " WEIR_IS_HELD_BY_BUDGET("s") " LIMIT {2}) w",
    .parameters = "ii",
};

/* ---- reading ----------------------------------------------------------------------- */

/* The order of BUDGET_COLUMNS. */
static const struct weir_column BUDGET[] = {
    COLUMN(struct weir_budget_row, no, INTEGER),
    COLUMN(struct weir_budget_row, name, TEXT),
    COLUMN(struct weir_budget_row, scope_type, TEXT),
    COLUMN(struct weir_budget_row, scope, TEXT),
    COLUMN(struct weir_budget_row, period_us, INTEGER),
    COLUMN(struct weir_budget_row, next_reset_us, INTEGER),
    COLUMN(struct weir_budget_row, era, INTEGER),
    COLUMN(struct weir_budget_row, hard_breaches, INTEGER),
    COLUMN(struct weir_budget_row, soft_breaches, INTEGER),
    COLUMN(struct weir_budget_row, breached_us, INTEGER),
    COLUMN(struct weir_budget_row, created_us, INTEGER),
    COLUMN(struct weir_budget_row, breached, TEXT),
    COLUMN(struct weir_budget_row, hash, INTEGER),
};
static const struct weir_column USAGE[] = {
    COLUMN(struct weir_usage_row, dimension, TEXT),
    COLUMN(struct weir_usage_row, used, INTEGER),
    COLUMN(struct weir_usage_row, hard, INTEGER),
    COLUMN(struct weir_usage_row, soft, INTEGER),
};
static const struct weir_column WAITER[] = {
    COLUMN(struct weir_budget_waiter, no, INTEGER),
    COLUMN(struct weir_budget_waiter, budget, INTEGER),
    COLUMN(struct weir_budget_waiter, id.uuid, FIXED_OR_NONE),
    COLUMN(struct weir_budget_waiter, id.partition, INTEGER),
};

static enum weir_status read_budgets(struct weir_connection *connection,
                                     const struct weir_sql *sql,
                                     const struct weir_value *values, size_t value_count,
                                     struct weir_arena *arena,
                                     struct weir_budget_rows *out,
                                     struct weir_error *error)
{
    struct weir_row_list list = ROW_LIST(BUDGET, struct weir_budget_row, arena);
    enum weir_status status = weir_query_each(connection, sql, values, value_count,
                                              weir_row_append, &list, error);

    *out = (struct weir_budget_rows){list.rows, list.count};
    return status;
}

static enum weir_status read_usages(struct weir_connection *connection,
                                    const struct weir_sql *sql,
                                    const struct weir_value *values, size_t value_count,
                                    struct weir_arena *arena, struct weir_usage_rows *out,
                                    struct weir_error *error)
{
    struct weir_row_list list = ROW_LIST(USAGE, struct weir_usage_row, arena);
    enum weir_status status = weir_query_each(connection, sql, values, value_count,
                                              weir_row_append, &list, error);

    *out = (struct weir_usage_rows){list.rows, list.count};
    return status;
}

/* ---- budgets ----------------------------------------------------------------------- */

enum weir_status weir_budget_insert(struct weir_connection *connection,
                                    const struct weir_budget_row *row, bool *added,
                                    struct weir_error *error)
{
    int64_t changed = 0;
    enum weir_status status = weir_connection_execute(
        connection, &SQL_INSERT,
        VALUES(weir_text(row->name), weir_integer(row->hash), weir_text(row->scope_type),
               weir_text(row->scope), weir_integer(row->period_us),
               weir_integer(row->next_reset_us), weir_integer(row->created_us)),
        &changed, error);

    *added = status == WEIR_OK && changed == 1;
    return status;
}

enum weir_status weir_budget_find(struct weir_connection *connection,
                                  struct weir_str name, enum weir_budget_lock lock,
                                  struct weir_arena *arena, struct weir_budget_row *out,
                                  struct weir_error *error)
{
    return weir_query_one(connection, &SQL_FIND[lock], VALUES(weir_text(name)),
                          KEPT_INTO(BUDGET, out, arena), error);
}

enum weir_status weir_budget_write(struct weir_connection *connection,
                                   const struct weir_budget_row *row,
                                   struct weir_error *error)
{
    return weir_connection_execute(
        connection, &SQL_WRITE,
        VALUES(weir_integer(row->no), weir_integer(row->period_us),
               weir_integer(row->next_reset_us), weir_integer(row->era),
               weir_integer(row->hard_breaches), weir_integer(row->soft_breaches),
               weir_integer(row->breached_us), weir_text(row->breached)),
        NULL, error);
}

enum weir_status weir_budget_page(struct weir_connection *connection,
                                  struct weir_str after, size_t limit,
                                  struct weir_arena *arena, struct weir_budget_rows *out,
                                  struct weir_error *error)
{
    return read_budgets(connection, &SQL_PAGE,
                        VALUES(weir_text(after), weir_integer((int64_t)limit)), arena,
                        out, error);
}

enum weir_status weir_budget_due(struct weir_connection *connection, int64_t now_us,
                                 size_t limit, struct weir_arena *arena,
                                 struct weir_budget_rows *out, struct weir_error *error)
{
    return read_budgets(connection, &SQL_DUE,
                        VALUES(weir_integer(now_us), weir_integer((int64_t)limit)), arena,
                        out, error);
}

enum weir_status weir_budget_next_due(struct weir_connection *connection,
                                      int64_t after_us, int64_t *due_us, int64_t *now_us,
                                      struct weir_error *error)
{
    struct next {
        int64_t due_us;
        int64_t now_us;
    } next = {.now_us = *now_us};
    static const struct weir_column NEXT[] = {
        COLUMN_NULL_IS(struct next, due_us, INT64_MAX),
        COLUMN(struct next, now_us, INTEGER),
    };
    enum weir_status status = weir_query_one(
        connection, &SQL_NEXT, VALUES(weir_integer(after_us)), INTO(NEXT, &next), error);

    *due_us = status == WEIR_OK ? next.due_us : INT64_MAX;
    *now_us = next.now_us;
    return status;
}

enum weir_status weir_budget_clear(struct weir_connection *connection,
                                   struct weir_budget_row *row, struct weir_error *error)
{
    enum weir_status status = weir_usage_clear(connection, row->no, error);

    row->era++;
    row->breached_us = 0;
    row->breached = weir_str("");
    return status == WEIR_OK ? weir_budget_write(connection, row, error) : status;
}

/* "\1budget:7": a namespace is printable. */
static struct weir_str scope_of(int64_t budget, char *text, size_t size)
{
    return (struct weir_str){
        text, weir_text_format(text, size, "\001budget:%lld", (long long)budget)};
}

enum weir_status weir_budget_find_key(struct weir_connection *connection, int64_t budget,
                                      struct weir_str key, int64_t now_us,
                                      const uint8_t digest[WEIR_MD5_SIZE], bool *before,
                                      struct weir_error *error)
{
    struct stored {
        uint8_t digest[WEIR_MD5_SIZE];
    } stored;
    static const struct weir_column STORED[] = {COLUMN(struct stored, digest, FIXED)};
    char text[SCOPE_SIZE];
    enum weir_status status =
        weir_query_find(connection, &SQL_FIND_KEY,
                        VALUES(weir_text(scope_of(budget, text, sizeof text)),
                               weir_text(key), weir_integer(now_us)),
                        INTO(STORED, &stored), before, error);

    if (status == WEIR_OK && *before && memcmp(stored.digest, digest, WEIR_MD5_SIZE) != 0)
        status = weir_error_set(error, WEIR_MISMATCH,
                                "its key was used before for another report");
    return status;
}

enum weir_status weir_budget_keep_key(struct weir_connection *connection, int64_t budget,
                                      struct weir_str key, int64_t until_us,
                                      const uint8_t digest[WEIR_MD5_SIZE],
                                      struct weir_error *error)
{
    static const uint8_t NOBODY[WEIR_UUID_SIZE];
    char text[SCOPE_SIZE];

    return weir_connection_execute(
        connection, &SQL_KEEP_KEY,
        VALUES(weir_text(scope_of(budget, text, sizeof text)), weir_text(key),
               weir_bytes(NOBODY, sizeof NOBODY), weir_bytes(digest, WEIR_MD5_SIZE),
               weir_integer(until_us)),
        NULL, error);
}

/* ---- usage ------------------------------------------------------------------------- */

enum weir_status weir_usage_read(struct weir_connection *connection, int64_t budget,
                                 struct weir_arena *arena, struct weir_usage_rows *out,
                                 struct weir_error *error)
{
    return read_usages(connection, &SQL_USAGE, VALUES(weir_integer(budget)), arena, out,
                       error);
}

enum weir_status weir_usage_limit(struct weir_connection *connection, int64_t budget,
                                  struct weir_str dimension, int64_t hard, int64_t soft,
                                  struct weir_error *error)
{
    return weir_connection_execute(connection, &SQL_LIMIT,
                                   VALUES(weir_integer(budget), weir_text(dimension),
                                          weir_integer(hard), weir_integer(soft)),
                                   NULL, error);
}

enum weir_status weir_usage_set(struct weir_connection *connection, int64_t budget,
                                struct weir_str dimension, int64_t used,
                                struct weir_error *error)
{
    return weir_connection_execute(
        connection, &SQL_SET,
        VALUES(weir_integer(budget), weir_text(dimension), weir_integer(used)), NULL,
        error);
}

enum weir_status weir_usage_clear(struct weir_connection *connection, int64_t budget,
                                  struct weir_error *error)
{
    return weir_connection_execute(connection, &SQL_CLEAR, VALUES(weir_integer(budget)),
                                   NULL, error);
}

/* ---- ledger ------------------------------------------------------------------------ */

enum weir_status weir_spent_add(struct weir_connection *connection, int64_t no,
                                int64_t budget, struct weir_str dimension, int64_t amount,
                                int64_t era, struct weir_error *error)
{
    return weir_connection_execute(connection, &SQL_SPEND,
                                   VALUES(weir_integer(no), weir_integer(budget),
                                          weir_text(dimension), weir_integer(amount),
                                          weir_integer(era)),
                                   NULL, error);
}

enum weir_status weir_spent_read(struct weir_connection *connection, int64_t no,
                                 int64_t budget, int64_t era, struct weir_arena *arena,
                                 struct weir_usage_rows *out, struct weir_error *error)
{
    return read_usages(connection, &SQL_SPENT,
                       VALUES(weir_integer(no), weir_integer(budget), weir_integer(era)),
                       arena, out, error);
}

enum weir_status weir_spent_remove(struct weir_connection *connection, int64_t no,
                                   int64_t budget, struct weir_error *error)
{
    return weir_connection_execute(connection, &SQL_REMOVE,
                                   VALUES(weir_integer(no), weir_integer(budget)), NULL,
                                   error);
}

/* ---- executions that are charged --------------------------------------------------- */

enum weir_status weir_budget_charge(struct weir_connection *connection, int64_t no,
                                    int64_t budget, struct weir_error *error)
{
    return weir_connection_execute(connection, &SQL_CHARGE,
                                   VALUES(weir_integer(no), weir_integer(budget)), NULL,
                                   error);
}

enum weir_status weir_budget_read_charged(struct weir_connection *connection, int64_t no,
                                          struct weir_arena *arena,
                                          struct weir_budget_rows *out,
                                          struct weir_error *error)
{
    return read_budgets(connection, &SQL_CHARGED, VALUES(weir_integer(no)), arena, out,
                        error);
}

enum weir_status weir_budget_exceeded(struct weir_connection *connection, int64_t no,
                                      int64_t *budget, struct weir_error *error)
{
    enum weir_status status = weir_connection_query_integer(
        connection, &SQL_EXCEEDED, VALUES(weir_integer(no)), budget, error);

    if (status == WEIR_NO_ROW) {
        *budget = 0;
        status = WEIR_OK;
    }
    return status;
}

enum weir_status weir_budgets_lock_exceeded(struct weir_connection *connection,
                                            const struct weir_heap *heap,
                                            const int64_t *nos, size_t count,
                                            struct weir_error *error)
{
    struct weir_columns table;
    enum weir_status status;

    if (weir_connection_traits(connection)->one_writer || count == 0)
        return WEIR_OK;
    status = weir_columns_init(&table, heap, 1, count, error);
    for (size_t i = 0; i < count && status == WEIR_OK; i++)
        weir_columns_set(&table, 0, i, weir_integer(nos[i]));
    if (status == WEIR_OK)
        status = weir_connection_execute(
            connection, &SQL_LOCK_ALL_EXCEEDED,
            VALUES(weir_columns_array(&table, 0, WEIR_TYPE_INTEGER, 0, count)), NULL,
            error);
    weir_columns_fini(&table);
    return status;
}

enum weir_status weir_budget_lock_exceeded(struct weir_connection *connection,
                                           int64_t budget, bool *exceeded,
                                           struct weir_error *error)
{
    int64_t count = 0;
    enum weir_status status = weir_connection_execute(
        connection, &SQL_LOCK_EXCEEDED, VALUES(weir_integer(budget)), NULL, error);

    if (status == WEIR_OK)
        status = weir_connection_query_integer(
            connection, &SQL_IS_EXCEEDED, VALUES(weir_integer(budget)), &count, error);
    *exceeded = count > 0;
    return status;
}

enum weir_status weir_budget_wait(struct weir_connection *connection, int64_t no,
                                  int64_t budget, bool waits, struct weir_error *error)
{
    return weir_connection_execute(
        connection, &SQL_WAIT,
        VALUES(weir_integer(no), weir_integer(budget), weir_integer(waits)), NULL, error);
}

enum weir_status weir_budget_waiters(struct weir_connection *connection, size_t limit,
                                     struct weir_arena *arena,
                                     struct weir_budget_waiters *out,
                                     struct weir_error *error)
{
    struct weir_row_list list = ROW_LIST(WAITER, struct weir_budget_waiter, arena);
    enum weir_status status = weir_query_each(
        connection, &weir_execution_engine_of(connection)->budget_waiters,
        VALUES(weir_integer((int64_t)limit)), weir_row_append, &list, error);

    *out = (struct weir_budget_waiters){list.rows, list.count};
    return status;
}

enum weir_status weir_budget_count_waiters(struct weir_connection *connection,
                                           int64_t budget, int64_t limit, int64_t *out,
                                           struct weir_error *error)
{
    return weir_connection_query_integer(
        connection, &SQL_COUNT_WAITERS, VALUES(weir_integer(budget), weir_integer(limit)),
        out, error);
}
