/*
 * demo_book.c - see demo_book.h.
 *
 * The clerk alone places orders, one after the other, so the executions of an order
 * have numbers in a row, and those of the next come behind them.
 */
#include "cli/demo/demo_book.h"

#include <stdlib.h>
#include <string.h>

#include "db/db.h"
#include "db/query.h"
#include "execution/state.h"
#include "execution/store/store.h"
#include "weir/flow.h"
#include "weir/time.h"

/* By primary key, from the oldest order that has not ended on. */
static const struct weir_sql SQL_LOOK = {
    .name = "look at orders",
    .text = "SELECT no, flow, kind, state, hold, created_us, ended_us, retries, reclaims"
            " FROM {p}_execution WHERE no >= {1} ORDER BY no",
    .parameters = "i",
};
static const struct weir_sql SQL_BUDGET = {
    .name = "look at the budget",
    .text = "SELECT u.used, u.hard, b.era FROM {p}_budget b"
            " JOIN {p}_usage u ON u.budget = b.no WHERE b.name = {1}",
    .parameters = "t",
};

/* By its partial index. */
static const struct weir_sql SQL_RACES = {
    .name = "look at races",
    .text = "SELECT count(*) FROM {p}_edge_group WHERE cancel_us > 0",
    .parameters = "",
};

/* Other numbers of states are those of execution/state.h and weir/flow.h, of outcomes
 * and types those of weir/execution.h. Each reads a whole table: once, at the end. */
static const struct {
    struct weir_sql sql;
    const char *text;
} AUDIT[WEIR_BOOK_BREACH_COUNT] = {
    [WEIR_BOOK_LOST] = {{.name = "audit: lost",
                         .text = "SELECT abs({1} - count(*)) FROM {p}_flow",
                         .parameters = "i"},
                        "orders more or fewer than were placed"},
    [WEIR_BOOK_UNFINISHED] = {{.name = "audit: unfinished",
                               .text = "SELECT count(*) FROM {p}_execution"
                                       " WHERE NOT (" WEIR_IS_OVER ")",
                               .parameters = ""},
                              "executions that have not ended"},
    [WEIR_BOOK_OPEN] = {{.name = "audit: open",
                         .text = "SELECT count(*) FROM {p}_flow"
                                 " WHERE ended_us = 0 OR unfinished <> 0 OR members <> 6",
                         .parameters = ""},
                        "orders that have not ended"},
    [WEIR_BOOK_ENDS] =
        {{.name = "audit: ends",
          .text = "SELECT count(*) FROM {p}_flow f WHERE NOT EXISTS (SELECT 1 FROM"
                  " {p}_execution s JOIN {p}_execution a ON a.flow = s.flow"
                  " WHERE s.flow = f.no AND s.kind = 'ship' AND a.kind = 'approve'"
                  " AND ((a.state = 10 AND s.state = 10 AND (SELECT count(*)"
                  " FROM {p}_attempt t WHERE t.no = s.no AND t.outcome = 1) = 1)"
                  " OR (a.state = 11 AND s.state = 14 AND NOT EXISTS (SELECT 1"
                  " FROM {p}_attempt t WHERE t.no = s.no))))",
          .parameters = ""},
         "orders neither shipped once nor refused"},
    [WEIR_BOOK_TWICE] = {{.name = "audit: twice",
                          .text = "SELECT count(*) FROM (SELECT no FROM {p}_attempt"
                                  " WHERE outcome = 1 GROUP BY no HAVING count(*) > 1) t",
                          .parameters = ""},
                         "executions that succeeded twice"},
    [WEIR_BOOK_UNDECIDED] =
        {{.name = "audit: undecided",
          .text = "SELECT count(*) FROM {p}_edge_group g WHERE g.state <>"
                  " CASE WHEN (SELECT count(*) FROM {p}_edge e WHERE"
                  " e.downstream = g.downstream AND e.state = 1) >="
                  " CASE g.policy WHEN 0 THEN g.total ELSE 1 END THEN 1 ELSE 2 END",
          .parameters = ""},
         "joins that were decided against their edges"},
    [WEIR_BOOK_FIRED] = {{.name = "audit: fired",
                          .text = "SELECT count(*) FROM (SELECT no FROM {p}_attempt"
                                  " WHERE type = 0 GROUP BY no HAVING count(*) > 1) t",
                          .parameters = ""},
                         "joins that fired twice"},
    [WEIR_BOOK_SIBLINGS] = {{.name = "audit: siblings",
                             .text = "SELECT count(*) FROM {p}_edge_group"
                                     " WHERE cancel_us > 0",
                             .parameters = ""},
                            "races whose loser is still to be cancelled"},
    [WEIR_BOOK_SUSPENDED] = {{.name = "audit: suspended",
                              .text = "SELECT (SELECT count(*) FROM {p}_suspension"
                                      " WHERE " WEIR_SUSPENSION_IS_OPEN ")"
                                      " + (SELECT count(*) FROM {p}_waitpoint"
                                      " WHERE state = 1)",
                              .parameters = ""},
                             "suspensions that were left open"},
    [WEIR_BOOK_LEDGER] = {{.name = "audit: ledger",
                           .text = "SELECT coalesce(sum(abs(u.used - (SELECT"
                                   " coalesce(sum(s.amount), 0) FROM {p}_spent s"
                                   " WHERE s.budget = u.budget AND s.era = b.era"
                                   " AND s.dimension = u.dimension))), 0)"
                                   " FROM {p}_usage u JOIN {p}_budget b"
                                   " ON b.no = u.budget",
                           .parameters = ""},
                          "calls by which ledger and counter of the bank differ"},
};

