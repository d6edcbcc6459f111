/*
 * interleaving.c - see interleaving.h.
 *
 * One thread for each strand; a lock and a condition let one of them run at a time.
 * Whether a strand that does not come back waits for a lock is asked of
 * pg_blocking_pids(); one that waits is looked at again after every turn, until it is
 * ready or still found waiting.
 */
#include "kit/db/interleaving.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/assert.h"
#include "base/random.h"
#include "kit/choice.h"
#include "kit/db/engines.h"
#include "kit/test.h"

enum { LOOK_NS = 1000000, LOOK_NS_MAX = 32000000, STUCK_MS = 60000 };

struct interleaving {
    struct interleaved_session *interleaved_sessions;
    size_t count;
    PGconn *monitor;
    pthread_mutex_t lock; /* guards the phases */
    pthread_cond_t moved; /* a strand has come to the end of its step */
};

/* ---- in the strand ----------------------------------------------------------------- */

static void enter_phase(struct interleaved_session *self, int phase)
{
    self->phase = phase;
    pthread_cond_signal(
        phase == INTERLEAVED_SESSION_RUNNING ? &self->go : &self->interleaving->moved);
}

void interleaved_session_step(struct interleaved_session *self)
{
    pthread_mutex_lock(&self->interleaving->lock);
    enter_phase(self, INTERLEAVED_SESSION_READY);
    while (self->phase == INTERLEAVED_SESSION_READY)
        pthread_cond_wait(&self->go, &self->interleaving->lock);
    pthread_mutex_unlock(&self->interleaving->lock);
}

static void *run_interleaved_session(void *argument)
{
    struct interleaved_session *self = argument;

    interleaved_session_step(self);
    self->part->body(self);
    pthread_mutex_lock(&self->interleaving->lock);
    enter_phase(self, INTERLEAVED_SESSION_ENDED);
    pthread_mutex_unlock(&self->interleaving->lock);
    return NULL;
}

static void step_at_point(void *argument)
{
    interleaved_session_step(argument);
}

void interleaved_session_arm(struct interleaved_session *self,
                             struct weir_fault_points *points, const char *name)
{
    struct weir_fault_point *point;

    weir_fault_points_arm_call(points, name, 1, step_at_point, self);
    point = &points->armed[points->armed_count - 1];
    point->once = false; /* every pass */
}

/* ---- in the test ------------------------------------------------------------------- */

/* Give it a moment to come to the end of its step. */
static int phase_soon(struct interleaving *self,
                      struct interleaved_session *interleaved_session, int64_t moment_ns)
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
    while (interleaved_session->phase == INTERLEAVED_SESSION_RUNNING &&
           pthread_cond_timedwait(&self->moved, &self->lock, &until) != ETIMEDOUT)
        continue;
    phase = interleaved_session->phase;
    pthread_mutex_unlock(&self->lock);
    return phase;
}

static bool is_waiting(struct interleaving *self,
                       const struct interleaved_session *interleaved_session)
{
    char text[128];
    PGresult *result;
    bool waits;

    (void)snprintf(text, sizeof text, "SELECT cardinality(pg_blocking_pids(%d)) > 0",
                   interleaved_session->backend);
    result = PQexec(self->monitor, text);
    if (PQresultStatus(result) != PGRES_TUPLES_OK)
        weir_test_fail(__FILE__, __LINE__, "%s", PQerrorMessage(self->monitor));
    waits = PQgetvalue(result, 0, 0)[0] == 't';
    PQclear(result);
    return waits;
}

/* Until it is at the end of its step, or waits for somebody; which is asked ever more
 * seldom, since the server is what a slow step is waiting for. One that waited is asked
 * about at once: whoever gives a lock back takes the next one out of its queue, and
 * answers after that. */
static void settle(struct interleaving *self,
                   struct interleaved_session *interleaved_session)
{
    int64_t deadline = fixture_deadline();
    int64_t moment_ns = LOOK_NS;

    if (interleaved_session->waits &&
        phase_soon(self, interleaved_session, 0) == INTERLEAVED_SESSION_RUNNING &&
        is_waiting(self, interleaved_session))
        return;
    interleaved_session->waits = false;
    while (phase_soon(self, interleaved_session, moment_ns) ==
               INTERLEAVED_SESSION_RUNNING &&
           !interleaved_session->waits) {
        interleaved_session->waits = is_waiting(self, interleaved_session);
        if (moment_ns < LOOK_NS_MAX)
            moment_ns *= 2;
        if (fixture_deadline() - deadline > STUCK_MS)
            weir_test_fail(__FILE__, __LINE__, "a step neither ends nor waits");
    }
}

static void settle_all(struct interleaving *self)
{
    for (size_t i = 0; i < self->count; i++)
        settle(self, &self->interleaved_sessions[i]);
}

/* One step, if it is ready for one. */
static bool give_turn(struct interleaving *self,
                      struct interleaved_session *interleaved_session)
{
    bool ready;

    pthread_mutex_lock(&self->lock);
    ready = interleaved_session->phase == INTERLEAVED_SESSION_READY;
    if (ready)
        enter_phase(interleaved_session, INTERLEAVED_SESSION_RUNNING);
    pthread_mutex_unlock(&self->lock);
    if (ready)
        settle_all(self);
    return ready;
}

