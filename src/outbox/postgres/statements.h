/*
 * statements.h - the statements whose plans must hold, whatever the planner knows.
 *
 * Leaves of the log are never analyzed, and a prepared statement may keep a plan that
 * was made when its tables were empty. A test explains each of these with and without a
 * million rows.
 */
#ifndef WEIR_OUTBOX_POSTGRES_STATEMENTS_H
#define WEIR_OUTBOX_POSTGRES_STATEMENTS_H

#include "db/sql.h"
#include "outbox/schema.h"

extern const struct weir_sql weir_pg_sql_probe;   /* postgres/cut.c */
extern const struct weir_sql weir_pg_sql_recheck; /* the same under the lock */
extern const struct weir_sql weir_pg_sql_hi;
extern const struct weir_sql weir_pg_sql_insert_cut;
extern const struct weir_sql weir_pg_sql_cuts;
extern const struct weir_sql weir_pg_sql_few_cuts;
extern const struct weir_sql weir_pg_sql_late; /* postgres/page.c */
extern const struct weir_sql weir_pg_sql_new[WEIR_LOG_LEAVES];
extern const struct weir_sql weir_pg_sql_next;
extern const struct weir_sql weir_pg_sql_aside;
extern const struct weir_sql weir_pg_sql_aside_bound;
extern const struct weir_sql weir_pg_sql_span;      /* postgres/page_span.c */
extern const struct weir_sql weir_pg_sql_lag_marks; /* postgres/lag_statements.c */
extern const struct weir_sql weir_pg_sql_lag_pieces;
extern const struct weir_sql weir_pg_sql_lag_sample;
extern const struct weir_sql weir_pg_sql_lag_aside;
extern const struct weir_sql weir_pg_sql_lag_aside_alone;
extern const struct weir_sql weir_pg_sql_lag_count;
extern const struct weir_sql weir_pg_sql_lag_guess;
extern const struct weir_sql weir_pg_sql_waits;

/*
 * A common table `stretch` with the transactions from xid `from` up to, not including,
 * `to` that have rows in the log. By index (xid, id), from one transaction to the next:
 * the numbers in between cost nothing. They can be many, since each savepoint that
 * writes takes one.
 */
#define WEIR_PG_STRETCH(from, to)                                                        \
    " stretch(xid) AS ("                                                                 \
    "(SELECT l.xid FROM {p}_log l WHERE l.xid >= " from " AND l.xid < " to               \
    " ORDER BY l.xid LIMIT 1)"                                                           \
    " UNION ALL"                                                                         \
    " SELECT (SELECT l.xid FROM {p}_log l WHERE l.xid > s.xid AND l.xid < " to           \
    " ORDER BY l.xid LIMIT 1) FROM stretch s WHERE s.xid IS NOT NULL)"

#endif
