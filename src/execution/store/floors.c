/*
 * floors.c - see floors.h.
 *
 *   I1  floors are in order, and no two are of the same lane, set and priority
 *   I2  but for a walk of everything, a floor never falls
 *   I3  no floor is above the clock minus LATE_US, as it was read when the floor was
 *       learnt
 */
#include "execution/store/floors.h"

#include <string.h>

#include "execution/rules.h"

#define NEXT_NS WEIR_MILLISECONDS(100)
#define SLOW_NS WEIR_MILLISECONDS(1)
#define ALL_NS_MIN WEIR_SECONDS(1)
#define QUIET_NS WEIR_SECONDS(1)

enum {
    LATE_US = 200 * 1000, /* transactions that take no longer are found at once */
    SLOW_FACTOR = 2,      /* of the fastest: the way to the server is part of it */
    ALL_SHARE = 20        /* a walk of everything takes up a twentieth of the time */
};

enum weir_status weir_floors_init(struct weir_floors *self)
{
    *self = (struct weir_floors){.fastest_ns = INT64_MAX};
    return weir_lock_init(&self->lock);
}

void weir_floors_fini(struct weir_floors *self)
{
    weir_lock_fini(&self->lock);
}

/* ---- when -------------------------------------------------------------------------- */

static bool is_slow(const struct weir_floors *self, int64_t took_ns)
{
    int64_t usual_ns = self->fastest_ns < SLOW_NS ? self->fastest_ns : SLOW_NS;

    return took_ns > SLOW_NS + SLOW_FACTOR * usual_ns;
}

void weir_floors_note(struct weir_floors *self, int64_t took_ns, int64_t now_ns)
{
    weir_lock_acquire(&self->lock);
    if (took_ns < self->fastest_ns)
        self->fastest_ns = took_ns;
    if (!self->active && now_ns >= self->quiet_ns && is_slow(self, took_ns)) {
        self->active = true;
        self->next_ns = self->all_ns = now_ns;
    }
    weir_lock_release(&self->lock);
}

bool weir_floors_are_active(struct weir_floors *self)
{
    bool active;

    weir_lock_acquire(&self->lock);
    active = self->active;
    weir_lock_release(&self->lock);
    return active;
}

bool weir_floors_are_used(struct weir_floors *self)
{
    bool used;

    weir_lock_acquire(&self->lock);
    used = self->used;
    weir_lock_release(&self->lock);
    return used;
}

/* ---- the table --------------------------------------------------------------------- */

/* Below 0: `a` comes first. */
static int compare(const struct weir_floor *a, const struct weir_floor *b)
{
    if (a->lane != b->lane)
        return a->lane < b->lane ? -1 : 1;
    if (a->capability_set != b->capability_set)
        return a->capability_set < b->capability_set ? -1 : 1;
    return a->priority == b->priority ? 0 : a->priority > b->priority ? -1 : 1;
}

/* Where it is, or would be. */
static size_t find(const struct weir_floors *self, const struct weir_floor *floor)
{
    size_t low = 0;
    size_t high = self->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (compare(&self->floors[middle], floor) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_at(const struct weir_floors *self, size_t at,
                  const struct weir_floor *floor)
{
    return at < self->count && compare(&self->floors[at], floor) == 0;
}

void weir_floors_meet(struct weir_floors *self, int64_t lane, int64_t capability_set,
                      int64_t priority)
{
    const struct weir_floor met = {lane, capability_set, priority, INT64_MIN, 0};
    size_t at;

    weir_lock_acquire(&self->lock);
    at = find(self, &met);
    if (self->active && !is_at(self, at, &met) && self->count < WEIR_FLOORS_MAX) {
        memmove(&self->floors[at + 1], &self->floors[at],
                (self->count - at) * sizeof self->floors[0]);
        self->floors[at] = met;
        self->count++;
    }
    weir_lock_release(&self->lock);
}

static bool is_among(int64_t number, const int64_t *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (numbers[i] == number)
            return true;
    }
    return false;
}

size_t weir_floors_copy(struct weir_floors *self, const int64_t *lanes, size_t lane_count,
                        const int64_t *capability_sets, size_t capability_set_count,
                        struct weir_floor *out)
{
    size_t count = 0;

    weir_lock_acquire(&self->lock);
    for (size_t i = 0; self->used && i < self->count; i++) {
        if (is_among(self->floors[i].lane, lanes, lane_count) &&
            is_among(self->floors[i].capability_set, capability_sets,
                     capability_set_count))
            out[count++] = self->floors[i];
    }
    weir_lock_release(&self->lock);
    return count;
}

/* ---- learning ---------------------------------------------------------------------- */

enum weir_floors_due weir_floors_begin(struct weir_floors *self, int64_t now_ns,
                                       struct weir_floor *out, size_t *count)
{
    enum weir_floors_due due = WEIR_FLOORS_NOTHING;

    weir_lock_acquire(&self->lock);
    if (self->active && !self->learning && self->count > 0 && now_ns >= self->next_ns)
        due = now_ns >= self->all_ns ? WEIR_FLOORS_ALL : WEIR_FLOORS_NEXT;
    *count = due == WEIR_FLOORS_NOTHING ? 0 : self->count;
    for (size_t i = 0; i < *count; i++) {
        out[i] = self->floors[i];
        if (due == WEIR_FLOORS_ALL) {
            out[i].again = INT64_MIN;
            out[i].fresh = 0;
        }
    }
    self->learning |= due != WEIR_FLOORS_NOTHING;
    weir_lock_release(&self->lock);
    return due;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void raise(int64_t *floor, int64_t to, enum weir_floors_due due)
{
    if (due == WEIR_FLOORS_ALL || to > *floor)
        *floor = to; /* I2 */
}

/* Those that were met meanwhile have no floor yet. */
static void keep(struct weir_floors *self, enum weir_floors_due due,
                 const struct weir_floor *found, int64_t clock_us)
{
    int64_t late_us = clock_us > LATE_US ? clock_us - LATE_US : 0;
    size_t at = find(self, found);

    if (!is_at(self, at, found))
        return;
    raise(&self->floors[at].again, least(found->again, WEIR_TURN_AGAIN(late_us)), due);
    raise(&self->floors[at].fresh, least(found->fresh, late_us), due);
}

void weir_floors_learnt(struct weir_floors *self, enum weir_floors_due due,
                        const struct weir_floor *found, size_t count, int64_t clock_us,
                        int64_t walked, int64_t took_ns, int64_t now_ns)
{
    weir_lock_acquire(&self->lock);
    for (size_t i = 0; i < count; i++)
        keep(self, due, &found[i], clock_us);
    self->next_ns = now_ns + NEXT_NS;
    if (due == WEIR_FLOORS_ALL) {
        self->active = self->used = walked >= WEIR_FLOORS_WALK_MIN;
        self->all_ns = now_ns + (took_ns * ALL_SHARE > ALL_NS_MIN ? took_ns * ALL_SHARE
                                                                  : ALL_NS_MIN);
    }
    if (!self->active) {
        self->count = 0;
        self->quiet_ns = now_ns + QUIET_NS;
    }
    self->learning = false;
    weir_lock_release(&self->lock);
}

void weir_floors_forget(struct weir_floors *self)
{
    weir_lock_acquire(&self->lock);
    self->learning = false;
    weir_lock_release(&self->lock);
}