static bool all_ended(struct interleaving *self)
{
    bool ended = true;

    pthread_mutex_lock(&self->lock);
    for (size_t i = 0; i < self->count; i++)
        ended = ended && self->interleaved_sessions[i].phase == INTERLEAVED_SESSION_ENDED;
    pthread_mutex_unlock(&self->lock);
    return ended;
}

/* True when somebody could move. */
static bool give_turns(struct interleaving *self)
{
    bool moved = false;

    for (size_t i = 0; i < self->count; i++)
        moved = give_turn(self, &self->interleaved_sessions[i]) || moved;
    return moved;
}

static void finish(struct interleaving *self)
{
    while (!all_ended(self)) {
        if (give_turns(self))
            continue;
        settle_all(self); /* one that waited may have come through meanwhile */
        wait_until(all_ended(self) || give_turns(self));
    }
}

void interleaving_run(struct interleaved_session *interleaved_sessions, size_t count,
                      PGconn *monitor, const uint8_t *order, size_t turns)
{
    struct interleaving interleaving = {.interleaved_sessions = interleaved_sessions,
                                        .count = count,
                                        .monitor = monitor,
                                        .lock = PTHREAD_MUTEX_INITIALIZER,
                                        .moved = PTHREAD_COND_INITIALIZER};

    WEIR_ASSERT(count <= INTERLEAVING_INTERLEAVED_SESSIONS_MAX);
    for (size_t i = 0; i < count; i++) {
        interleaved_sessions[i].interleaving = &interleaving;
        interleaved_sessions[i].phase = INTERLEAVED_SESSION_RUNNING;
        interleaved_sessions[i].waits = false;
        pthread_cond_init(&interleaved_sessions[i].go, NULL);
        check_int(pthread_create(&interleaved_sessions[i].thread, NULL,
                                 run_interleaved_session, &interleaved_sessions[i]),
                  0);
    }
    settle_all(&interleaving);
    for (size_t i = 0; i < turns; i++)
        (void)give_turn(&interleaving, &interleaved_sessions[order[i]]);
    finish(&interleaving);
    for (size_t i = 0; i < count; i++) {
        pthread_join(interleaved_sessions[i].thread, NULL);
        pthread_cond_destroy(&interleaved_sessions[i].go);
    }
}

/* ---- orders ------------------------------------------------------------------------ */

/* All turns of the first strand, then all of the second, ... */
static size_t first_order(const struct interleaved_session *interleaved_sessions,
                          size_t count, uint8_t *order)
{
    size_t turns = 0;

    for (size_t i = 0; i < count; i++)
        for (size_t n = 0; n < interleaved_sessions[i].part->steps; n++) {
            WEIR_ASSERT(turns < INTERLEAVING_ORDER_MAX);
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

static bool commute(const struct interleaving_touch *a,
                    const struct interleaving_touch *b)
{
    unsigned of_a = a->reads | a->adds | a->changes;
    unsigned of_b = b->reads | b->adds | b->changes;

    return ((a->changes & of_b) | (b->changes & of_a) | (a->reads & b->adds) |
            (b->reads & a->adds)) == 0;
}

/*
 * Of the orders that are the same, the first by the alphabet is the one in which no
 * step can go back, past steps it commutes with, to before one of a later strand.
 */
static bool is_first_of_its_kind(const struct interleaved_session *interleaved_sessions,
                                 const uint8_t *order, size_t turns)
{
    const struct interleaving_touch *touches[INTERLEAVING_ORDER_MAX];
    size_t done[INTERLEAVING_INTERLEAVED_SESSIONS_MAX] = {0};

    for (size_t i = 0; i < turns; i++) {
        touches[i] = &interleaved_sessions[order[i]].part->touches[done[order[i]]++];
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

static size_t run_orders(const struct interleaved_session *interleaved_sessions,
                         size_t count, enum orders which, interleaving_fn run,
                         void *state)
{
    uint8_t order[INTERLEAVING_ORDER_MAX];
    size_t turns = first_order(interleaved_sessions, count, order);
    size_t made = 0;
    bool more = true;

    do {
        if (which == EVERY_KIND &&
            !is_first_of_its_kind(interleaved_sessions, order, turns))
            continue;
        more = run(state, order, turns);
        made++;
    } while (more && next_order(order, turns));
    return made;
}

size_t interleaving_all(const struct interleaved_session *interleaved_sessions,
                        size_t count, interleaving_fn run, void *state)
{
    return run_orders(interleaved_sessions, count,
                      choice_is_long() ? EVERY_ORDER : EVERY_KIND, run, state);
}

size_t interleaving_some(const struct interleaved_session *interleaved_sessions,
                         size_t count, size_t samples, uint64_t seed, interleaving_fn run,
                         void *state)
{
    uint8_t order[INTERLEAVING_ORDER_MAX];
    size_t turns = first_order(interleaved_sessions, count, order);
    struct weir_random random;
    bool more = true;
    size_t n = 0;

    if (choice_is_long())
        return run_orders(interleaved_sessions, count, EVERY_KIND, run, state);
    weir_random_init(&random, seed);
    for (; n < samples && more; n++) {
        for (size_t i = turns - 1; i > 0; i--)
            swap(order, i, weir_random_below(&random, (uint32_t)i + 1));
        more = run(state, order, turns);
    }
    return n;
}

void interleaving_print(const uint8_t *order, size_t turns,
                        char out[INTERLEAVING_ORDER_MAX + 1])
{
    for (size_t i = 0; i < turns; i++)
        out[i] = (char)('0' + order[i]);
    out[turns] = '\0';
}
