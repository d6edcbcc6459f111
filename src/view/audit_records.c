/*
 * audit_records.c - see audit_records.h.
 */
#include "view/audit_records.h"

#include <string.h>

static const char *origin_word(const void *row)
{
    const struct weir_audit_row *audit = row;

    return weir_audit_origin_name(audit->origin);
}

static enum weir_tone outcome_tone(const void *row)
{
    const struct weir_audit_row *audit = row;

    return strcmp(audit->outcome, "ok") == 0 ? WEIR_TONE_PLAIN : WEIR_TONE_CAREFUL;
}

#define AUDIT(...) WEIR_FIELD(struct weir_audit_row, __VA_ARGS__)
static const struct weir_record_field AUDIT_FIELDS[] = {
    AUDIT("id", id, I64, "Number of the row; a later row has a larger one.",
          .title = "id", .rank = 5),
    AUDIT("at", at_us, TIME, "When the row was written, by the database's clock.",
          .title = "at"),
    AUDIT("request", request, TEXT, "Id of the request.", .nullable = true),
    AUDIT("who", actor, TEXT, "Name of the token, or of the user of the system.",
          .title = "who", .cut_to = 16),
    WEIR_FIELD_OF("from", WORD, "Where it came from: `api`, `console` or `cli`.",
                  .title = "from", .rank = 4, .word = origin_word),
    AUDIT("address", address, TEXT, "Address of the client.", .nullable = true),
    AUDIT("action", action, TEXT, "Action, as `queue.pause`.", .title = "action"),
    AUDIT("target", target, TEXT, "Queue, subscription, execution or token.",
          .title = "target", .cut_to = 24, .empty = "-", .nullable = true),
    AUDIT("count", count, I64, "Things that were changed.", .title = "count", .rank = 3),
    AUDIT("before", before, TEXT, "What was before.", .title = "before", .cut_to = 16,
          .rank = 2, .empty = "-", .nullable = true),
    AUDIT("after", after, TEXT, "What is since then.", .title = "after", .cut_to = 16,
          .rank = 2, .empty = "-", .nullable = true),
    AUDIT("reason", reason, TEXT, "Reason that was given.", .title = "reason",
          .cut_to = 16, .rank = 6, .empty = "-", .nullable = true),
    AUDIT("outcome", outcome, TEXT, "`ok`, or the status of the refusal.",
          .title = "outcome", .tone = outcome_tone),
};

const struct weir_record weir_audit_row_record = WEIR_RECORD(
    "audit row", AUDIT_FIELDS, "An action of an operator: `weir audit list`.");

#define PAGE(...) WEIR_FIELD(struct weir_audit_page, __VA_ARGS__)
static const struct weir_record_field PAGE_FIELDS[] = {
    PAGE("audit", rows, LISTED, "Audit rows, newest first.",
         .record = &weir_audit_row_record),
    PAGE("after", after, TEXT, "Mark of the next page.", .nullable = true),
};

const struct weir_record weir_audit_page_record =
    WEIR_RECORD("audit rows", PAGE_FIELDS, "The answer of `weir audit list`.");
