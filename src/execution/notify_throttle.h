/*
 * notify_throttle.h - what other processes are notified of, and when it is not needed.
 *
 * On SQLite the file tells of every commit. On PostgreSQL a transaction sends NOTIFY,
 * which makes all commits of a cluster queue up. So it is sent only for two kinds of
 * news, and sparingly.
 *
 * Something can be claimed: if a claim waits for work. A waiting claim says so in
 * a sequence, which all sessions see at once, also inside transactions. What was said
 * counts for WEIR_NOTIFY_THROTTLE_FRESH_US, and is said again while it holds.
 *
 *   waits:   nothing found -> say() -> look once more -> sleep
 *   commits: write rows -> tell() -> commit
 *
 * A transaction that asked before the first one said it, and commits after its look,
 * has not notified; the claim then finds it by polling, a second later.
 *
 * A time was set that is due soon: for supervisors, twice a second at most for each
 * kind of time. A supervisor that was notified of one kind looks often for twice as long,
 * so transactions that set the next ones need not notify, and still have time to commit:
 *
 *   a process      sent --- silent, WEIR_SILENCE_NS --- sent ...
 *   a supervisor     '- attentive, WEIR_ATTENTION_NS ------------- asleep
 *
 * Threads  Any thread; a connection belongs to its holder.
 */
#ifndef WEIR_EXECUTION_NOTIFY_THROTTLE_H
#define WEIR_EXECUTION_NOTIFY_THROTTLE_H

#include <stdatomic.h>

#include "db/connection.h"
#include "execution/commit_batch.h"
#include "execution/store/store.h"
#include "weir/time.h"

#define WEIR_NOTIFY_THROTTLE_FRESH_US 30000000

#define WEIR_SILENCE_NS WEIR_MILLISECONDS(500)
#define WEIR_ATTENTION_NS (2 * WEIR_SILENCE_NS)

enum { WEIR_EXECUTION_CHANNEL_SIZE = 49 };

struct weir_notify_throttle {
    char channel[WEIR_EXECUTION_CHANNEL_SIZE];
    bool mute;                /* never NOTIFY */
    uint64_t teller;          /* a name for this engine of this process; not 0 */
    _Atomic int64_t spoke_ns; /* when this process said it last; INT64_MIN: never */
    _Atomic int64_t
        told_ns[WEIR_DUE_KINDS]; /* when it last announced such a time; the same */
};

/* What is announced. */
struct weir_announcement {
    bool ready;      /* something can be claimed */
    uint32_t kinds;  /* times that are due soon: 1 << kind of each */
    uint64_t teller; /* the process that knows anyway and need not listen; 0: none */
};

/* "{p}_flow", of the database's prefix. */
void weir_notify_throttle_init(struct weir_notify_throttle *self, const char *prefix,
                               bool mute);

/* Say that a claim waits, unless this process has said so lately: *said is then false.
 * Outside of a transaction. */
WEIR_CHECKED enum weir_status
weir_notify_throttle_say_waiting(struct weir_notify_throttle *self,
                                 struct weir_connection *connection, bool *said,
                                 struct weir_error *error);

/* Of these kinds, those that have not been announced within WEIR_SILENCE_NS. */
uint32_t weir_notify_throttle_due(const struct weir_notify_throttle *self, uint32_t kinds,
                                  int64_t now_ns);

/* When the transaction commits, others hear of it. Nothing to do on SQLite. */
void weir_notify_throttle_notify(struct weir_notify_throttle *self,
                                 struct weir_connection *connection,
                                 const struct weir_announcement *what,
                                 struct weir_commit_batch *commit_batch);

/* After the commit: these kinds have been announced, so there is silence for a while. */
void weir_notify_throttle_note_sent(struct weir_notify_throttle *self, uint32_t kinds,
                                    int64_t now_ns);

/* What others have announced, from the text of a notification; false: it says something
 * else. */
bool weir_announcement_read(const char *text, struct weir_announcement *out);

#endif
