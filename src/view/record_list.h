/*
 * record_list.h - rows of one record, collected in the form that is asked for: a table,
 * or a list in JSON. The other form is never composed.
 *
 *   weir_record_list_init(&rows, &weir_queue_record, WEIR_FORM_JSON, now_us);
 *   weir_outbox_read_queues(outbox, add, &rows, &error);      add: weir_record_list_add()
 *   weir_record_list_append_json(&rows, &json, "queues");
 *
 * Memory   Grows with the rows, which are not kept. Must not be moved after init(): the
 *          table borrows its columns.
 * Failure  Adding never fails at the spot: printing tells.
 */
#ifndef WEIR_VIEW_RECORD_LIST_H
#define WEIR_VIEW_RECORD_LIST_H

#include "view/record.h"

enum weir_form { WEIR_FORM_TABLE, WEIR_FORM_JSON };

struct weir_record_list {
    const struct weir_record *record;
    enum weir_form form;
    int64_t now_us;
    size_t count;         /* rows so far */
    struct weir_buf json; /* a list that is not closed yet */
    struct weir_table table;
    struct weir_table_column columns[WEIR_TABLE_COLUMNS_MAX];
    const struct weir_record_field *fields[WEIR_TABLE_COLUMNS_MAX];
};

/* A table only for a record that has columns. */
void weir_record_list_init(struct weir_record_list *self,
                           const struct weir_record *record, enum weir_form form,
                           int64_t now_us);
void weir_record_list_fini(struct weir_record_list *self);

/* No rows any more; columns keep their widths. */
void weir_record_list_reset(struct weir_record_list *self);

void weir_record_list_add(struct weir_record_list *self, const void *row);

/* `"name":[...]` to the end of an object. */
void weir_record_list_append_json(const struct weir_record_list *self,
                                  struct weir_buf *json, const char *name);

#endif
