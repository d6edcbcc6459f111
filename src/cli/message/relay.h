/*
 * relay.h - the two halves of `weir relay`: what the options asked for, and looking
 * after it.
 *
 *   relay.c         options, opening, stopping, the last words
 *   relay_watch.c   while it runs: what fails, how far it is, whether anything is left
 */
#ifndef WEIR_CLI_MESSAGE_RELAY_H
#define WEIR_CLI_MESSAGE_RELAY_H

#include "cli/progress.h"
#include "cli/session.h"
#include "cli/trouble.h"
#include "weir/relay.h"

enum { WEIR_RELAY_QUEUES_MAX = 64 };

enum weir_relay_ending {
    WEIR_RELAY_RUNS,
    WEIR_RELAY_DRAINED,  /* nothing was left, and --drain */
    WEIR_RELAY_STOPPED,  /* by a signal */
    WEIR_RELAY_GIVEN_UP, /* it will never work again */
};

/* One queue; they all go to the same sink. */
struct weir_relay_line {
    const char *queue; /* borrowed from the command line */
    struct weir_relay *relay;
    struct weir_trouble trouble;
};

struct weir_relay_plan {
    struct weir_session session;
    struct weir_relay_options options; /* of each line, but for its queue */
    struct weir_relay_line lines[WEIR_RELAY_QUEUES_MAX];
    size_t count;
    uint32_t handlers; /* 0: the library's default */
    int64_t grace_ns;
    bool drain;

    bool to_standard_output; /* then nothing else is printed there */
    struct weir_progress progress;
    struct weir_trouble database;
    bool ended_waiting;     /* by a signal, before the database was there */
    int64_t ask_ns;         /* when to ask the database again */
    int64_t count_ns;       /* when to count again what waits */
    int64_t waiting_before; /* what waited in the beginning; 0: not known */
    int64_t waiting;
    enum weir_relay_ending ending;
    char error[WEIR_ERROR_TEXT_SIZE]; /* of WEIR_RELAY_GIVEN_UP */
};

/* The database is away before it was ever there: tells it once and waits a while.
 * Returns false, and notes it in the plan, when a signal has ended the waiting. `state`
 * is the plan. */
bool weir_relay_wait_for_database(void *state, const struct weir_error *error);

/* Look after it until it ends; the plan says how it did. Telling is done here, but for
 * the end. */
void weir_relay_watch(struct weir_relay_plan *plan);

/* All lines together, by this process. */
int64_t weir_relay_plan_delivered(const struct weir_relay_plan *plan);

#endif
