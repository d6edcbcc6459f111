/*
 * wait_store.h - suspensions in their tables: what is waited for, where it comes in,
 * what has come.
 *
 * As store.h it decides nothing. The execution's row is locked by the transaction that
 * writes here, so there is one writer for each execution at a time.
 *
 *   suspension  the open one, or the last: the condition
 *   waitpoint   pending -> active -> closed; those of the last suspension stay until
 *               the next one, for the resumed worker to read, also of one that was
 *               satisfied when it began
 *   signal      what came to a waitpoint; removed with it
 *
 * Threads  The holder of the connection.
 * Memory   What is read lives in the caller's arena, or for the visit.
 * Failure  WEIR_SCHEMA: a stored number is not known here.
 */
#ifndef WEIR_EXECUTION_WAIT_WAIT_STORE_H
#define WEIR_EXECUTION_WAIT_WAIT_STORE_H

#include "execution/commit_batch.h"
#include "execution/store/store.h"
#include "execution/wait/condition.h"

struct weir_suspension_row {
    int64_t no;
    enum weir_suspend_reason reason;
    int64_t since_us;
    int64_t ended_us;   /* 0: it is open */
    int64_t timeout_us; /* 0: none */
    int64_t resume_delay_us;
    struct weir_str condition;
};

struct weir_waitpoint_row {
    uint8_t uuid[WEIR_UUID_SIZE];
    enum weir_waitpoint_state state;
    struct weir_str key;
    struct weir_str key_id;
    int64_t created_us;
    int64_t until_us; /* PENDING: then it expires; 0: never */
};

struct weir_signal_row {
    uint8_t uuid[WEIR_UUID_SIZE];
    uint8_t waitpoint[WEIR_UUID_SIZE];
    struct weir_str waitpoint_key;
    struct weir_str idempotency_key;
    struct weir_str name;
    struct weir_str source_type;
    struct weir_str source;
    struct weir_str payload;
    int64_t came_us;
};

/* ---- suspensions ------------------------------------------------------------------- */

/* It takes the place of the last one. */
WEIR_CHECKED enum weir_status weir_wait_store_open(struct weir_connection *connection,
                                                   const struct weir_suspension_row *row,
                                                   struct weir_error *error);

/* The open one or the last; its condition is copied to `arena`. WEIR_NO_ROW: there was
 * none. */
WEIR_CHECKED enum weir_status weir_wait_store_read(struct weir_connection *connection,
                                                   int64_t no, struct weir_arena *arena,
                                                   struct weir_suspension_row *out,
                                                   struct weir_error *error);

/* As it was left open, what becomes of it: in one statement, so that both belong
 * together. */
struct weir_suspension_standing {
    bool suspended;
    int64_t due_us; /* of the execution: its timeout; 0: none, or escalated */
    enum weir_on_timeout on_timeout;
};
WEIR_CHECKED enum weir_status
weir_wait_store_look(struct weir_connection *connection, int64_t no,
                     struct weir_arena *arena, struct weir_suspension_row *out,
                     struct weir_suspension_standing *standing, struct weir_error *error);

/* Those of these executions are over since `now_us`: their active waitpoints are
 * closed. */
WEIR_CHECKED enum weir_status
weir_wait_store_close(struct weir_connection *connection, const int64_t *nos,
                      size_t count, int64_t now_us,
                      struct weir_commit_batch *commit_batch, struct weir_error *error);

/* ---- waitpoints -------------------------------------------------------------------- */

/* Closed ones of the last suspension, and as many that are alive or have expired. */
enum { WEIR_WAITPOINT_ROWS_MAX = 2 * WEIR_WAITPOINTS_MAX };

/* All of an execution, oldest first; texts in `arena`, as the array. */
struct weir_waitpoint_rows {
    struct weir_waitpoint_row *rows;
    size_t count;
};
WEIR_CHECKED enum weir_status weir_waitpoints_read(struct weir_connection *connection,
                                                   int64_t no, struct weir_arena *arena,
                                                   struct weir_waitpoint_rows *out,
                                                   struct weir_error *error);

WEIR_CHECKED enum weir_status weir_waitpoint_add(struct weir_connection *connection,
                                                 int64_t no,
                                                 const struct weir_waitpoint_row *row,
                                                 struct weir_error *error);
/* *there: false when housekeeping has removed it meanwhile, which takes no lock. */
WEIR_CHECKED enum weir_status weir_waitpoint_set(struct weir_connection *connection,
                                                 int64_t no, const uint8_t *uuid,
                                                 enum weir_waitpoint_state state,
                                                 bool *there, struct weir_error *error);

/* Remove those that are closed or expired, with their signals. */
WEIR_CHECKED enum weir_status weir_waitpoints_sweep(struct weir_connection *connection,
                                                    int64_t no, int64_t now_us,
                                                    struct weir_error *error);

/* Remove pending ones whose time is over; their signals go with the next sweep. */
WEIR_CHECKED enum weir_status weir_waitpoints_expire(struct weir_connection *connection,
                                                     int64_t no, int64_t now_us,
                                                     struct weir_error *error);

/* The same for those of all executions: up to `limit`. */
WEIR_CHECKED enum weir_status weir_waitpoints_forget(struct weir_connection *connection,
                                                     int64_t now_us, size_t limit,
                                                     size_t *removed,
                                                     struct weir_error *error);

/* ---- signals ----------------------------------------------------------------------- */

/* *added: false when one with this key is there. */
WEIR_CHECKED enum weir_status weir_signal_add(struct weir_connection *connection,
                                              int64_t no,
                                              const struct weir_signal_row *row,
                                              bool *added, struct weir_error *error);

/* WEIR_NO_ROW: none. Copied to `arena`. */
WEIR_CHECKED enum weir_status
weir_signal_find(struct weir_connection *connection, int64_t no, const uint8_t *waitpoint,
                 struct weir_str key, struct weir_arena *arena,
                 struct weir_signal_row *out, struct weir_error *error);

/* In the order in which they came. */
typedef enum weir_status (*weir_signal_row_visit_fn)(void *state,
                                                     const struct weir_signal_row *row,
                                                     struct weir_error *error);
enum weir_signal_part { WEIR_SIGNALS_BARE, WEIR_SIGNALS_WITH_PAYLOAD };
WEIR_CHECKED enum weir_status weir_signals_visit(struct weir_connection *connection,
                                                 int64_t no, enum weir_signal_part part,
                                                 weir_signal_row_visit_fn visit,
                                                 void *state, struct weir_error *error);

/* As conditions see it; texts are copied to `arena`. */
WEIR_CHECKED enum weir_status weir_signal_see(struct weir_arena *arena,
                                              const struct weir_signal_row *row,
                                              struct weir_signal_seen *out,
                                              struct weir_error *error);
WEIR_CHECKED enum weir_status weir_signals_count_at(struct weir_connection *connection,
                                                    int64_t no, const uint8_t *waitpoint,
                                                    int64_t *out,
                                                    struct weir_error *error);
WEIR_CHECKED enum weir_status weir_signals_count(struct weir_connection *connection,
                                                 int64_t no, int64_t *out,
                                                 struct weir_error *error);

#endif
