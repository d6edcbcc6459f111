/*
 * outbox_fixture.h - outboxes, handlers that keep notes, and what an operator would see.
 *
 *   OUTBOX_TEST(delivery, goes_on_after_a_reject)
 *   {
 *       struct recorder *recorder = recorder_new();
 *       struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");
 *
 *       recorder_answer(recorder, 2, ALWAYS, ANSWER_REJECT);
 *       outbox_fixture_queue(fixture, outbox, "orders", 1);
 *       outbox_fixture_serve(fixture, outbox, "orders", recorder);
 *       outbox_fixture_start(fixture, outbox);
 *       outbox_fixture_send(fixture, outbox, "orders", 0, 3);
 *
 *       wait_until(outbox_fixture_partition(fixture, outbox, "orders", "default",
 *       0).seq == 3); outbox_fixture_close(outbox);
 *   }
 *
 * Several outboxes on one database stand for several processes. One that "crashes" is
 * one whose handler does not come back in time: its lease runs out and somebody else
 * takes the partition.
 */
#ifndef WEIR_TEST_OUTBOX_FIXTURE_H
#define WEIR_TEST_OUTBOX_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kit/outbox/outbox_engines.h"
#include "weir/dead_letter.h"
#include "weir/inspect.h"
#include "weir/outbox.h"

/* ---- handlers that keep notes ------------------------------------------------------ */

enum { DELIVERIES_MAX = 4096, LINES_MAX = 16, ALWAYS = 0 };

enum answer {
    ANSWER_DONE,
    ANSWER_RETRY,
    ANSWER_REJECT,
    ANSWER_PANIC,
    ANSWER_BLOCK, /* until recorder_release(), deaf to everything; then done */
    ANSWER_HEED   /* until it is told to stop; then a retry */
};

struct delivery {
    int32_t partition;
    int64_t seq;
    char payload[32]; /* its beginning */
    uint8_t uid[WEIR_UID_SIZE];
    uint32_t attempts;
    int64_t epoch;
    int64_t budget_ns; /* what was left of it */
    uint32_t call;     /* of the handler, from 1 */
    size_t batch;      /* messages of that call */
    int64_t at_ns;
};

struct recorder;

/* One of a few, empty; nobody gives it back. */
struct recorder *recorder_new(void);

/* What it answers to `seq` (0: to every one), the first `times` times. The line that was
 * written first counts; without one: done. */
void recorder_answer(struct recorder *self, int64_t seq, uint32_t times,
                     enum answer answer);

/* Let go of everybody who blocks, now and from now on. */
void recorder_release(struct recorder *self);

size_t recorder_count(struct recorder *self); /* of deliveries */
size_t recorder_calls(struct recorder *self); /* begun */
size_t recorder_ended(struct recorder *self); /* deliveries whose handler has answered */
size_t recorder_most(struct recorder *self);  /* messages at once in handlers */
struct delivery recorder_delivery(struct recorder *self, size_t index);

/* Deliveries of one partition, and of one message. */
size_t recorder_count_of(struct recorder *self, int32_t partition);
size_t recorder_times(struct recorder *self, int32_t partition, int64_t seq);

/* The numbers of a partition came as 1, 2, ..., count: each at least once, and none
 * before its predecessor. */
bool recorder_in_order(struct recorder *self, int32_t partition, int64_t count);

/* The handlers. The batch one takes and acks message by message. */
enum weir_outcome recorder_on_message(struct weir_context *context, void *state,
                                      const struct weir_message *message,
                                      struct weir_reason *reason);
enum weir_outcome recorder_on_batch(struct weir_context *context, void *state,
                                    struct weir_batch *batch, struct weir_reason *reason);

/* For handlers of a test's own: write a message down. */
void recorder_note(struct recorder *self, const struct weir_message *message);

/* ---- outboxes ---------------------------------------------------------------------- */

/* Quick to retry; all else as by default. */
struct weir_outbox_options outbox_fixture_options(struct fixture *fixture,
                                                  const char *name);
struct weir_outbox *outbox_fixture_outbox(struct fixture *fixture, const char *name);
struct weir_outbox *outbox_fixture_create(struct fixture *fixture,
                                          const struct weir_outbox_options *options);

/* Sweeps as often as it may. */
struct weir_outbox *outbox_fixture_sweeping(struct fixture *fixture, const char *name);

void outbox_fixture_queue(struct fixture *fixture, struct weir_outbox *outbox,
                          const char *name, int32_t partitions);

/* A handler for single messages, and for batches, to be changed before
 * outbox_fixture_add(). */