const char *weir_book_breach_text(enum weir_book_breach breach)
{
    return AUDIT[breach].text;
}

void weir_book_init(struct weir_book *self, struct weir_db *db)
{
    *self = (struct weir_book){.db = db};
}

/* ---- live -------------------------------------------------------------------------- */

/* One row of an execution. */
struct line {
    int64_t no, flow;
    struct weir_str kind; /* while the row is current */
    enum weir_demo_step step;
    enum weir_exec_state state;
    enum weir_hold hold;
    int64_t created_us, ended_us;
    int64_t retries, reclaims;
};

static const struct weir_column LINE[] = {
    COLUMN(struct line, no, INTEGER),
    COLUMN(struct line, flow, INTEGER),
    COLUMN(struct line, kind, TEXT),
    COLUMN_ENUM(struct line, state, WEIR_EXEC_SKIPPED),
    COLUMN_ENUM(struct line, hold, WEIR_HOLD_MANUAL_PAUSE),
    COLUMN(struct line, created_us, INTEGER),
    COLUMN(struct line, ended_us, INTEGER),
    COLUMN(struct line, retries, INTEGER),
    COLUMN(struct line, reclaims, INTEGER),
};
static const struct weir_column BUDGET[] = {
    COLUMN(struct weir_book_stats, calls, INTEGER),
    COLUMN(struct weir_book_stats, calls_max, INTEGER),
    COLUMN(struct weir_book_stats, resets, INTEGER),
};

/* The rows of one order, as they come. */
struct page {
    struct weir_book *book;
    struct line lines[WEIR_STEP_COUNT];
    size_t count;
};

static enum weir_demo_step step_of(struct weir_str kind)
{
    for (int i = 0; i < WEIR_STEP_COUNT; i++) {
        if (weir_str_equal(kind, weir_str(WEIR_STEP_NAMES[i])))
            return (enum weir_demo_step)i;
    }
    return WEIR_STEP_COUNT;
}

static int64_t *place_of(struct weir_book_step *step, const struct line *line)
{
    switch (line->state) {
    case WEIR_EXEC_READY:
    case WEIR_EXEC_DELAYED:
        return &step->waiting;
    case WEIR_EXEC_BLOCKED:
        return line->hold == WEIR_HOLD_BUDGET ? &step->held : NULL;
    case WEIR_EXEC_ACTIVE:
        return &step->running;
    case WEIR_EXEC_SUSPENDED:
        return &step->suspended;
    case WEIR_EXEC_SUCCEEDED:
        return &step->done;
    case WEIR_EXEC_CANCELLED:
        return &step->cancelled;
    case WEIR_EXEC_SKIPPED:
        return &step->skipped;
    default:
        return &step->failed;
    }
}

