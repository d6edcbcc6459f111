/*
 * notify_mode.h - does a reader poll the log, or wait for notifications?
 *
 * Notifications cost the producers: one makes all commits of a cluster queue
 * up. So a reader that finds something at every look announces that it watches, and looks
 * every millisecond; producers do not notify then. The announcement expires by
 * itself (WEIR_NOTIFY_MODE_FRESH_US): it is repeated while the reader watches, and a
 * reader that dies suppresses notifications only for a short time. When there was nothing
 * for a while it says that it sleeps.
 *
 *             every look finds something, for 50 ms
 *   asleep ----------------------------------------> watching --+ says so again every 2 s
 *      ^                                                |  ^----+
 *      +------- nothing for 50 ms; a few more looks ----+
 *
 * A transaction that wrote while a reader watched, and commits after the last look,
 * has not notified. Nor have those that wrote soon after one that has (notify_limit.h).
 * So for a second after watching, and after each find, the reader looks a few more
 * times, at growing intervals.
 *
 * Threads  The reader's.
 */
#ifndef WEIR_OUTBOX_DELIVERY_NOTIFY_MODE_H
#define WEIR_OUTBOX_DELIVERY_NOTIFY_MODE_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/time.h"

/* "I watch" counts for so long, as far as the database's clock can be trusted. */
#define WEIR_NOTIFY_MODE_FRESH_US 5000000

/* All zeros is one that has said nothing yet: when it finds nothing it says that it
 * sleeps, whatever one that is gone may have said. */
struct weir_notify_mode {
    bool spoken;
    bool watching;
    int64_t said_ns;   /* that we watch, last */
    int64_t busy_ns;   /* finds since then without a miss; 0: none */
    int64_t missed_ns; /* nothing since then, while we watch; 0: the last look found
                          something */
    int64_t nap_ns;    /* until the next look after watching or a find; 0: none is due */
};

/* What the producers should hear now. */
enum weir_notify_mode_change {
    WEIR_NOTIFY_MODE_UNCHANGED,
    WEIR_NOTIFY_MODE_POLLING,
    WEIR_NOTIFY_MODE_NOTIFIED
};

/* A look found something, or nothing. Each answers what to say. */
enum weir_notify_mode_change weir_notify_mode_found(struct weir_notify_mode *self,
                                                    int64_t now_ns);
enum weir_notify_mode_change weir_notify_mode_missed(struct weir_notify_mode *self,
                                                     int64_t now_ns);

/* It was said. After WEIR_NOTIFY_MODE_NOTIFIED the reader looks once more. */
void weir_notify_mode_published(struct weir_notify_mode *self,
                                enum weir_notify_mode_change word, int64_t now_ns);

/* Nothing is there: look again after so long. 0: at the next notification. */
int64_t weir_notify_mode_poll_interval(struct weir_notify_mode *self);

#endif
