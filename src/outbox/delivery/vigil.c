/*
 * vigil.c - see vigil.h.
 */
#include "outbox/delivery/vigil.h"

/* Cuts are 20 ms apart at least: some fifty transactions a second make every look find something. */
#define BUSY_NS WEIR_MILLISECONDS(50)

#define LOOK_NS WEIR_MILLISECONDS(3)
#define WAIT_LIMIT_NS WEIR_MILLISECONDS(50)
#define SAY_AGAIN_NS WEIR_SECONDS(2)

/* After watching: look again after so long, then twice as long, until it is a second. */
#define NAP_NS WEIR_MILLISECONDS(20)
#define NAP_MAX_NS WEIR_SECONDS(1)

enum weir_vigil_word weir_vigil_found(struct weir_vigil *self, int64_t now_ns)
{
    bool due;

    self->missed_ns = 0;
    if (self->busy_ns == 0)
        self->busy_ns = now_ns;
    due = self->watching ? now_ns - self->said_ns >= SAY_AGAIN_NS
                         : now_ns - self->busy_ns >= BUSY_NS;
    return due ? WEIR_VIGIL_WATCHING : WEIR_VIGIL_NOTHING;
}

enum weir_vigil_word weir_vigil_missed(struct weir_vigil *self, int64_t now_ns)
{
    self->busy_ns = 0;
    if (!self->spoken)
        return WEIR_VIGIL_ASLEEP;
    if (!self->watching)
        return WEIR_VIGIL_NOTHING;
    if (self->missed_ns == 0)
        self->missed_ns = now_ns;
    return now_ns - self->missed_ns >= WAIT_LIMIT_NS ? WEIR_VIGIL_ASLEEP
                                                     : WEIR_VIGIL_NOTHING;
}

void weir_vigil_said(struct weir_vigil *self, enum weir_vigil_word word, int64_t now_ns)
{
    if (word == WEIR_VIGIL_NOTHING)
        return;
    self->spoken = true;
    self->watching = word == WEIR_VIGIL_WATCHING;
    self->said_ns = now_ns;
    self->missed_ns = 0;
    self->nap_ns = self->watching ? 0 : NAP_NS;
}

int64_t weir_vigil_rest(struct weir_vigil *self)
{
    int64_t nap_ns = self->nap_ns;

    if (self->watching)
        return LOOK_NS;
    self->nap_ns = nap_ns * 2 > NAP_MAX_NS ? 0 : nap_ns * 2;
    return nap_ns;
}
