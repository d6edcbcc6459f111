/*
 * store_statements.h - the inside of store.h: statements that a test asks the engines
 * about.
 */
#ifndef WEIR_EXECUTION_STORE_STORE_STATEMENTS_H
#define WEIR_EXECUTION_STORE_STORE_STATEMENTS_H

#include "execution/store/store.h"

extern const struct weir_sql weir_store_sql_progress;
extern const struct weir_sql weir_store_sql_get;
extern const struct weir_sql weir_store_sql_get_result;
extern const struct weir_sql weir_store_sql_list;
extern const struct weir_sql weir_store_sql_members_end;
extern const struct weir_sql weir_store_sql_older;
extern const struct weir_sql weir_store_sql_tagged_end;
extern const struct weir_sql weir_store_sql_attempts;
extern const struct weir_sql_pair weir_flow_sql_resolve;
extern const struct weir_sql_pair weir_flow_sql_named;
extern const struct weir_sql weir_execution_sql_stats;
extern const struct weir_sql weir_execution_sql_waits;
extern const struct weir_sql weir_execution_sql_held;
extern const struct weir_sql weir_execution_sql_lanes;
extern const struct weir_sql_pair weir_execution_sql_passed;

/* PostgreSQL */
extern const struct weir_sql weir_pg_sql_load;
extern const struct weir_sql weir_pg_sql_load_one;
extern const struct weir_sql weir_pg_sql_load_by_id;
extern const struct weir_sql weir_pg_sql_ready;
extern const struct weir_sql weir_pg_sql_ready_with_inputs;
extern const struct weir_sql weir_pg_sql_ready_of_many;
extern const struct weir_sql weir_pg_sql_ready_beyond;
extern const struct weir_sql weir_pg_sql_ready_from_floors;
extern const struct weir_sql weir_pg_sql_ready_from_floors_with_inputs;
extern const struct weir_sql weir_pg_sql_ready_beyond_floors;
extern const struct weir_sql weir_pg_sql_learn_floors;
extern const struct weir_sql weir_pg_sql_write;
extern const struct weir_sql weir_pg_sql_insert;
extern const struct weir_sql weir_pg_sql_results;
extern const struct weir_sql weir_pg_sql_take_keys;
extern const struct weir_sql weir_pg_sql_inputs;
extern const struct weir_sql weir_pg_sql_tags;
extern const struct weir_sql weir_pg_sql_read_keys;
extern const struct weir_sql weir_pg_sql_read_ids;
enum { WEIR_PG_REMOVES = 15, WEIR_SQLITE_REMOVES = 14 };
extern const struct weir_sql weir_pg_sql_remove[WEIR_PG_REMOVES];

/* SQLite */
extern const struct weir_sql weir_sqlite_sql_ready;
extern const struct weir_sql weir_sqlite_sql_ready_rows;
extern const struct weir_sql weir_sqlite_sql_ready_with_inputs;
extern const struct weir_sql weir_sqlite_sql_load;
extern const struct weir_sql weir_sqlite_sql_find;
extern const struct weir_sql weir_sqlite_sql_expire_key;
extern const struct weir_sql weir_sqlite_sql_read_key;
extern const struct weir_sql weir_sqlite_sql_read_tags;
extern const struct weir_sql weir_sqlite_sql_remove[WEIR_SQLITE_REMOVES];

/* Policies and names of lanes of all that was loaded. */
WEIR_CHECKED enum weir_status weir_store_resolve(const struct weir_store *self,
                                                 struct weir_connection *connection,
                                                 struct weir_execution_records *records,
                                                 struct weir_error *error);

#endif
