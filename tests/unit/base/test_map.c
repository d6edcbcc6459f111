/* Tests of base/map.c. */
#include "base/map.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/heap.h"
#include "base/random.h"
#include "base/str.h"
#include "kit/alloc_failures.h"
#include "kit/test.h"

enum { KEY_COUNT = 400 };

/*
 * The map, and beside it an array that is too simple to be wrong: the value of key
 * number i, or NULL. Values are addresses inside `things`.
 */
struct model {
    struct weir_map map;
    struct weir_random random;
    int things[KEY_COUNT];
    int *values[KEY_COUNT];
    size_t count;
    int visits[KEY_COUNT]; /* by the walk that is under way */
};

static void model_init(struct model *self, const struct weir_heap *heap, uint64_t seed);
static void model_step(struct model *self);
static void model_put(struct model *self, uint32_t key);
static void model_remove(struct model *self, uint32_t key);
static void model_remove_some(struct model *self);
static void model_compare(const struct model *self);
static bool is_chosen(void *arg, struct weir_str key, void *value);
static bool matches_all(void *arg, struct weir_str key, void *value);
static struct weir_str name_of(uint32_t key);
static enum weir_status fill_and_empty(const struct weir_heap *heap);

WEIR_TEST(map, finds_nothing_at_first)
{
    struct weir_faulty_heap faulty;
    struct weir_map map;

    weir_faulty_heap_init(&faulty);
    weir_map_init(&map, &faulty.heap, 10);

    check(weir_map_find(&map, weir_str("mailer")) == NULL);
    check(weir_map_remove(&map, weir_str("mailer")) == NULL);
    check_int(weir_map_count(&map), 0);
    check_int(faulty.allocations, 0);
    weir_map_fini(&map);
}

WEIR_TEST(map, finds_what_was_put)
{
    struct weir_map map;
    int a, b;

    weir_map_init(&map, weir_heap_system(), 10);
    check_status(weir_map_put(&map, weir_str("mailer"), &a), WEIR_OK);
    check_status(weir_map_put(&map, weir_str("sweeper"), &b), WEIR_OK);

    check(weir_map_find(&map, weir_str("mailer")) == &a);
    check(weir_map_find(&map, weir_str("sweeper")) == &b);
    check(weir_map_find(&map, weir_str("maile")) == NULL);
    check_int(weir_map_count(&map), 2);
    weir_map_fini(&map);
}

WEIR_TEST(map, replaces_the_value_of_a_key_it_has)
{
    struct weir_map map;
    int a, b;

    weir_map_init(&map, weir_heap_system(), 10);
    check_status(weir_map_put(&map, weir_str("mailer"), &a), WEIR_OK);

    check_status(weir_map_put(&map, weir_str("mailer"), &b), WEIR_OK);

    check(weir_map_find(&map, weir_str("mailer")) == &b);
    check_int(weir_map_count(&map), 1);
    weir_map_fini(&map);
}

WEIR_TEST(map, copies_its_keys)
{
    struct weir_map map;
    char key[] = "mailer";
    int a;

    weir_map_init(&map, weir_heap_system(), 10);
    check_status(weir_map_put(&map, weir_str(key), &a), WEIR_OK);

    key[0] = 'x';

    check(weir_map_find(&map, weir_str("mailer")) == &a);
    check(weir_map_find(&map, weir_str(key)) == NULL);
    weir_map_fini(&map);
}

WEIR_TEST(map, takes_any_bytes_for_a_key)
{
    struct weir_map map;
    int a, b, c;

    weir_map_init(&map, weir_heap_system(), 10);
    check_status(weir_map_put(&map, (struct weir_str){"a\0b", 3}, &a), WEIR_OK);
    check_status(weir_map_put(&map, (struct weir_str){"a\0c", 3}, &b), WEIR_OK);
    check_status(weir_map_put(&map, (struct weir_str){NULL, 0}, &c), WEIR_OK);

    check(weir_map_find(&map, (struct weir_str){"a\0b", 3}) == &a);
    check(weir_map_find(&map, (struct weir_str){"a\0c", 3}) == &b);
    check(weir_map_find(&map, weir_str("")) == &c);
    check(weir_map_find(&map, weir_str("a")) == NULL);
    weir_map_fini(&map);
}

