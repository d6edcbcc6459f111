/*
 * backlog.h - the functions of PostgreSQL that keep the numbers of backlog.h.
 *
 * They run with the rights of their owner, which owns the sequences. All are texts of
 * migrations.
 *
 *   {p}_backlog_make(queue)                    the sequences of a queue
 *   {p}_backlog_find(queue)                    which those are; NULL: there are none
 *   {p}_backlog_print(queue)                   changes whenever a position moves
 *   {p}_backlog_claim(queue, age)              is it on the caller to count?
 *   {p}_backlog_put(queue, waiting, ...)       publish what was counted since the claim
 *   {p}_backlog_step(queue, place)             count the next rows of the log
 *   {p}_backlog_aside(queue)                   what is set aside
 *   {p}_backlog_read(queue)                    the number, for producers
 *   {p}_backlog_drop(queue)                    the queue is gone
 */
#ifndef WEIR_OUTBOX_POSTGRES_BACKLOG_H
#define WEIR_OUTBOX_POSTGRES_BACKLOG_H

extern const char weir_backlog_pg_make[];
extern const char weir_backlog_pg_find[];
extern const char weir_backlog_pg_print[];
extern const char weir_backlog_pg_claim[];
extern const char weir_backlog_pg_put[];
extern const char weir_backlog_pg_step[];
extern const char weir_backlog_pg_aside[];
extern const char weir_backlog_pg_read[];
extern const char weir_backlog_pg_drop[];

#endif
