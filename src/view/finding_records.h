/*
 * finding_records.h - what `weir doctor` has found.
 */
#ifndef WEIR_VIEW_FINDING_RECORDS_H
#define WEIR_VIEW_FINDING_RECORDS_H

#include "view/record_list.h"

/* From harmless to harmful. A note needs no action. */
enum weir_verdict {
    WEIR_VERDICT_OK,
    WEIR_VERDICT_NOTE,
    WEIR_VERDICT_WARNING,
    WEIR_VERDICT_BROKEN,
    WEIR_VERDICT_COUNT
};

struct weir_doctor_finding {
    const char *check;
    enum weir_verdict verdict;
    const char *found;
    const char *remedy; /* ""; never NULL */
};
extern const struct weir_record weir_finding_record;

struct weir_findings {
    size_t counts[WEIR_VERDICT_COUNT];
    struct weir_record_list list;
};
extern const struct weir_record weir_findings_record;

#endif