WEIR_TEST(map, hands_back_what_it_removes)
{
    struct weir_map map;
    int a;

    weir_map_init(&map, weir_heap_system(), 10);
    check_status(weir_map_put(&map, weir_str("mailer"), &a), WEIR_OK);

    check(weir_map_remove(&map, weir_str("mailer")) == &a);

    check(weir_map_find(&map, weir_str("mailer")) == NULL);
    check(weir_map_remove(&map, weir_str("mailer")) == NULL);
    check_int(weir_map_count(&map), 0);
    weir_map_fini(&map);
}

WEIR_TEST(map, is_busy_when_full)
{
    struct weir_map map;
    int a;

    weir_map_init(&map, weir_heap_system(), 2);
    check_status(weir_map_put(&map, weir_str("a"), &a), WEIR_OK);
    check_status(weir_map_put(&map, weir_str("b"), &a), WEIR_OK);

    check_status(weir_map_put(&map, weir_str("c"), &a), WEIR_BUSY);

    check_int(weir_map_count(&map), 2);
    check(weir_map_find(&map, weir_str("c")) == NULL);
    weir_map_fini(&map);
}

WEIR_TEST(map, still_replaces_when_full)
{
    struct weir_map map;
    int a, b;

    weir_map_init(&map, weir_heap_system(), 1);
    check_status(weir_map_put(&map, weir_str("a"), &a), WEIR_OK);

    check_status(weir_map_put(&map, weir_str("a"), &b), WEIR_OK);

    check(weir_map_find(&map, weir_str("a")) == &b);
    weir_map_fini(&map);
}

WEIR_TEST(map, has_room_again_after_a_removal)
{
    struct weir_map map;
    int a;

    weir_map_init(&map, weir_heap_system(), 1);
    check_status(weir_map_put(&map, weir_str("a"), &a), WEIR_OK);
    check(weir_map_remove(&map, weir_str("a")) == &a);

    check_status(weir_map_put(&map, weir_str("b"), &a), WEIR_OK);

    weir_map_fini(&map);
}

/* Names that come and go must not make the table grow: there are no marks to pile up. */
WEIR_TEST(map, does_not_grow_with_age)
{
    struct weir_map map;
    int a;

    weir_map_init(&map, weir_heap_system(), 10);

    for (uint32_t i = 0; i < 10000; i++) {
        check_status(weir_map_put(&map, name_of(i), &a), WEIR_OK);
        check(weir_map_remove(&map, name_of(i)) == &a);
    }

    check_int(map.slot_count, 8);
    weir_map_fini(&map);
}

WEIR_TEST(map, is_as_before_when_there_is_no_memory)
{
    struct weir_faulty_heap faulty;
    struct weir_map map;
    int a;

    weir_faulty_heap_init(&faulty);
    weir_map_init(&map, &faulty.heap, 100);
    for (uint32_t i = 0; i < 6; i++)
        check_status(weir_map_put(&map, name_of(i), &a), WEIR_OK);
    weir_faulty_heap_fail_at(&faulty, 1); /* the seventh needs a larger table */

    check_status(weir_map_put(&map, name_of(6), &a), WEIR_NO_MEMORY);

    check_int(weir_map_count(&map), 6);
    check(weir_map_find(&map, name_of(6)) == NULL);
    for (uint32_t i = 0; i < 6; i++)
        check(weir_map_find(&map, name_of(i)) == &a);
    weir_map_fini(&map);
    check_int(faulty.outstanding, 0);
}

WEIR_TEST(map, removes_all_that_match)
{
    struct weir_faulty_heap faulty;
    struct weir_map map;
    int a;

    weir_faulty_heap_init(&faulty);
    weir_map_init(&map, &faulty.heap, 100);
    for (uint32_t i = 0; i < 100; i++)
        check_status(weir_map_put(&map, name_of(i), &a), WEIR_OK);

    weir_map_remove_if(&map, matches_all, NULL);

    check_int(weir_map_count(&map), 0);
    check_int(faulty.outstanding, 1); /* the table */
    weir_map_fini(&map);
}

