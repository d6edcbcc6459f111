/*
 * weave.c - see weave.h.
 *
 * One thread for each strand; a lock and a condition let one of them run at a time. Whether a
 * strand that does not come back waits for a lock is asked of pg_blocking_pids(); one that waits
 * is looked at again after every turn, until it is ready or still found waiting.
 */
#include "lib/weave.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/assert.h"
#include "base/random.h"
#include "lib/engines.h"
#include "lib/test.h"

enum { LOOK_NS = 1000000, LOOK_NS_MAX = 32000000, STUCK_MS = 60000 };

struct weave {
    struct strand *strands;
    size_t count;
    PGconn *monitor;
    pthread_mutex_t lock; /* guards the phases */
    pthread_cond_t moved; /* a strand has come to the end of its step */
};

/* ---- in the strand ------------------------------------------------------------------------- */

static void enter_phase(struct strand *self, int phase)
{
    self->phase = phase;
    pthread_cond_signal(phase == STRAND_RUNNING ? &self->go : &self->weave->moved);
}

void strand_step(struct strand *self)
{
    pthread_mutex_lock(&self->weave->lock);
    enter_phase(self, STRAND_READY);
    while (self->phase == STRAND_READY)
        pthread_cond_wait(&self->go, &self->weave->lock);
    pthread_mutex_unlock(&self->weave->lock);
}

static void *run_strand(void *argument)
{
    struct strand *self = argument;

    strand_step(self);
    self->part->body(self);
    pthread_mutex_lock(&self->weave->lock);
    enter_phase(self, STRAND_ENDED);
    pthread_mutex_unlock(&self->weave->lock);
    return NULL;
}

static void step_at_point(void *argument)
{
    strand_step(argument);
}

void strand_arm(struct strand *self, struct weir_fault_points *points, const char *name)
{
    struct weir_fault_point *point;

    weir_fault_points_arm_call(points, name, 1, step_at_point, self);
    point = &points->armed[points->armed_count - 1];
    point->once = false; /* every pass */
}

/* ---- in the test --------------------------------------------------------------------------- */

/* Give it a moment to come to the end of its step. */
static int phase_soon(struct weave *self, struct strand *strand, int64_t moment_ns)
{
    struct timespec until;
    int phase;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += moment_ns;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&self->lock);
    while (strand->phase == STRAND_RUNNING &&
           pthread_cond_timedwait(&self->moved, &self->lock, &until) != ETIMEDOUT)
        continue;
    phase = strand->phase;
    pthread_mutex_unlock(&self->lock);
    return phase;
}

static bool is_waiting(struct weave *self, const struct strand *strand)
{
    char text[128];
    PGresult *result;
    bool waits;

    (void)snprintf(text, sizeof text, "SELECT cardinality(pg_blocking_pids(%d)) > 0",
                   strand->backend);
    result = PQexec(self->monitor, text);
    if (PQresultStatus(result) != PGRES_TUPLES_OK)
        weir_test_fail(__FILE__, __LINE__, "%s", PQerrorMessage(self->monitor));
    waits = PQgetvalue(result, 0, 0)[0] == 't';
    PQclear(result);
    return waits;
}

/* Until it is at the end of its step, or waits for somebody; which is asked ever more seldom, since
 * the server is what a slow step is waiting for. One that waited is asked about at once: whoever
 * gives a lock back takes the next one out of its queue, and answers after that. */
static void settle(struct weave *self, struct strand *strand)
{
    int64_t deadline = fixture_deadline();
    int64_t moment_ns = LOOK_NS;

    if (strand->waits && phase_soon(self, strand, 0) == STRAND_RUNNING &&
        is_waiting(self, strand))
        return;
    strand->waits = false;
    while (phase_soon(self, strand, moment_ns) == STRAND_RUNNING && !strand->waits) {
        strand->waits = is_waiting(self, strand);
        if (moment_ns < LOOK_NS_MAX)
            moment_ns *= 2;
        if (fixture_deadline() - deadline > STUCK_MS)
            weir_test_fail(__FILE__, __LINE__, "a step neither ends nor waits");
    }
}

static void settle_all(struct weave *self)
{
    for (size_t i = 0; i < self->count; i++)
        settle(self, &self->strands[i]);
}

/* One step, if it is ready for one. */
static bool give_turn(struct weave *self, struct strand *strand)
{
    bool ready;

    pthread_mutex_lock(&self->lock);
    ready = strand->phase == STRAND_READY;
    if (ready)
        enter_phase(strand, STRAND_RUNNING);
    pthread_mutex_unlock(&self->lock);
    if (ready)
        settle_all(self);
    return ready;
}

static bool all_ended(struct weave *self)
{
    bool ended = true;

    pthread_mutex_lock(&self->lock);
    for (size_t i = 0; i < self->count; i++)
        ended = ended && self->strands[i].phase == STRAND_ENDED;
    pthread_mutex_unlock(&self->lock);
    return ended;
}

/* True when somebody could move. */
static bool give_turns(struct weave *self)
{
    bool moved = false;

    for (size_t i = 0; i < self->count; i++)
        moved = give_turn(self, &self->strands[i]) || moved;
    return moved;
}

