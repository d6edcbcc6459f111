/* Tests of base/list.h. */
#include "base/list.h"

#include "kit/test.h"

/* The link is not the first member, so that a wrong way back would show. */
struct guest {
    int number;
    struct weir_list link;
};

static struct guest guest(int number);
static int number_of(struct weir_list *link);

WEIR_TEST(list, is_empty_at_first)
{
    struct weir_list list;

    weir_list_init(&list);

    check(weir_list_empty(&list));
    check(weir_list_take_first(&list) == NULL);
}

WEIR_TEST(list, hands_out_the_oldest_first)
{
    struct weir_list list;
    struct guest anna = guest(1), bert = guest(2), carl = guest(3);

    weir_list_init(&list);
    weir_list_append(&list, &anna.link);
    weir_list_append(&list, &bert.link);
    weir_list_append(&list, &carl.link);

    check_int(number_of(weir_list_take_first(&list)), 1);
    check_int(number_of(weir_list_take_first(&list)), 2);
    check_int(number_of(weir_list_take_first(&list)), 3);
    check(weir_list_empty(&list));
}

WEIR_TEST(list, lets_one_be_put_in_front)
{
    struct weir_list list;
    struct guest anna = guest(1), bert = guest(2);

    weir_list_init(&list);
    weir_list_append(&list, &anna.link);
    weir_list_prepend(&list, &bert.link);

    check_int(number_of(weir_list_take_first(&list)), 2);
    check_int(number_of(weir_list_take_first(&list)), 1);
    check(weir_list_empty(&list));
}

WEIR_TEST(list, takes_over_another_behind_its_own)
{
    struct weir_list list, other;
    struct guest anna = guest(1), bert = guest(2), carl = guest(3);

    weir_list_init(&list);
    weir_list_init(&other);
    weir_list_append(&list, &anna.link);
    weir_list_append(&other, &bert.link);
    weir_list_append(&other, &carl.link);

    weir_list_move_all(&list, &other);

    check(weir_list_empty(&other));
    check(list.previous == &carl.link && carl.link.next == &list);
    check_int(number_of(weir_list_take_first(&list)), 1);
    check_int(number_of(weir_list_take_first(&list)), 2);
    check_int(number_of(weir_list_take_first(&list)), 3);
}

WEIR_TEST(list, stays_as_it_is_when_it_takes_over_nothing)
{
    struct weir_list list, other;
    struct guest anna = guest(1);

    weir_list_init(&list);
    weir_list_init(&other);
    weir_list_append(&list, &anna.link);

    weir_list_move_all(&list, &other);

    check(list.next == &anna.link && list.previous == &anna.link);
    check(weir_list_empty(&other));
}

WEIR_TEST(list, closes_the_gap_when_one_in_the_middle_leaves)
{
    struct weir_list list;
    struct guest anna = guest(1), bert = guest(2), carl = guest(3);

    weir_list_init(&list);
    weir_list_append(&list, &anna.link);
    weir_list_append(&list, &bert.link);
    weir_list_append(&list, &carl.link);

    weir_list_remove(&bert.link);

    check(list.next == &anna.link && anna.link.next == &carl.link);
    check(list.previous == &carl.link && carl.link.previous == &anna.link);
}

WEIR_TEST(list, knows_a_link_that_is_in_no_list)
{
    struct weir_list list;
    struct guest anna = guest(1);

    weir_list_init(&list);
    weir_list_init(&anna.link);
    check(weir_list_empty(&anna.link));

    weir_list_append(&list, &anna.link);
    check(!weir_list_empty(&anna.link));

    check(weir_list_take_first(&list) == &anna.link);
    check(weir_list_empty(&anna.link));
}

WEIR_TEST(list, lets_a_link_be_removed_twice)
{
    struct weir_list list;
    struct guest anna = guest(1), bert = guest(2);

    weir_list_init(&list);
    weir_list_append(&list, &anna.link);
    weir_list_append(&list, &bert.link);

    weir_list_remove(&anna.link);
    weir_list_remove(&anna.link);

    check(list.next == &bert.link && list.previous == &bert.link);
}

WEIR_TEST(list, is_walked_in_order)
{
    struct weir_list list;
    struct guest anna = guest(1), bert = guest(2);
    int walked = 0;

    weir_list_init(&list);
    weir_list_append(&list, &anna.link);
    weir_list_append(&list, &bert.link);

    WEIR_LIST_EACH(link, &list)
    walked = walked * 10 + number_of(link);

    check_int(walked, 12);
}

static struct guest guest(int number)
{
    return (struct guest){.number = number};
}

static int number_of(struct weir_list *link)
{
    return WEIR_CONTAINER_OF(link, struct guest, link)->number;
}
