/*
 * enqueue.h - the options of `weir enqueue`, and its two ways to work.
 *
 *   enqueue.c         options; one message
 *   enqueue_lines.c   one message per line of standard input
 */
#ifndef WEIR_CLI_MESSAGE_ENQUEUE_H
#define WEIR_CLI_MESSAGE_ENQUEUE_H

#include "cli/session.h"
#include "weir/outbox.h"

struct weir_enqueue_plan {
    struct weir_session session;
    const char *queue;
    struct weir_draft draft; /* of each message, but for what its line says */
    struct weir_header headers[WEIR_HEADERS_MAX];
    bool type_given;
    size_t size_max; /* of a payload */

    /* one message: one of these */
    const char *payload;
    const char *file; /* "-": standard input */

    /* lines */
    bool lines;
    bool binary; /* any bytes, not only UTF-8 */
    size_t batch;
    const char *key_field; /* NULL: none; so the others */
    const char *type_field;
    const char *payload_field;
};

/* What has been enqueued. */
struct weir_enqueue_result {
    int64_t count;
    int64_t first_id; /* 0: none; so the others */
    int64_t last_id;
    int64_t elapsed_ns;
    int64_t failed_line;         /* 0: none */
    struct weir_receipt receipt; /* of the only one */
};

/* In a transaction of its own, tried again when another one was in the way. */
WEIR_CHECKED enum weir_status
weir_enqueue_send(const struct weir_enqueue_plan *plan, const struct weir_draft *drafts,
                  size_t count, struct weir_receipt *receipts, struct weir_error *error);

/* Lines until the end of standard input. What went wrong is reported; *result is filled
 * either way. Returns an exit code. */
WEIR_CHECKED int weir_enqueue_lines(const struct weir_enqueue_plan *plan,
                                    struct weir_enqueue_result *result);

#endif
