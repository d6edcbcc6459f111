/*
 * dlq_view.h - dead letters as rows of a table, as JSON objects, or in full.
 *
 * Failure  Adding never fails at the spot: print() tells.
 */
#ifndef WEIR_CLI_DLQ_DLQ_VIEW_H
#define WEIR_CLI_DLQ_DLQ_VIEW_H

#include "cli/output.h"
#include "weir/dead_letter.h"

struct weir_dlq_view {
    struct weir_table table;
    struct weir_buf json; /* a list that is not closed yet */
    bool payloads;        /* also in JSON */
    int64_t now_us;
    size_t count;
};

void weir_dlq_view_init(struct weir_dlq_view *self, bool payloads);
void weir_dlq_view_fini(struct weir_dlq_view *self);

/* Add one; a weir_dead_letter_fn. */
void weir_dlq_view_add(void *self, const struct weir_dead_letter *letter);

/* `"dead_letters":[...]` to the end of an object. */
void weir_dlq_view_append_json(const struct weir_dlq_view *self, struct weir_buf *json);

/* One as a JSON object; and as lines for people, with its headers and payload. */
void weir_dlq_append_json(struct weir_buf *json, const struct weir_dead_letter *letter,
                          bool payload);
void weir_dlq_append_text(struct weir_buf *text, const struct weir_dead_letter *letter);

#endif