struct weir_handler_options outbox_fixture_handler(const char *queue,
                                                   struct recorder *recorder);
struct weir_handler_options outbox_fixture_batch_handler(const char *queue,
                                                         struct recorder *recorder);
void outbox_fixture_add(struct fixture *fixture, struct weir_outbox *outbox,
                        const struct weir_handler_options *options);
void outbox_fixture_serve(struct fixture *fixture, struct weir_outbox *outbox,
                          const char *queue, struct recorder *recorder);

/* One message per call, so that every call counts for one. */
void outbox_fixture_serve_one_by_one(struct fixture *fixture, struct weir_outbox *outbox,
                                     const char *queue, struct recorder *recorder);

/* The tuning of the lanes, and a lease and budget short enough to wait for its end. */
struct weir_tuning outbox_fixture_tuning(void);
void outbox_fixture_short_lease(struct weir_handler_options *options);

void outbox_fixture_start(struct fixture *fixture, struct weir_outbox *outbox);

/* Which must be clean. */
void outbox_fixture_stop(struct weir_outbox *outbox);
void outbox_fixture_close(struct weir_outbox *outbox);

/* An outbox with this queue and this handler, which runs. */
struct weir_outbox *outbox_fixture_open(struct fixture *fixture, const char *name,
                                        const char *queue, int32_t partitions,
                                        struct recorder *recorder);

/*
 * A test of one running outbox "anna", whose queue "orders" has so many partitions and a
 * handler that records. The body has `fixture`, `outbox` and `recorder`; then the outbox
 * is closed.
 */
typedef void (*delivery_fn)(struct fixture *fixture, struct weir_outbox *outbox,
                            struct recorder *recorder);
void outbox_fixture_deliver(struct fixture *fixture, int32_t partitions,
                            delivery_fn body);

#define DELIVERY_BODY(subject, claim)                                                    \
    static void subject##__##claim##_delivery(                                           \
        __attribute__((unused)) struct fixture *fixture,                                 \
        __attribute__((unused)) struct weir_outbox *outbox,                              \
        __attribute__((unused)) struct recorder *recorder)

#define DELIVERY_TEST(subject, claim, partitions)                                        \
    DELIVERY_BODY(subject, claim);                                                       \
    OUTBOX_TEST(subject, claim)                                                          \
    {                                                                                    \
        outbox_fixture_deliver(fixture, (partitions), subject##__##claim##_delivery);    \
    }                                                                                    \
    DELIVERY_BODY(subject, claim)

/* `count` messages in one call, with payloads "1", "2", ... */
void outbox_fixture_send(struct fixture *fixture, struct weir_outbox *outbox,
                         const char *queue, int32_t partition, size_t count);
void outbox_fixture_send_text(struct fixture *fixture, struct weir_outbox *outbox,
                              const char *queue, int32_t partition, const char *payload);

/* The draft of a text. */
struct weir_draft outbox_fixture_draft(int32_t partition, const char *payload);

/* ---- what an operator sees --------------------------------------------------------- */

struct partition_view {
    bool found;
    int64_t seq;
    int64_t waiting;
    bool waiting_is_estimate;
    int64_t oldest_age_us;
    uint32_t attempts;
    int64_t retry_in_us;
    char last_error[WEIR_ERROR_TEXT_SIZE];
    char owner[128];
    int64_t epoch;
    int64_t lease_left_us;
    uint32_t crashes;
};
struct partition_view
outbox_fixture_partition(struct fixture *fixture, struct weir_outbox *outbox,
                         const char *queue, const char *subscription, int32_t partition);

struct queue_view {
    bool found;
    int32_t partitions;
    bool paused;
    uint32_t subscriptions;
    int64_t backlog_max;
    int64_t waiting;
    int64_t oldest_age_us;
    int64_t aside;
    int64_t dead_letters;
};
struct queue_view outbox_fixture_queue_view(struct fixture *fixture,
                                            struct weir_outbox *outbox,
                                            const char *queue);

/* The position of the default subscription. */
int64_t outbox_fixture_seq(struct fixture *fixture, struct weir_outbox *outbox,
                           const char *queue, int32_t partition);

/* Everything that is still kept of a queue, in the eyes of somebody new: how many
 * messages a subscription that is made now gets from the beginning. */
int64_t outbox_fixture_kept(struct fixture *fixture, struct weir_outbox *outbox,
                            const char *queue, const char *newcomer);

/* How often workers of a category ("lane", "dispatcher", ...) have run and not failed. */
uint64_t outbox_fixture_executions(struct weir_outbox *outbox, const char *category);

#endif
