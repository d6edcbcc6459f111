/*
 * execution_drafting.h - an execution that is made of words: the options of `weir
 * submit` and of `weir flow add`, and the fields of its JSON.
 *
 *   init -> take, take, ... -> finish -> draft
 *
 * A mistake is reported here.
 *
 * Memory   Texts are borrowed; the draft points into the struct, which stays where it is.
 */
#ifndef WEIR_CLI_EXECUTION_EXECUTION_DRAFTING_H
#define WEIR_CLI_EXECUTION_EXECUTION_DRAFTING_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/command.h"
#include "weir/execution.h"

enum {
    WEIR_DRAFTING_ATTEMPT_TIMEOUT = 320,
    WEIR_DRAFTING_BACKOFF,
    WEIR_DRAFTING_BACKOFF_MAX,
    WEIR_DRAFTING_BUDGET,
    WEIR_DRAFTING_CAPABILITY,
    WEIR_DRAFTING_DEADLINE,
    WEIR_DRAFTING_DELAY,
    WEIR_DRAFTING_ID,
    WEIR_DRAFTING_RECLAIMS,
    WEIR_DRAFTING_REPLAYS,
    WEIR_DRAFTING_TAG,
};

/* The rows of a table of options. */
#define WEIR_DRAFTING_OPTIONS                                                            \
    {'l', "lane", "LANE", "the line it waits in; needed"},                               \
        {'k', "kind", "KIND", "what is to be done, for its worker; needed"},             \
        {'i', "input", "INPUT", "for its worker: a text, @FILE, or - for stdin"},        \
        {'K', "key", "KEY", "within 24 h the same key is the same execution"},           \
        {'p', "priority", "N", "0 to 9000, larger first; default 0"},                    \
        {WEIR_DRAFTING_DELAY, "delay", "D", "not before so long from now"},              \
        {WEIR_DRAFTING_DEADLINE, "deadline", "D", "over by then, whatever happens"},     \
        {'r', "retries", "N", "after the first attempt; default 0"},                     \
        {WEIR_DRAFTING_BACKOFF, "backoff", "D",                                          \
         "before the first retry, then doubled; default 1s"},                            \
        {WEIR_DRAFTING_BACKOFF_MAX, "backoff-max", "D", "at most so long; default 60s"}, \
        {WEIR_DRAFTING_ATTEMPT_TIMEOUT, "attempt-timeout", "D",                          \
         "of each attempt; default none"},                                               \
        {WEIR_DRAFTING_RECLAIMS, "reclaims", "N",                                        \
         "leases that may be lost; default 100"},                                        \
        {WEIR_DRAFTING_REPLAYS, "replays", "N",                                          \
         "by an operator; up to 1000, default 10"},                                      \
        {WEIR_DRAFTING_CAPABILITY, "capability", "C",                                    \
         "that its worker must have; may be repeated"},                                  \
        {WEIR_DRAFTING_TAG, "tag", "KEY=VALUE",                                          \
         "as in tenant.plan=gold; may be given 64 times"},                               \
        {WEIR_DRAFTING_BUDGET, "budget", "NAME",                                         \
         "not begun while it is used up; may be repeated"},                              \
    {                                                                                    \
        'n', "namespace", "NAME", "whose it is; default 'default'"                       \
    }

extern const struct weir_command_option weir_drafting_options[];
extern const size_t weir_drafting_option_count;

struct weir_drafting {
    struct weir_execution_draft draft; /* without its input */
    struct weir_execution_policy policy;
    bool backoff_max_given;
    struct weir_execution_id id;
    const char *capabilities[WEIR_CAPABILITIES_MAX];
    struct weir_tag tags[WEIR_TAGS_MAX];
    const char *budgets[WEIR_BUDGETS_MAX];
    const char *input; /* as it was given; NULL: none */
};

void weir_drafting_init(struct weir_drafting *self);

/* One option of those above but for the tag, or WEIR_DRAFTING_ID. The exit code;
 * WEIR_EXIT_MISUSE, without a word, also for an id that is none of them. */
WEIR_CHECKED int weir_drafting_take(struct weir_drafting *self,
                                    const struct weir_command *command, int id,
                                    const char *value);

/* "tenant.plan=gold", which is cut in two at its '='. The exit code. */
WEIR_CHECKED int weir_drafting_add_tag(struct weir_drafting *self,
                                       const struct weir_command *command, char *value);

/* All is said: lane and kind are there, and what was said fits together. The exit code.
 * `partitions`: 0 is the default. */
WEIR_CHECKED int weir_drafting_finish(struct weir_drafting *self,
                                      const struct weir_command *command,
                                      uint32_t partitions);

#endif
