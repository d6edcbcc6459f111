/*
 * notify_mode.c - see notify_mode.h.
 */
#include "outbox/delivery/notify_mode.h"

/* So many transactions a second that every look finds something: several hundred, at the
 * pace of cuts. */
#define BUSY_NS WEIR_MILLISECONDS(50)

#define LOOK_NS WEIR_MILLISECONDS(1)
#define WAIT_LIMIT_NS WEIR_MILLISECONDS(50)
#define SAY_AGAIN_NS WEIR_SECONDS(2)

/* After watching, and after a find: look again after so long, then twice as long, until
 * it is a second. */
#define NAP_NS WEIR_MILLISECONDS(2)
#define NAP_MAX_NS WEIR_SECONDS(1)

enum weir_notify_mode_change weir_notify_mode_found(struct weir_notify_mode *self,
                                                    int64_t now_ns)
{
    bool due;

    self->missed_ns = 0;
    if (self->busy_ns == 0)
        self->busy_ns = now_ns;
    self->nap_ns = NAP_NS;
    due = self->watching ? now_ns - self->said_ns >= SAY_AGAIN_NS
                         : now_ns - self->busy_ns >= BUSY_NS;
    return due ? WEIR_NOTIFY_MODE_POLLING : WEIR_NOTIFY_MODE_UNCHANGED;
}

enum weir_notify_mode_change weir_notify_mode_missed(struct weir_notify_mode *self,
                                                     int64_t now_ns)
{
    self->busy_ns = 0;
    if (!self->spoken)
        return WEIR_NOTIFY_MODE_NOTIFIED;
    if (!self->watching)
        return WEIR_NOTIFY_MODE_UNCHANGED;
    if (self->missed_ns == 0)
        self->missed_ns = now_ns;
    return now_ns - self->missed_ns >= WAIT_LIMIT_NS ? WEIR_NOTIFY_MODE_NOTIFIED
                                                     : WEIR_NOTIFY_MODE_UNCHANGED;
}

void weir_notify_mode_published(struct weir_notify_mode *self,
                                enum weir_notify_mode_change word, int64_t now_ns)
{
    if (word == WEIR_NOTIFY_MODE_UNCHANGED)
        return;
    self->spoken = true;
    self->watching = word == WEIR_NOTIFY_MODE_POLLING;
    self->said_ns = now_ns;
    self->missed_ns = 0;
    self->nap_ns = self->watching ? 0 : NAP_NS;
}

int64_t weir_notify_mode_poll_interval(struct weir_notify_mode *self)
{
    int64_t nap_ns = self->nap_ns;

    if (self->watching)
        return LOOK_NS;
    self->nap_ns = nap_ns * 2 > NAP_MAX_NS ? 0 : nap_ns * 2;
    return nap_ns;
}
