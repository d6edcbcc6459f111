/*
 * dead_letter_records.h - rows of dead letters: what `weir dlq` shows and answers.
 */
#ifndef WEIR_VIEW_DEAD_LETTER_RECORDS_H
#define WEIR_VIEW_DEAD_LETTER_RECORDS_H

#include "view/record_list.h"
#include "weir/dead_letter.h"

/* struct weir_dead_letter; the second with its payload, but only in JSON. */
extern const struct weir_record weir_dead_letter_record;
extern const struct weir_record weir_dead_letter_payload_record;

/* Append the payload, as the last of the lines in full. */
void weir_dead_letter_append_payload(struct weir_buf *text,
                                     const struct weir_dead_letter *letter);

struct weir_dead_letter_page {
    struct weir_record_list letters;
    const char *after; /* mark of the next page; NULL: there is none */
};
extern const struct weir_record weir_dead_letter_page_record;

struct weir_dead_letters_claimed {
    int64_t token;
    int64_t for_ns;
    struct weir_record_list letters;
};
extern const struct weir_record weir_dead_letters_claimed_record;

/* Numbers of dead letters; -1: it was another command. */
struct weir_dead_letters_counts {
    int64_t resolved, rejected, requeued, discarded, removed;
};

struct weir_dead_letter_refused {
    int64_t id;
    const char *why;
};
extern const struct weir_record weir_dead_letter_refused_record;

/* Of ids. */
struct weir_dead_letters_decided {
    struct weir_dead_letters_counts counts;
    const int64_t *ids;
    const enum weir_status *verdicts; /* those that are not WEIR_OK are refused */
    size_t count;
};
extern const struct weir_record weir_dead_letters_decided_record;

/* Of a scope. */
struct weir_dead_letters_swept {
    struct weir_dead_letters_counts counts;
    bool dry_run;
};
extern const struct weir_record weir_dead_letters_swept_record;

/* Set the number of what was done: "resolved". All others are -1. */
void weir_dead_letters_counts_set(struct weir_dead_letters_counts *self, const char *done,
                                  int64_t count);

#endif
