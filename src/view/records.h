/*
 * records.h - all records, in the order of the reference page.
 */
#ifndef WEIR_VIEW_RECORDS_H
#define WEIR_VIEW_RECORDS_H

#include "view/record.h"

/* The record at `index`; NULL behind the last. */
const struct weir_record *weir_records_at(size_t index);

/* Append the reference page, docs/fields.md. */
void weir_records_append_reference(struct weir_buf *text);

#endif
