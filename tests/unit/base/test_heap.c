/* Tests of base/heap.c. */
#include "base/heap.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "kit/alloc_failures.h"
#include "kit/test.h"

static enum weir_status use_every_function(const struct weir_heap *heap);
static void *allocate_and_free(void *heap);

WEIR_TEST(heap, of_the_system_allocates_resizes_and_frees)
{
    const struct weir_heap *heap = weir_heap_system();
    char *memory = weir_heap_alloc(heap, 4);

    check(memory != NULL);
    memcpy(memory, "abc", 4);
    memory = weir_heap_resize(heap, memory, 10000);

    check(memory != NULL);
    check_str(memory, "abc");
    weir_heap_free(heap, memory);
}

WEIR_TEST(heap, frees_null_without_asking)
{
    struct weir_faulty_heap faulty;

    weir_faulty_heap_init(&faulty);

    weir_heap_free(&faulty.heap, NULL);

    check_int(faulty.outstanding, 0);
}

WEIR_TEST(heap, zeroes_on_request)
{
    const struct weir_heap *heap = weir_heap_system();
    unsigned char *memory = weir_heap_zalloc_array(heap, 7, 11);

    check(memory != NULL);
    for (size_t i = 0; i < 77; i++)
        check_int(memory[i], 0);
    weir_heap_free(heap, memory);
}

WEIR_TEST(heap, refuses_an_array_whose_size_overflows)
{
    struct weir_faulty_heap faulty;

    weir_faulty_heap_init(&faulty);

    check(weir_heap_zalloc_array(&faulty.heap, SIZE_MAX / 8 + 1, 8) == NULL);

    check_int(faulty.allocations, 0);
}

WEIR_TEST(heap, refuses_a_copy_whose_size_overflows)
{
    check(weir_heap_copy(weir_heap_system(), "", SIZE_MAX) == NULL);
}

WEIR_TEST(heap, copies_bytes_and_adds_a_zero)
{
    const struct weir_heap *heap = weir_heap_system();
    char *copy = weir_heap_copy(heap, "abcdef", 3);

    check_str(copy, "abc");
    weir_heap_free(heap, copy);
}

WEIR_TEST(heap, copies_nothing_into_an_empty_text)
{
    const struct weir_heap *heap = weir_heap_system();
    char *copy = weir_heap_copy(heap, NULL, 0);

    check_str(copy, "");
    weir_heap_free(heap, copy);
}

WEIR_TEST(faulty_heap, counts_blocks_and_not_resizings)
{
    struct weir_faulty_heap faulty;
    void *a, *b;

    weir_faulty_heap_init(&faulty);
    a = weir_heap_alloc(&faulty.heap, 1);
    b = weir_heap_alloc(&faulty.heap, 1);
    b = weir_heap_resize(&faulty.heap, b, 100);

    check_int(faulty.outstanding, 2);
    check_int(faulty.allocations, 3);

    weir_heap_free(&faulty.heap, a);
    weir_heap_free(&faulty.heap, b);
    check_int(faulty.outstanding, 0);
}

WEIR_TEST(faulty_heap, fails_once_at_the_number_it_was_given)
{
    struct weir_faulty_heap faulty;
    void *blocks[3];

    weir_faulty_heap_init(&faulty);
    weir_faulty_heap_fail_at(&faulty, 2);

    for (int i = 0; i < 3; i++)
        blocks[i] = weir_heap_alloc(&faulty.heap, 8);

    check(blocks[0] != NULL);
    check(blocks[1] == NULL);
    check(blocks[2] != NULL);
    for (int i = 0; i < 3; i++)
        weir_heap_free(&faulty.heap, blocks[i]);
}

WEIR_TEST(faulty_heap, keeps_failing_if_told_so)
{
    struct weir_faulty_heap faulty;
    void *first;

    weir_faulty_heap_init(&faulty);
    weir_faulty_heap_fail_at(&faulty, 2);
    faulty.fail_after_too = 1;

    first = weir_heap_alloc(&faulty.heap, 8);

    check(first != NULL);
    for (int i = 0; i < 10; i++)
        check(weir_heap_alloc(&faulty.heap, 8) == NULL);
    weir_heap_free(&faulty.heap, first);
    check_int(faulty.outstanding, 0);
}

WEIR_TEST(faulty_heap, counts_from_zero_for_each_order)
{
    struct weir_faulty_heap faulty;
    void *first;

    weir_faulty_heap_init(&faulty);
    first = weir_heap_alloc(&faulty.heap, 8);

    weir_faulty_heap_fail_at(&faulty, 1);

    check(weir_heap_alloc(&faulty.heap, 8) == NULL);
    check_int(faulty.outstanding, 1);
    weir_heap_free(&faulty.heap, first);
}

WEIR_TEST(faulty_heap, leaves_a_block_alone_when_resizing_fails)
{
    struct weir_faulty_heap faulty;
    char *block;

    weir_faulty_heap_init(&faulty);
    block = weir_heap_copy(&faulty.heap, "abc", 3);
    weir_faulty_heap_fail_at(&faulty, 1);

    check(weir_heap_resize(&faulty.heap, block, 1000) == NULL);

    check_str(block, "abc");
    check_int(faulty.outstanding, 1);
    weir_heap_free(&faulty.heap, block);
}

WEIR_TEST(faulty_heap, counts_right_with_several_threads)
{
    enum { THREAD_COUNT = 4 };
    struct weir_faulty_heap faulty;
    pthread_t threads[THREAD_COUNT];

    weir_faulty_heap_init(&faulty);
    for (int i = 0; i < THREAD_COUNT; i++)
        check_int(pthread_create(&threads[i], NULL, allocate_and_free, &faulty.heap), 0);
    for (int i = 0; i < THREAD_COUNT; i++)
        pthread_join(threads[i], NULL);

    check_int(faulty.allocations, THREAD_COUNT * 1000);
    check_int(faulty.outstanding, 0);
}

WEIR_TEST(heap, leaks_nothing_whatever_allocation_fails)
{
    check_alloc_failures(use_every_function);
}

static enum weir_status use_every_function(const struct weir_heap *heap)
{
    enum weir_status status = WEIR_NO_MEMORY;
    void *zeroed = weir_heap_zalloc(heap, 10);
    void *array = weir_heap_zalloc_array(heap, 10, 10);
    char *copy = weir_heap_copy(heap, "abc", 3);
    void *larger = NULL;

    if (zeroed == NULL || array == NULL || copy == NULL)
        goto out;
    larger = weir_heap_resize(heap, copy, 100);
    if (larger == NULL)
        goto out;
    copy = NULL; /* it is `larger` now */
    status = WEIR_OK;

out:
    weir_heap_free(heap, larger);
    weir_heap_free(heap, copy);
    weir_heap_free(heap, array);
    weir_heap_free(heap, zeroed);
    return status;
}

static void *allocate_and_free(void *heap)
{
    for (int i = 0; i < 1000; i++)
        weir_heap_free(heap, weir_heap_alloc(heap, 16));
    return NULL;
}
