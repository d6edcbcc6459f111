/*
 * The row of a queue, as another program has written it: six numbers of eight bytes.
 */
#include <string.h>

#include "fuzz.h"
#include "outbox/log/log_position.h"
#include "outbox/queue/stored_queue.h"
#include "weir/message.h"
#include "weir/outbox.h"

static int64_t take_number(const uint8_t **at, size_t *left)
{
    int64_t number = 0;
    size_t size = *left < sizeof number ? *left : sizeof number;

    memcpy(&number, *at, size);
    *at += size;
    *left -= size;
    return number;
}

/* Each partition is a number of 32 bits that leads back. */
static void use(const struct weir_stored_queue *queue)
{
    for (int32_t i = 0; i < queue->partitions; i++) {
        int64_t pid = weir_pid(queue->id, i);

        WEIR_ASSERT(pid > 0 && pid <= INT32_MAX);
        WEIR_ASSERT(weir_pid_queue(pid) == queue->id);
        WEIR_ASSERT(weir_pid_partition(pid) == i);
    }
    WEIR_ASSERT(weir_partition_of_key("key", 3, (int32_t)queue->partitions) <
                queue->partitions);
    WEIR_ASSERT(weir_stored_attempts_max(queue->attempts_max) == queue->attempts_max);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct weir_stored_queue queue;
    struct weir_error error = {0};

    queue.id = take_number(&bytes, &size);
    queue.partitions = take_number(&bytes, &size);
    queue.unread = take_number(&bytes, &size);
    queue.backlog_max = take_number(&bytes, &size);
    queue.attempts_max = take_number(&bytes, &size);
    queue.retention_us = take_number(&bytes, &size);
    queue.retain_us = take_number(&bytes, &size);
    WEIR_ASSERT(weir_stored_attempts_max(queue.attempts_max) <= WEIR_ATTEMPTS_MAX_MAX);
    (void)weir_pid(queue.id, (int32_t)queue.partitions);
    if (weir_stored_queue_check(&queue, "orders", &error) == WEIR_OK) {
        use(&queue);
    } else {
        WEIR_ASSERT(weir_status_class(error.status) == WEIR_CLASS_STOP);
        WEIR_ASSERT(strstr(error.text, "orders") != NULL);
    }
    return 0;
}

FUZZ_CORPUS(stored_queue);
