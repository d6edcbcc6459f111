/*
 * dictionary.h - small numbers for what many executions have in common.
 *
 * Names of lanes, sets of capabilities and policies repeat in every row. So each is
 * written down once, in {p}_term, and rows carry its number. Terms are never changed
 * and never removed: whatever a process has learnt stays true.
 *
 *   "orders"                      a lane
 *   ",gpu,linux,"                 a set of capabilities: sorted, each between commas.
 *                                 The empty set needs no term, it is 0
 *   "retries=3 backoff=0 ..."     a policy
 *
 * Order    Only what is known to be committed is remembered. A term that is added
 *          inside a transaction is used there, and learnt when it is met again.
 * Threads  Any thread.
 * Memory   Terms are remembered until destroy(), up to a limit; those beyond it are
 *          looked up each time.
 */
#ifndef WEIR_EXECUTION_STORE_DICTIONARY_H
#define WEIR_EXECUTION_STORE_DICTIONARY_H

#include "db/connection.h"
#include "weir/execution.h"

struct weir_dictionary;

/* Stored: never change one. */
enum weir_term_kind {
    WEIR_TERM_LANE = 1,
    WEIR_TERM_CAPABILITY_SET = 2,
    WEIR_TERM_POLICY = 3
};

enum {
    WEIR_TERM_SIZE_MAX = WEIR_CAPABILITIES_SIZE_MAX + 2,
    WEIR_POLICY_TEXT_SIZE = 256, /* with the zero */
    WEIR_TERMS_MAX = 100000      /* remembered by an engine */
};

/* Borrows `heap` until destroy(). Remembers up to `terms_max`. Fails with
 * WEIR_NO_MEMORY or WEIR_SYSTEM. */
WEIR_CHECKED enum weir_status weir_dictionary_create(const struct weir_heap *heap,
                                                     size_t terms_max,
                                                     struct weir_dictionary **out,
                                                     struct weir_error *error);
void weir_dictionary_destroy(struct weir_dictionary *self);

/*
 * The number of a term, which is added if it is new. Inside a transaction it is added
 * there, and two that add the same one wait for each other; so callers that can call this
 * before it begins. The empty set of capabilities is 0, without a query.
 */
WEIR_CHECKED enum weir_status weir_dictionary_number(struct weir_dictionary *self,
                                                     struct weir_connection *connection,
                                                     enum weir_term_kind kind,
                                                     struct weir_str text, int64_t *out,
                                                     struct weir_error *error);

/* The same without adding: *out is -1 when there is no such term. */
WEIR_CHECKED enum weir_status weir_dictionary_find(struct weir_dictionary *self,
                                                   struct weir_connection *connection,
                                                   enum weir_term_kind kind,
                                                   struct weir_str text, int64_t *out,
                                                   struct weir_error *error);

/* A policy's number, as above. */
WEIR_CHECKED enum weir_status weir_dictionary_policy_number(
    struct weir_dictionary *self, struct weir_connection *connection,
    const struct weir_execution_policy *policy, int64_t *out, struct weir_error *error);

/* What a number stands for. The text lives until `text` is used again
 * (WEIR_TERM_SIZE_MAX + 1 bytes of the caller's). WEIR_SCHEMA: there is no such term of
 * this kind. */
WEIR_CHECKED enum weir_status
weir_dictionary_text(struct weir_dictionary *self, struct weir_connection *connection,
                     enum weir_term_kind kind, int64_t number, char *text,
                     struct weir_str *out, struct weir_error *error);
WEIR_CHECKED enum weir_status weir_dictionary_policy(struct weir_dictionary *self,
                                                     struct weir_connection *connection,
                                                     int64_t number,
                                                     struct weir_execution_policy *out,
                                                     struct weir_error *error);

/*
 * The numbers of all sets of capabilities that a worker with `offered` (a term's text)
 * fulfils, the empty one first. Asks for those that are new since the last call, so
 * call it outside of a transaction; for an idle claim that is one look-up. When there
 * are some that cannot be remembered, all of them are read each time. *out is the
 * heap's block, which the caller frees.
 */
WEIR_CHECKED enum weir_status
weir_dictionary_fulfilled(struct weir_dictionary *self,
                          struct weir_connection *connection, struct weir_str offered,
                          int64_t **out, size_t *count, struct weir_error *error);

/* A policy as a term's text, and back. parse() is false when the text is no policy, or
 * one that no execution could have been submitted with. */
void weir_policy_format(const struct weir_execution_policy *policy,
                        char out[WEIR_POLICY_TEXT_SIZE]);
bool weir_policy_parse(struct weir_str text, struct weir_execution_policy *out);

#endif
