/* Tests of ward/fiber.c. */
#include "ward/fiber.h"

#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/heap.h"
#include "base/random.h"
#include "kit/alloc_failures.h"
#include "kit/test.h"

/* A fiber that counts, pausing between its steps. */
struct walker {
    struct weir_fiber *fiber;
    uint32_t pauses_wanted;
    uint32_t steps;  /* taken since the entry was called */
    uint32_t rounds; /* how often the entry has returned */
};

static void walk(void *argument)
{
    struct walker *self = argument;

    self->steps = 1;
    for (uint32_t i = 0; i < self->pauses_wanted; i++) {
        weir_fiber_pause(self->fiber);
        self->steps++;
    }
    self->rounds++;
}

static struct weir_fiber *new_fiber(weir_fiber_fn entry, void *argument)
{
    struct weir_fiber *fiber;

    check_status(weir_fiber_create(weir_heap_system(), entry, argument, &fiber), WEIR_OK);
    return fiber;
}

WEIR_TEST(fiber, does_nothing_until_it_is_run)
{
    struct walker walker = {.pauses_wanted = 0};

    walker.fiber = new_fiber(walk, &walker);

    check_int(walker.steps, 0);
    weir_fiber_destroy(walker.fiber);
}

WEIR_TEST(fiber, runs_to_its_end_in_one_go_without_a_pause)
{
    struct walker walker = {.pauses_wanted = 0};

    walker.fiber = new_fiber(walk, &walker);

    check(!weir_fiber_run(walker.fiber));
    check_int(walker.rounds, 1);
    weir_fiber_destroy(walker.fiber);
}

WEIR_TEST(fiber, comes_back_at_each_pause_and_goes_on_from_there)
{
    struct walker walker = {.pauses_wanted = 3};

    walker.fiber = new_fiber(walk, &walker);

    for (uint32_t i = 1; i <= 3; i++) {
        check(weir_fiber_run(walker.fiber));
        check_int(walker.steps, i);
    }
    check(!weir_fiber_run(walker.fiber));
    check_int(walker.steps, 4);
    check_int(walker.rounds, 1);
    weir_fiber_destroy(walker.fiber);
}

WEIR_TEST(fiber, begins_anew_when_it_is_run_after_its_end)
{
    struct walker walker = {.pauses_wanted = 1};

    walker.fiber = new_fiber(walk, &walker);

    for (uint32_t round = 1; round <= 1000; round++) {
        check(weir_fiber_run(walker.fiber));
        check_int(walker.steps, 1);
        check(!weir_fiber_run(walker.fiber));
        check_int(walker.steps, 2);
        check_int(walker.rounds, round);
    }
    weir_fiber_destroy(walker.fiber);
}

/* The sanitizers and the kernel would complain; the walker never gets to its end. */
WEIR_TEST(fiber, may_be_destroyed_while_it_is_paused)
{
    struct weir_faulty_heap faulty;
    struct walker walker = {.pauses_wanted = 5};

    weir_faulty_heap_init(&faulty);
    check_status(weir_fiber_create(&faulty.heap, walk, &walker, &walker.fiber), WEIR_OK);
    check(weir_fiber_run(walker.fiber));
    check(weir_fiber_run(walker.fiber));

    weir_fiber_destroy(walker.fiber);

    check_int(walker.rounds, 0);
    check_int(faulty.outstanding, 0);
}

WEIR_TEST(fiber, destroying_none_is_fine)
{
    weir_fiber_destroy(NULL);
}

/* ---- many -------------------------------------------------------------------------- */

/* All are in the middle of something at once, and are run in an order that is not
 * theirs. */
WEIR_TEST(fiber, a_thousand_take_turns)
{
    enum { COUNT = 1000 };
    static struct walker walkers[COUNT];
    struct weir_random random;
    uint32_t finished = 0;

    weir_random_init(&random, 1);
    for (uint32_t i = 0; i < COUNT; i++) {
        walkers[i] = (struct walker){.pauses_wanted = 1 + i % 7};
        walkers[i].fiber = new_fiber(walk, &walkers[i]);
        check(weir_fiber_run(walkers[i].fiber));
    }

    while (finished < COUNT) {
        struct walker *walker = &walkers[weir_random_below(&random, COUNT)];

        if (walker->rounds > 0)
            continue;
        if (!weir_fiber_run(walker->fiber))
            finished++;
    }

    for (uint32_t i = 0; i < COUNT; i++) {
        check_int(walkers[i].steps, 2 + i % 7);
        check_int(walkers[i].rounds, 1);
        weir_fiber_destroy(walkers[i].fiber);
    }
}

