/*
 * reply.h - what a command answers: a record in JSON, or a sentence for people.
 *
 *   return weir_reply(session, &weir_queue_paused_record, &row,
 *                     "queue '%s' is %s", queue, "paused");
 *
 * All return WEIR_EXIT_DONE, or WEIR_EXIT_FAILED after telling.
 */
#ifndef WEIR_CLI_REPLY_H
#define WEIR_CLI_REPLY_H

#include "cli/output.h"
#include "cli/session.h"
#include "view/record_list.h"

/* With --json the record; else the sentence and a newline, unless --quiet. */
WEIR_CHECKED int weir_reply(const struct weir_session *session,
                            const struct weir_record *record, const void *row,
                            const char *format, ...) WEIR_PRINTF(4, 5);

/* The record in JSON, whatever the options say: one line. */
WEIR_CHECKED int weir_reply_json(const struct weir_session *session,
                                 const struct weir_record *record, const void *row);

/* With --json `{"name":[...]}`; else the table. */
WEIR_CHECKED int weir_reply_list(const struct weir_session *session, const char *name,
                                 const struct weir_record_list *rows);

/* The form that --json asks for. */
enum weir_form weir_reply_form(const struct weir_session *session);

#endif
