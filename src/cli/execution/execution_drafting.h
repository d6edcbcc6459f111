/*
 * execution_drafting.h - an execution that is made of words: the options of `weir
 * submit` and of `weir flow add`, and the fields of its JSON.
 *
 *   init -> options -> finish -> draft
 *
 * A mistake is reported here.
 *
 * Memory   Texts are borrowed; the draft points into the struct, which stays where it is.
 */
#ifndef WEIR_CLI_EXECUTION_EXECUTION_DRAFTING_H
#define WEIR_CLI_EXECUTION_EXECUTION_DRAFTING_H

#include "cli/command.h"
#include "cli/execution/execution_words.h"

struct weir_drafting {
    struct weir_execution_draft draft; /* without its input */
    struct weir_execution_policy policy;
    struct weir_execution_id id;
    const char *capabilities[WEIR_CAPABILITIES_MAX];
    struct weir_tag tags[WEIR_TAGS_MAX];
    const char *budgets[WEIR_BUDGETS_MAX];
    const char *input; /* as it was given; NULL: none */
    uint32_t given;    /* options: enum weir_drafting_given */
};

enum weir_drafting_given {
    WEIR_DRAFTING_ANY = 1,
    WEIR_DRAFTING_BACKOFF_MAX = 2,
    WEIR_DRAFTING_ID = 4,
};

/* Rows for a struct whose member `drafting` is one of these. */
#define WEIR_DRAFTING_OPTION_(T, id_, name_, argument_, summary_, ...)                   \
    WEIR_OPTION(id_, name_, argument_, summary_, __VA_ARGS__,                            \
                WEIR_ALSO_BITS(T, drafting.given, WEIR_DRAFTING_ANY))
#define WEIR_DRAFTING_MS_(T, m, min_)                                                    \
    WEIR_AS_MS(T, drafting.m, min_, WEIR_EXECUTION_DURATION_MS_MAX)

#define WEIR_DRAFTING_OPTIONS(T)                                                         \
    WEIR_DRAFTING_OPTION_(T, 'l', "lane", "LANE", "the line it waits in; needed",        \
                          WEIR_AS_TEXT(T, drafting.draft.lane)),                         \
        WEIR_DRAFTING_OPTION_(T, 'k', "kind", "KIND",                                    \
                              "what is to be done, for its worker; needed",              \
                              WEIR_AS_TEXT(T, drafting.draft.kind)),                     \
        WEIR_DRAFTING_OPTION_(T, 'i', "input", "INPUT",                                  \
                              "for its worker: a text, @FILE, or - for stdin",           \
                              WEIR_AS_TEXT(T, drafting.input)),                          \
        WEIR_DRAFTING_OPTION_(T, 'K', "key", "KEY",                                      \
                              "within 24 h the same key is the same execution",          \
                              WEIR_AS_TEXT(T, drafting.draft.idempotency_key)),          \
        WEIR_DRAFTING_OPTION_(                                                           \
            T, 'p', "priority", "N", "0 to 9000, larger first; default 0",               \
            WEIR_AS_NUMBER(T, drafting.draft.priority, 0, WEIR_PRIORITY_MAX)),           \
        WEIR_DRAFTING_OPTION_(T, 0, "delay", "D", "not before so long from now",         \
                              WEIR_DRAFTING_MS_(T, draft.delay_ms, 0)),                  \
        WEIR_DRAFTING_OPTION_(T, 0, "deadline", "D", "over by then, whatever happens",   \
                              WEIR_DRAFTING_MS_(T, draft.deadline_ms, 1)),               \
        WEIR_DRAFTING_OPTION_(                                                           \
            T, 'r', "retries", "N", "after the first attempt; default 0",                \
            WEIR_AS_NUMBER(T, drafting.policy.retries_max, 0, WEIR_RETRIES_MAX_MAX)),    \
        WEIR_DRAFTING_OPTION_(T, 0, "backoff", "D",                                      \
                              "before the first retry, then doubled; default 1s",        \
                              WEIR_DRAFTING_MS_(T, policy.backoff_initial_ms, 0)),       \
        WEIR_OPTION(0, "backoff-max", "D", "at most so long; default 60s",               \
                    WEIR_DRAFTING_MS_(T, policy.backoff_max_ms, 0),                      \
                    WEIR_ALSO_BITS(T, drafting.given,                                    \
                                   WEIR_DRAFTING_ANY | WEIR_DRAFTING_BACKOFF_MAX)),      \
        WEIR_DRAFTING_OPTION_(T, 0, "attempt-timeout", "D",                              \
                              "of each attempt; default none",                           \
                              WEIR_DRAFTING_MS_(T, policy.attempt_timeout_ms, 1)),       \
        WEIR_DRAFTING_OPTION_(                                                           \
            T, 0, "reclaims", "N", "leases that may be lost; default 100",               \
            WEIR_AS_NUMBER(T, drafting.policy.reclaims_max, 0, WEIR_RECLAIMS_MAX_MAX)),  \
        WEIR_DRAFTING_OPTION_(                                                           \
            T, 0, "replays", "N", "by an operator; up to 1000, default 10",              \
            WEIR_AS_NUMBER(T, drafting.policy.replays_max, 0, WEIR_REPLAYS_MAX_MAX)),    \
        WEIR_DRAFTING_OPTION_(                                                           \
            T, 0, "capability", "C", "that its worker must have; may be repeated",       \
            WEIR_AS_TEXT(T, drafting.capabilities[0]),                                   \
            WEIR_IN_LIST(T, drafting.capabilities, drafting.draft.capability_count,      \
                         "capabilities")),                                               \
        WEIR_DRAFTING_OPTION_(                                                           \
            T, 0, "tag", "KEY=VALUE", "as in tenant.plan=gold; may be given 64 times",   \
            WEIR_AS_TAG(T, drafting.tags[0].key, drafting.tags[0].value),                \
            WEIR_IN_LIST(T, drafting.tags, drafting.draft.tag_count, "tags")),           \
        WEIR_DRAFTING_OPTION_(                                                           \
            T, 0, "budget", "NAME", "not begun while it is used up; may be repeated",    \
            WEIR_AS_TEXT(T, drafting.budgets[0]),                                        \
            WEIR_IN_LIST(T, drafting.budgets, drafting.draft.budget_count, "budgets")),  \
        WEIR_DRAFTING_OPTION_(T, 'n', "namespace", "NAME",                               \
                              "of the execution; default 'default'",                     \
                              WEIR_AS_TEXT(T, drafting.draft.name_space))

#define WEIR_DRAFTING_ID_OPTION(T, summary_)                                             \
    WEIR_OPTION(0, "id", "ID", summary_, WEIR_AS_EXECUTION_ID(T, drafting.id),           \
                WEIR_ALSO_BITS(T, drafting.given, WEIR_DRAFTING_ANY | WEIR_DRAFTING_ID))

void weir_drafting_init(struct weir_drafting *self);

/* All is said: lane and kind are there, and what was said fits together. The exit code.
 * `partitions`: 0 is the default. */
WEIR_CHECKED int weir_drafting_finish(struct weir_drafting *self,
                                      const struct weir_command *command,
                                      uint32_t partitions);

#endif