static bool has_ended(const struct page *page)
{
    for (size_t i = 0; i < page->count; i++) {
        if (!weir_state_is_over(page->lines[i].state))
            return false;
    }
    return page->count == WEIR_STEP_COUNT;
}

static void add_page(struct weir_book_stats *stats, const struct page *page)
{
    const struct line *ship = NULL;

    for (size_t i = 0; i < page->count; i++) {
        const struct line *line = &page->lines[i];
        int64_t *place = place_of(&stats->steps[line->step], line);

        if (place != NULL)
            ++*place;
        stats->retries += line->retries;
        stats->reclaims += line->reclaims;
        if (line->step == WEIR_STEP_SHIP)
            ship = line;
    }
    if (!has_ended(page)) {
        stats->on_the_way++;
    } else if (ship != NULL && ship->state == WEIR_EXEC_SUCCEEDED) {
        stats->shipped++;
        weir_histogram_add(&stats->latency,
                           WEIR_MICROSECONDS(ship->ended_us - ship->created_us));
    } else {
        stats->refused++;
    }
}

/* An order is complete. Those that have ended, before any that has not, are not read
 * again. */
static void turn_page(struct page *page)
{
    struct weir_book *self = page->book;

    if (page->count == 0)
        return;
    add_page(&self->stats, page);
    if (has_ended(page) && page->lines[0].no == self->first) {
        add_page(&self->ended, page);
        self->first = page->lines[page->count - 1].no + 1;
    }
    page->count = 0;
}

static enum weir_status read_line(void *state, struct weir_rows *rows,
                                  struct weir_error *error)
{
    struct page *page = state;
    struct line line;
    enum weir_status status = weir_row_read(rows, COLUMNS(LINE), &line, error);

    if (status != WEIR_OK)
        return status;
    line.step = step_of(line.kind);
    if (line.step == WEIR_STEP_COUNT)
        return WEIR_OK; /* of another one */
    if (page->book->first == 0)
        page->book->first = line.no;
    if (page->count > 0 && page->lines[0].flow != line.flow)
        turn_page(page);
    if (page->count < WEIR_STEP_COUNT)
        page->lines[page->count++] = line;
    return WEIR_OK;
}

static enum weir_status look_at_orders(struct weir_book *self,
                                       struct weir_connection *connection,
                                       struct weir_error *error)
{
    struct page page = {.book = self};
    enum weir_status status;

    self->stats = self->ended;
    status = weir_query_each(connection, &SQL_LOOK, VALUES(weir_integer(self->first)),
                             read_line, &page, error);
    turn_page(&page);
    return status;
}

static enum weir_status look_at_budget(struct weir_book *self,
                                       struct weir_connection *connection,
                                       struct weir_error *error)
{
    bool found;

    return weir_query_find(connection, &SQL_BUDGET,
                           VALUES(weir_text(weir_str(WEIR_ORDERS_BUDGET))),
                           INTO(BUDGET, &self->stats), &found, error);
}

enum weir_status weir_book_look(struct weir_book *self, struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    enum weir_status status = weir_db_acquire(self->db, &connection, error);

    if (status == WEIR_OK)
        status = look_at_orders(self, connection, error);
    if (status == WEIR_OK)
        status = look_at_budget(self, connection, error);
    if (status == WEIR_OK)
        status = weir_connection_query_integer(connection, &SQL_RACES, NO_VALUES,
                                               &self->stats.races, error);
    weir_db_release(self->db, connection);
    return status;
}

/* ---- the end ----------------------------------------------------------------------- */

enum weir_status weir_book_audit(struct weir_book *self, int64_t placed,
                                 int64_t out[WEIR_BOOK_BREACH_COUNT],
                                 struct weir_error *error)
{
    const struct weir_value value = weir_integer(placed); /* for those that want it */
    struct weir_connection *connection = NULL;
    enum weir_status status = weir_db_acquire(self->db, &connection, error);

    for (int i = 0; i < WEIR_BOOK_BREACH_COUNT && status == WEIR_OK; i++)
        status = weir_connection_query_integer(connection, &AUDIT[i].sql, &value,
                                               strlen(AUDIT[i].sql.parameters), &out[i],
                                               error);
    weir_db_release(self->db, connection);
    return status;
}
