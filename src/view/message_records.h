/*
 * message_records.h - what `weir enqueue` and `weir relay` answer.
 */
#ifndef WEIR_VIEW_MESSAGE_RECORDS_H
#define WEIR_VIEW_MESSAGE_RECORDS_H

#include "view/record.h"
#include "weir/outbox.h"

struct weir_enqueued {
    const char *queue;
    int64_t count;
    int64_t first_id; /* 0: none */
    int64_t last_id;
    bool lines;
    int64_t elapsed_ns;          /* of lines */
    int64_t failed_line;         /* of lines; -1: none */
    struct weir_receipt receipt; /* of one message */
};
extern const struct weir_record weir_enqueued_record;

struct weir_relayed {
    const void *state; /* of each_queue() */
    void (*each_queue)(const void *state, weir_record_emit_fn emit, void *emit_state);
    const char *as;
    const char *sink;
    int64_t delivered;
    int64_t rejected;
    int64_t given_up;
    int64_t elapsed_ns;
    const char *ended;
    size_t unfinished;
    const char *error; /* NULL: none */
};
extern const struct weir_record weir_relayed_record;

#endif