/* ---- the stack --------------------------------------------------------------------- */

enum {
    LEVEL_SIZE = 2048,
    LEVELS = 40
}; /* under ASan a level takes about twice as much */

struct diver {
    struct weir_fiber *fiber;
    uint64_t sum;
};

/* Each level keeps its bytes over the pause at the bottom and looks at them on the way
 * up. */
static uint64_t dive(struct diver *self, uint32_t level)
{
    volatile unsigned char bytes[LEVEL_SIZE];
    uint64_t sum = 0;

    for (size_t i = 0; i < LEVEL_SIZE; i++)
        bytes[i] = (unsigned char)level;
    if (level < LEVELS)
        sum = dive(self, level + 1);
    else
        weir_fiber_pause(self->fiber);
    for (size_t i = 0; i < LEVEL_SIZE; i++)
        sum += bytes[i];
    return sum;
}

static void dive_once(void *argument)
{
    struct diver *self = argument;

    self->sum = dive(self, 1);
}

WEIR_TEST(fiber, keeps_a_deep_stack_over_a_pause)
{
    struct diver divers[2] = {{.sum = 0}, {.sum = 0}};
    uint64_t want = (uint64_t)LEVEL_SIZE * LEVELS * (LEVELS + 1) / 2;

    for (size_t i = 0; i < 2; i++)
        divers[i].fiber = new_fiber(dive_once, &divers[i]);

    for (size_t i = 0; i < 2; i++)
        check(weir_fiber_run(divers[i].fiber));
    for (size_t i = 0; i < 2; i++)
        check(!weir_fiber_run(divers[i].fiber));

    for (size_t i = 0; i < 2; i++) {
        check_int(divers[i].sum, want);
        weir_fiber_destroy(divers[i].fiber);
    }
}

/* The same stack again: what the last entry left there does not matter. */
WEIR_TEST(fiber, uses_its_stack_again_from_the_top)
{
    struct diver diver = {.sum = 0};
    uint64_t want = (uint64_t)LEVEL_SIZE * LEVELS * (LEVELS + 1) / 2;

    diver.fiber = new_fiber(dive_once, &diver);

    for (int round = 0; round < 100; round++) {
        diver.sum = 0;
        check(weir_fiber_run(diver.fiber));
        check(!weir_fiber_run(diver.fiber));
        check_int(diver.sum, want);
    }
    weir_fiber_destroy(diver.fiber);
}

/* ---- jumps within it, as a panic does ---------------------------------------------- */

struct jumper {
    struct weir_fiber *fiber;
    jmp_buf target;
    uint32_t landed;
};

__attribute__((noinline)) static void pause_and_jump(struct jumper *self)
{
    weir_fiber_pause(self->fiber);
    _longjmp(self->target, 1);
}

static void jump_back(void *argument)
{
    struct jumper *self = argument;

    if (_setjmp(self->target) == 0)
        pause_and_jump(self);
    self->landed++;
    weir_fiber_pause(self->fiber);
}

WEIR_TEST(fiber, may_jump_within_its_own_stack)
{
    struct jumper jumpers[2] = {{.landed = 0}, {.landed = 0}};

    for (size_t i = 0; i < 2; i++)
        jumpers[i].fiber = new_fiber(jump_back, &jumpers[i]);

    for (int round = 1; round <= 10; round++) {
        for (int run = 0; run < 3; run++) {
            for (size_t i = 0; i < 2; i++)
                check(weir_fiber_run(jumpers[i].fiber) == (run < 2));
        }
        check_int(jumpers[0].landed, round);
        check_int(jumpers[1].landed, round);
    }
    for (size_t i = 0; i < 2; i++)
        weir_fiber_destroy(jumpers[i].fiber);
}

/* ---- memory ------------------------------------------------------------------------ */

static enum weir_status create_run_and_destroy(const struct weir_heap *heap)
{
    struct walker walker = {.pauses_wanted = 1};
    enum weir_status status = weir_fiber_create(heap, walk, &walker, &walker.fiber);

    check((walker.fiber == NULL) == (status != WEIR_OK));
    if (status == WEIR_OK)
        check(weir_fiber_run(walker.fiber));
    weir_fiber_destroy(walker.fiber);
    return status;
}

WEIR_TEST(fiber, survives_any_failing_allocation)
{
    check_alloc_failures(create_run_and_destroy);
}
