/*
 * test_doorbell.c - who is woken by a ring, and who by one who found something.
 */
#include "execution/doorbell.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "lib/test.h"
#include "weir/time.h"

struct guest {
    struct weir_doorbell *bell;
    uint64_t question;
    pthread_t thread;
    enum weir_status status;
    _Atomic bool woken;
};

static void *stand(void *argument)
{
    struct guest *self = argument;

    self->status = weir_doorbell_wait(self->bell, self->question,
                                      weir_doorbell_rings(self->bell), WEIR_FOREVER);
    atomic_store(&self->woken, true);
    return NULL;
}

/* Returns when he stands in line, behind those before. */
static void arrive(struct guest *self, struct weir_doorbell *bell, uint64_t question)
{
    size_t before = weir_doorbell_waiting(bell);

    *self = (struct guest){.bell = bell, .question = question};
    check_int(pthread_create(&self->thread, NULL, stand, self), 0);
    while (weir_doorbell_waiting(bell) == before)
        (void)sched_yield();
}

static void leave(struct guest *self)
{
    check_int(pthread_join(self->thread, NULL), 0);
    check_status(self->status, WEIR_OK);
}

WEIR_TEST(doorbell, wakes_the_oldest_of_each_question)
{
    struct weir_doorbell bell;
    struct guest anna, bert, carl;

    check_status(weir_doorbell_init(&bell), WEIR_OK);
    arrive(&anna, &bell, 1);
    arrive(&bert, &bell, 1);
    arrive(&carl, &bell, 2);

    weir_doorbell_ring(&bell);
    leave(&anna);
    leave(&carl);

    check_int(weir_doorbell_waiting(&bell), 1);
    check(!atomic_load(&bert.woken));
    weir_doorbell_ring(&bell);
    leave(&bert);
    weir_doorbell_fini(&bell);
}

WEIR_TEST(doorbell, is_passed_on_to_one_who_asks_the_same)
{
    struct weir_doorbell bell;
    struct guest anna, bert;

    check_status(weir_doorbell_init(&bell), WEIR_OK);
    arrive(&anna, &bell, 1);
    arrive(&bert, &bell, 2);

    weir_doorbell_pass_on(&bell, 2);
    leave(&bert);

    check_int(weir_doorbell_waiting(&bell), 1);
    weir_doorbell_pass_on(&bell, 3); /* nobody's */
    weir_doorbell_pass_on(&bell, 1);
    leave(&anna);
    weir_doorbell_fini(&bell);
}

WEIR_TEST(doorbell, that_has_rung_since_the_look_lets_nobody_wait)
{
    struct weir_doorbell bell;
    uint64_t rings;

    check_status(weir_doorbell_init(&bell), WEIR_OK);
    rings = weir_doorbell_rings(&bell);
    weir_doorbell_ring(&bell);

    check_status(weir_doorbell_wait(&bell, 1, rings, WEIR_FOREVER), WEIR_OK);

    weir_doorbell_fini(&bell);
}

WEIR_TEST(doorbell, lets_go_of_one_whose_time_is_over)
{
    struct weir_doorbell bell;

    check_status(weir_doorbell_init(&bell), WEIR_OK);

    check_status(weir_doorbell_wait(&bell, 1, weir_doorbell_rings(&bell), 0),
                 WEIR_TIMEOUT);

    check_int(weir_doorbell_waiting(&bell), 0);
    weir_doorbell_fini(&bell);
}
