/*
 * record_list.c - see record_list.h.
 */
#include "view/record_list.h"

#include "weir/heap.h"

enum { JSON_SIZE_MAX = 512 << 20 };

void weir_record_list_init(struct weir_record_list *self,
                           const struct weir_record *record, enum weir_form form,
                           int64_t now_us)
{
    *self = (struct weir_record_list){.record = record, .form = form, .now_us = now_us};
    weir_buf_init(&self->json, weir_heap_system(), JSON_SIZE_MAX);
    if (form == WEIR_FORM_TABLE)
        weir_table_init(&self->table, weir_heap_system(), self->columns,
                        weir_record_columns(record, self->columns, self->fields));
}

void weir_record_list_fini(struct weir_record_list *self)
{
    weir_buf_fini(&self->json);
    if (self->form == WEIR_FORM_TABLE)
        weir_table_fini(&self->table);
}

void weir_record_list_reset(struct weir_record_list *self)
{
    self->count = 0;
    weir_buf_reset(&self->json);
    if (self->form == WEIR_FORM_TABLE)
        weir_table_reset(&self->table);
}

void weir_record_list_add(struct weir_record_list *self, const void *row)
{
    self->count++;
    if (self->form == WEIR_FORM_JSON)
        weir_record_append_json(self->record, &self->json, NULL, row, self->now_us);
    else
        weir_record_add_cells(self->fields, self->table.column_count, &self->table, row,
                              self->now_us);
}

void weir_record_list_append_json(const struct weir_record_list *self,
                                  struct weir_buf *json, const char *name)
{
    weir_output_open(json, name, "[");
    weir_buf_append(json, weir_buf_text(&self->json), self->json.size);
    weir_buf_append_text(json, "]");
}
