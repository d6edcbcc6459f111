/*
 * test_claim_waiters.c - who is woken by a ring, and who by one who found something.
 */
#include "execution/claim_waiters.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "kit/test.h"
#include "weir/time.h"

struct guest {
    struct weir_claim_waiters *claim_waiters;
    uint64_t question;
    pthread_t thread;
    enum weir_status status;
    _Atomic bool woken;
};

static void *stand(void *argument)
{
    struct guest *self = argument;

    self->status = weir_claim_waiters_wait(
        self->claim_waiters, self->question,
        weir_claim_waiters_count_wakes(self->claim_waiters), WEIR_FOREVER);
    atomic_store(&self->woken, true);
    return NULL;
}

/* Returns when he stands in line, behind those before. */
static void arrive(struct guest *self, struct weir_claim_waiters *claim_waiters,
                   uint64_t question)
{
    size_t before = weir_claim_waiters_waiting(claim_waiters);

    *self = (struct guest){.claim_waiters = claim_waiters, .question = question};
    check_int(pthread_create(&self->thread, NULL, stand, self), 0);
    while (weir_claim_waiters_waiting(claim_waiters) == before)
        (void)sched_yield();
}

static void leave(struct guest *self)
{
    check_int(pthread_join(self->thread, NULL), 0);
    check_status(self->status, WEIR_OK);
}

WEIR_TEST(doorbell, wakes_the_oldest_of_each_question)
{
    struct weir_claim_waiters claim_waiters;
    struct guest anna, bert, carl;

    check_status(weir_claim_waiters_init(&claim_waiters), WEIR_OK);
    arrive(&anna, &claim_waiters, 1);
    arrive(&bert, &claim_waiters, 1);
    arrive(&carl, &claim_waiters, 2);

    weir_claim_waiters_wake(&claim_waiters);
    leave(&anna);
    leave(&carl);

    check_int(weir_claim_waiters_waiting(&claim_waiters), 1);
    check(!atomic_load(&bert.woken));
    weir_claim_waiters_wake(&claim_waiters);
    leave(&bert);
    weir_claim_waiters_fini(&claim_waiters);
}

WEIR_TEST(doorbell, is_passed_on_to_one_who_asks_the_same)
{
    struct weir_claim_waiters claim_waiters;
    struct guest anna, bert;

    check_status(weir_claim_waiters_init(&claim_waiters), WEIR_OK);
    arrive(&anna, &claim_waiters, 1);
    arrive(&bert, &claim_waiters, 2);

    weir_claim_waiters_wake_next(&claim_waiters, 2);
    leave(&bert);

    check_int(weir_claim_waiters_waiting(&claim_waiters), 1);
    weir_claim_waiters_wake_next(&claim_waiters, 3); /* nobody's */
    weir_claim_waiters_wake_next(&claim_waiters, 1);
    leave(&anna);
    weir_claim_waiters_fini(&claim_waiters);
}

WEIR_TEST(doorbell, that_has_rung_since_the_look_lets_nobody_wait)
{
    struct weir_claim_waiters claim_waiters;
    uint64_t wakes;

    check_status(weir_claim_waiters_init(&claim_waiters), WEIR_OK);
    wakes = weir_claim_waiters_count_wakes(&claim_waiters);
    weir_claim_waiters_wake(&claim_waiters);

    check_status(weir_claim_waiters_wait(&claim_waiters, 1, wakes, WEIR_FOREVER),
                 WEIR_OK);

    weir_claim_waiters_fini(&claim_waiters);
}

WEIR_TEST(doorbell, lets_go_of_one_whose_time_is_over)
{
    struct weir_claim_waiters claim_waiters;

    check_status(weir_claim_waiters_init(&claim_waiters), WEIR_OK);

    check_status(weir_claim_waiters_wait(&claim_waiters, 1,
                                         weir_claim_waiters_count_wakes(&claim_waiters),
                                         0),
                 WEIR_TIMEOUT);

    check_int(weir_claim_waiters_waiting(&claim_waiters), 0);
    weir_claim_waiters_fini(&claim_waiters);
}