WEIR_TEST(map, walks_over_nothing)
{
    struct weir_map map;

    weir_map_init(&map, weir_heap_system(), 10);

    weir_map_remove_if(&map, matches_all, NULL);

    check_int(weir_map_count(&map), 0);
    weir_map_fini(&map);
}

/* Thousands of random steps from a few seeds, at every filling of the table; the walk
 * that removes has to meet each element exactly once. */
WEIR_TEST(map, behaves_like_a_plain_array)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct weir_faulty_heap faulty;
        struct model model;

        weir_faulty_heap_init(&faulty);
        model_init(&model, &faulty.heap, seed);
        for (int step = 0; step < 3000; step++) {
            model_step(&model);
            if (step % 50 == 0)
                model_compare(&model);
        }

        model_compare(&model);
        weir_map_fini(&model.map);
        check_int(faulty.outstanding, 0);
    }
}

WEIR_TEST(map, leaks_nothing_whatever_allocation_fails)
{
    check_alloc_failures(fill_and_empty);
}

static void model_init(struct model *self, const struct weir_heap *heap, uint64_t seed)
{
    memset(self, 0, sizeof *self);
    weir_map_init(&self->map, heap, KEY_COUNT);
    weir_random_init(&self->random, seed);
}

/* Some keys are drawn from a few only, so that they come and go often. */
static void model_step(struct model *self)
{
    uint32_t dice = weir_random_below(&self->random, 1000);
    uint32_t range = dice % 2 == 0 ? 20 : KEY_COUNT;
    uint32_t key = weir_random_below(&self->random, range);

    if (dice < 550)
        model_put(self, key);
    else if (dice < 990)
        model_remove(self, key);
    else
        model_remove_some(self);
}

static void model_put(struct model *self, uint32_t key)
{
    int *value = &self->things[weir_random_below(&self->random, KEY_COUNT)];

    check_status(weir_map_put(&self->map, name_of(key), value), WEIR_OK);
    if (self->values[key] == NULL)
        self->count++;
    self->values[key] = value;
}

static void model_remove(struct model *self, uint32_t key)
{
    check(weir_map_remove(&self->map, name_of(key)) == self->values[key]);
    if (self->values[key] != NULL)
        self->count--;
    self->values[key] = NULL;
}

static void model_remove_some(struct model *self)
{
    bool present[KEY_COUNT];

    for (int i = 0; i < KEY_COUNT; i++)
        present[i] = self->values[i] != NULL;
    memset(self->visits, 0, sizeof self->visits);

    weir_map_remove_if(&self->map, is_chosen, self);

    for (int i = 0; i < KEY_COUNT; i++)
        check_int(self->visits[i], present[i]);
    model_compare(self);
}

static void model_compare(const struct model *self)
{
    check_int(weir_map_count(&self->map), self->count);
    for (uint32_t i = 0; i < KEY_COUNT; i++)
        check(weir_map_find(&self->map, name_of(i)) == self->values[i]);
}

/* Called by the map: note the visit, and remove one in three. */
static bool is_chosen(void *arg, struct weir_str key, void *value)
{
    struct model *self = arg;
    uint32_t number;

    check_int(sscanf(key.data, "worker-%" SCNu32, &number), 1);
    check(number < KEY_COUNT);
    check(self->values[number] == value);
    self->visits[number]++;
    if (weir_random_below(&self->random, 3) != 0)
        return false;
    self->values[number] = NULL;
    self->count--;
    return true;
}

static bool matches_all(void *arg, struct weir_str key, void *value)
{
    (void)arg;
    (void)key;
    (void)value;
    return true;
}

/* Lives until the next call. */
static struct weir_str name_of(uint32_t key)
{
    static char name[32];

    snprintf(name, sizeof name, "worker-%" PRIu32, key);
    return weir_str(name);
}

static enum weir_status fill_and_empty(const struct weir_heap *heap)
{
    struct weir_map map;
    enum weir_status status = WEIR_OK;
    int a;

    weir_map_init(&map, heap, 100);
    for (uint32_t i = 0; i < 40 && status == WEIR_OK; i++)
        status = weir_map_put(&map, name_of(i), &a);
    for (uint32_t i = 0; i < 20; i++)
        weir_map_remove(&map, name_of(i));
    weir_map_fini(&map);
    return status;
}
