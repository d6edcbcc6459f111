/*
 * answers.h - the functions of the endpoints: each appends one answer to the body of its
 * call.
 *
 * What a command shows with --json comes from the same records, so the bytes are equal.
 *
 * Threads  Those at the server: the thread that has read the request; they never block.
 *          The others: a reader of the call's mount.
 * Failure  As weir_endpoint_fn says.
 */
#ifndef WEIR_SERVER_API_ANSWERS_H
#define WEIR_SERVER_API_ANSWERS_H

#include "server/api/call.h"

#define WEIR_ANSWER(name)                                                                \
    enum weir_status weir_answer_##name(struct weir_api_call *call,                      \
                                        struct weir_error *error)

/* answer_server.c */
WEIR_ANSWER(livez);
WEIR_ANSWER(readyz);
WEIR_ANSWER(metrics);
WEIR_ANSWER(openapi);
WEIR_ANSWER(version);
WEIR_ANSWER(relays);

/* answer_queues.c */
WEIR_ANSWER(status);
WEIR_ANSWER(processes);
WEIR_ANSWER(schema);
WEIR_ANSWER(queues);
WEIR_ANSWER(queue);
WEIR_ANSWER(partitions);
WEIR_ANSWER(subscriptions);

/* answer_access.c */
WEIR_ANSWER(audit);
WEIR_ANSWER(tokens);

/* answer_dead_letters.c */
WEIR_ANSWER(dead_letters);
WEIR_ANSWER(dead_letter);

/* answer_executions.c */
WEIR_ANSWER(executions);
WEIR_ANSWER(execution);
WEIR_ANSWER(execution_result);
WEIR_ANSWER(execution_attempts);
WEIR_ANSWER(execution_signals);
WEIR_ANSWER(execution_waitpoints);

/* answer_flows.c */
WEIR_ANSWER(flows);
WEIR_ANSWER(flow);
WEIR_ANSWER(budgets);
WEIR_ANSWER(budget);

#undef WEIR_ANSWER

#endif
