/*
 * audit_records.h - audit rows: what `weir audit list` shows.
 */
#ifndef WEIR_VIEW_AUDIT_RECORDS_H
#define WEIR_VIEW_AUDIT_RECORDS_H

#include "view/record_list.h"
#include "weir/audit.h"

/* struct weir_audit_row */
extern const struct weir_record weir_audit_row_record;

struct weir_audit_page {
    struct weir_record_list rows;
    const char *after; /* mark of the next page; NULL: there is none */
};
extern const struct weir_record weir_audit_page_record;

#endif
