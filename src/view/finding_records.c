/*
 * finding_records.c - see finding_records.h.
 */
#include "view/finding_records.h"

static const char *verdict_word(const void *row)
{
    static const char *const WORDS[] = {"ok", "note", "warning", "broken"};
    const struct weir_doctor_finding *finding = row;

    return WORDS[finding->verdict];
}

static enum weir_tone verdict_tone(const void *row)
{
    static const enum weir_tone TONES[] = {WEIR_TONE_GOOD, WEIR_TONE_PLAIN,
                                           WEIR_TONE_CAREFUL, WEIR_TONE_BAD};
    const struct weir_doctor_finding *finding = row;

    return TONES[finding->verdict];
}

#define FINDING(...) WEIR_FIELD(struct weir_doctor_finding, __VA_ARGS__)
static const struct weir_record_field FINDING_FIELDS[] = {
    FINDING("check", check, TEXT, "Name of the check.", .title = "check"),
    WEIR_FIELD_OF("verdict", WORD, "`ok`, `note`, `warning` or `broken`.",
                  .title = "verdict", .word = verdict_word, .tone = verdict_tone),
    FINDING("found", found, TEXT, "What was found.", .title = "found", .cut_to = 30),
    FINDING("remedy", remedy, TEXT, "What to do; or empty.", .title = "what to do",
            .cut_to = 30, .rank = 1),
};

const struct weir_record weir_finding_record =
    WEIR_RECORD("finding", FINDING_FIELDS, "One check of a database.");

#define FINDINGS(...) WEIR_FIELD(struct weir_findings, __VA_ARGS__)
static const struct weir_record_field FINDINGS_FIELDS[] = {
    FINDINGS("warnings", counts[WEIR_VERDICT_WARNING], SIZE, "Number of warnings."),
    FINDINGS("broken", counts[WEIR_VERDICT_BROKEN], SIZE,
             "Number of checks that found something broken."),
    FINDINGS("findings", list, LISTED, "All checks.", .record = &weir_finding_record),
};

const struct weir_record weir_findings_record =
    WEIR_RECORD("findings", FINDINGS_FIELDS, "The answer of `weir doctor`.");
