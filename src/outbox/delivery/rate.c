/*
 * rate.c - see rate.h.
 */
#include "outbox/delivery/rate.h"

double weir_rate_look(struct weir_rate *self, uint64_t total, int64_t now_ns)
{
    struct weir_rate_look look = {now_ns, total};

    if (!self->begun)
        *self = (struct weir_rate){.begun = true, .older = look, .newer = look};
    if (now_ns - self->newer.at_ns >= WEIR_RATE_WINDOW_NS) {
        self->older = self->newer;
        self->newer = look;
    }
    if (now_ns <= self->older.at_ns)
        return 0;
    return (double)(total - self->older.total) * 1e9 /
           (double)(now_ns - self->older.at_ns);
}
