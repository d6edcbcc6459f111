/* A field that says another type than its member has. */
#include "view/record.h"

struct row {
    int32_t count;
};

const struct weir_record_field weir_bad_field =
    WEIR_FIELD(struct row, "count", count, I64, "Refused.");