static void finish(struct weave *self)
{
    while (!all_ended(self)) {
        if (give_turns(self))
            continue;
        settle_all(self); /* one that waited may have come through meanwhile */
        wait_until(all_ended(self) || give_turns(self));
    }
}

void weave_run(struct strand *strands, size_t count, PGconn *monitor,
               const uint8_t *order, size_t turns)
{
    struct weave weave = {.strands = strands,
                          .count = count,
                          .monitor = monitor,
                          .lock = PTHREAD_MUTEX_INITIALIZER,
                          .moved = PTHREAD_COND_INITIALIZER};

    WEIR_ASSERT(count <= WEAVE_STRANDS_MAX);
    for (size_t i = 0; i < count; i++) {
        strands[i].weave = &weave;
        strands[i].phase = STRAND_RUNNING;
        strands[i].waits = false;
        pthread_cond_init(&strands[i].go, NULL);
        check_int(pthread_create(&strands[i].thread, NULL, run_strand, &strands[i]), 0);
    }
    settle_all(&weave);
    for (size_t i = 0; i < turns; i++)
        (void)give_turn(&weave, &strands[order[i]]);
    finish(&weave);
    for (size_t i = 0; i < count; i++) {
        pthread_join(strands[i].thread, NULL);
        pthread_cond_destroy(&strands[i].go);
    }
}

/* ---- orders -------------------------------------------------------------------------------- */

static bool want_long(void)
{
    const char *wish = getenv("WEIR_LONG");

    return wish != NULL && strcmp(wish, "1") == 0;
}

/* All turns of the first strand, then all of the second, ... */
static size_t first_order(const struct strand *strands, size_t count, uint8_t *order)
{
    size_t turns = 0;

    for (size_t i = 0; i < count; i++)
        for (size_t n = 0; n < strands[i].part->steps; n++) {
            WEIR_ASSERT(turns < WEAVE_ORDER_MAX);
            order[turns++] = (uint8_t)i;
        }
    return turns;
}

static void swap(uint8_t *order, size_t a, size_t b)
{
    uint8_t kept = order[a];

    order[a] = order[b];
    order[b] = kept;
}

/* The next one by the alphabet; false after the last. */
static bool next_order(uint8_t *order, size_t turns)
{
    size_t i = turns - 1;
    size_t j = turns - 1;

    while (i > 0 && order[i - 1] >= order[i])
        i--;
    if (i == 0)
        return false;
    while (order[j] <= order[i - 1])
        j--;
    swap(order, i - 1, j);
    for (j = turns - 1; i < j; i++, j--)
        swap(order, i, j);
    return true;
}

static bool commute(const struct weave_touch *a, const struct weave_touch *b)
{
    unsigned of_a = a->reads | a->adds | a->changes;
    unsigned of_b = b->reads | b->adds | b->changes;

    return ((a->changes & of_b) | (b->changes & of_a) | (a->reads & b->adds) |
            (b->reads & a->adds)) == 0;
}

/*
 * Of the orders that are the same, the first by the alphabet is the one in which no step can go
 * back, past steps it commutes with, to before one of a later strand.
 */
static bool is_first_of_its_kind(const struct strand *strands, const uint8_t *order,
                                 size_t turns)
{
    const struct weave_touch *touches[WEAVE_ORDER_MAX];
    size_t done[WEAVE_STRANDS_MAX] = {0};

    for (size_t i = 0; i < turns; i++) {
        touches[i] = &strands[order[i]].part->touches[done[order[i]]++];
        for (size_t j = i; j > 0 && order[j - 1] != order[i]; j--) {
            if (!commute(touches[j - 1], touches[i]))
                break;
            if (order[j - 1] > order[i])
                return false;
        }
    }
    return true;
}

enum orders { EVERY_ORDER, EVERY_KIND };

static size_t run_orders(const struct strand *strands, size_t count, enum orders which,
                         weave_fn run, void *state)
{
    uint8_t order[WEAVE_ORDER_MAX];
    size_t turns = first_order(strands, count, order);
    size_t made = 0;
    bool more = true;

    do {
        if (which == EVERY_KIND && !is_first_of_its_kind(strands, order, turns))
            continue;
        more = run(state, order, turns);
        made++;
    } while (more && next_order(order, turns));
    return made;
}

size_t weave_all(const struct strand *strands, size_t count, weave_fn run, void *state)
{
    return run_orders(strands, count, want_long() ? EVERY_ORDER : EVERY_KIND, run, state);
}

size_t weave_some(const struct strand *strands, size_t count, size_t samples,
                  uint64_t seed, weave_fn run, void *state)
{
    uint8_t order[WEAVE_ORDER_MAX];
    size_t turns = first_order(strands, count, order);
    struct weir_random random;
    bool more = true;
    size_t n = 0;

    if (want_long())
        return run_orders(strands, count, EVERY_KIND, run, state);
    weir_random_init(&random, seed);
    for (; n < samples && more; n++) {
        for (size_t i = turns - 1; i > 0; i--)
            swap(order, i, weir_random_below(&random, (uint32_t)i + 1));
        more = run(state, order, turns);
    }
    return n;
}

void weave_print(const uint8_t *order, size_t turns, char out[WEAVE_ORDER_MAX + 1])
{
    for (size_t i = 0; i < turns; i++)
        out[i] = (char)('0' + order[i]);
    out[turns] = '\0';
}
