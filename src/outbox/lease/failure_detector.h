/*
 * failure_detector.h - this process among the others: what it is known by, and what it
 * notices of them.
 *
 *              enter                      is_lost
 *   by lease ---------> by lock, session ---------> abandon: another number, by lease
 *      ^  |                                              |
 *      |  '--- it cannot be had: tried again             |
 *      '-------------------------------------------------'
 *
 * While others are there it looks at them, several times a second if it has a session
 * (liveness.h): which process has died, whether one has joined or left, and what an
 * operator should know: a wrong clock, a name used twice, an older library. Each such
 * finding is in the log once. A single process makes no such query.
 *
 * After a session was lost, perhaps because the database has restarted, no process
 * is declared dead for two seconds from the next one on: the others may be reconnecting
 * too.
 *
 * Threads  The lease keeper's.
 */
#ifndef WEIR_OUTBOX_LEASE_FAILURE_DETECTOR_H
#define WEIR_OUTBOX_LEASE_FAILURE_DETECTOR_H

#include "outbox/lease/liveness.h"

struct weir_outbox;

enum { WEIR_FAILURE_DETECTOR_TOLD_MAX = 32, WEIR_FAILURE_DETECTOR_DEAD_MAX = 16 };

enum weir_failure_detector_finding {
    WEIR_FOUND_NAME_TWICE,
    WEIR_FOUND_OLDER_LIBRARY,
    WEIR_FOUND_CLOCK_AHEAD,
    WEIR_FOUND_OWN_CLOCK
};

struct weir_failure_detector {
    struct weir_outbox *outbox;     /* borrowed */
    struct weir_liveness *liveness; /* owned; NULL: known by our lease */
    bool possible;                  /* there can be a session */
    bool said;                      /* that there is none, in the log */
    bool lost_before;               /* a session was */
    int64_t began_ns;
    int64_t enter_ns; /* when to try to get a session again */
    int64_t judge_ns; /* no process is declared dead before */
    int64_t look_ns;  /* when to look at the others; WEIR_FOREVER: there are none */
    size_t peers;     /* at the last look */
    int64_t clock_off_us;

    struct {
        int64_t number;
        enum weir_failure_detector_finding finding;
    } told[WEIR_FAILURE_DETECTOR_TOLD_MAX]; /* a ring: the oldest is forgotten */
    size_t told_count;
};

/* What a look has found. */
struct weir_peer_changes {
    int64_t
        dead[WEIR_FAILURE_DETECTOR_DEAD_MAX]; /* more of them are found by the next one */
    size_t dead_count;
    bool changed; /* a process has joined or left since the last look */
};

void weir_failure_detector_init(struct weir_failure_detector *self,
                                struct weir_outbox *outbox);
void weir_failure_detector_fini(struct weir_failure_detector *self);

/* Get a session, if there is none and it is time to try. */
void weir_failure_detector_open_session(struct weir_failure_detector *self);

/* Is it seen from this connection, or of any use when there is none? See liveness.h. */
WEIR_CHECKED enum weir_status
weir_failure_detector_confirm(struct weir_failure_detector *self,
                              struct weir_connection *connection,
                              struct weir_error *error);
void weir_failure_detector_probe(struct weir_failure_detector *self,
                                 int64_t wait_limit_ns);

/* There was a session, and it is gone, or of no use. Without a round trip. */
bool weir_failure_detector_is_lost(struct weir_failure_detector *self);

/* Give it up, and the number with it. Returns that number. */
int64_t weir_failure_detector_abandon_session(struct weir_failure_detector *self);

/* What to send a heartbeat with. */
void weir_failure_detector_describe(const struct weir_failure_detector *self,
                                    struct weir_process *out);

/* A heartbeat was answered: our wall clock before and after it, and the database's. */
void weir_failure_detector_note_clock(struct weir_failure_detector *self,
                                      int64_t before_us, int64_t after_us,
                                      int64_t database_us);

/* Are there other processes? That decides about looking. */
void weir_failure_detector_note_others(struct weir_failure_detector *self, bool alone);

/* Is this version of the library older than ours? One that says nothing is. */
bool weir_failure_detector_is_older(struct weir_str library);

/* Look at the others, if it is time. */
WEIR_CHECKED enum weir_status
weir_failure_detector_poll(struct weir_failure_detector *self,
                           struct weir_connection *connection,
                           struct weir_peer_changes *out, struct weir_error *error);

/* When there is something to do next. */
int64_t weir_failure_detector_next(const struct weir_failure_detector *self);

#endif
