/*
 * dead_letter_fixture.c - see dead_letter_fixture.h.
 */
#include "kit/outbox/dead_letter_fixture.h"

#include <stdio.h>
#include <string.h>

static void copy_text(char *out, const char *text)
{
    (void)snprintf(out, LETTER_TEXT_SIZE, "%s", text != NULL ? text : "");
}

void letters_note(void *state, const struct weir_dead_letter *letter)
{
    struct letter_views *views = state;
    struct letter_view *view = &views->items[views->count++];

    check(views->count <= LETTERS_MAX);
    *view = (struct letter_view){
        .id = letter->id,
        .partition = letter->partition,
        .seq = letter->seq,
        .sealed = letter->payload == NULL,
        .header_count = letter->header_count,
        .created_us = letter->created_us,
        .failed_us = letter->failed_us,
        .attempts = letter->attempts,
        .status = letter->status,
        .deadline_us = letter->deadline_us,
        .completed_us = letter->completed_us,
        .requeued = letter->requeued,
    };
    copy_text(view->queue, letter->queue);
    copy_text(view->subscription, letter->subscription);
    copy_text(view->key, letter->key);
    copy_text(view->type, letter->type);
    copy_text(view->payload, letter->payload);
    copy_text(view->reason, letter->reason);
    memcpy(view->uid, letter->uid, WEIR_UID_SIZE);
    memcpy(view->requeued_uid, letter->requeued_uid, WEIR_UID_SIZE);
}

struct weir_outbox *letters_client(struct fixture *fixture, const char *queue,
                                   int32_t partitions)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "clerk");

    outbox_fixture_queue(fixture, outbox, queue, partitions);
    return outbox;
}

static enum weir_outcome reject_it(struct weir_context *context, void *state,
                                   const struct weir_message *message,
                                   struct weir_reason *reason)
{
    (void)context;
    (void)state;
    return weir_reject(reason, "no good: %s", (const char *)message->payload);
}

/* An outbox that will reject everything, once it is started. */
static struct weir_outbox *maker(struct fixture *fixture, const char *queue,
                                 const char *subscription)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "maker");
    struct weir_handler_options handler = outbox_fixture_handler(queue, NULL);

    handler.subscription = subscription;
    handler.on_message = reject_it;
    outbox_fixture_add(fixture, outbox, &handler);
    return outbox;
}

void letters_subscribe(struct fixture *fixture, const char *queue,
                       const char *subscription)
{
    weir_outbox_destroy(maker(fixture, queue, subscription));
}

void letters_reject(struct fixture *fixture, const char *queue, const char *subscription,
                    size_t count)
{
    struct weir_outbox *outbox = maker(fixture, queue, subscription);
    int64_t before = letters_count(fixture, outbox, WEIR_DEAD_LETTER_ANY);

    outbox_fixture_start(fixture, outbox);
    wait_until(letters_count(fixture, outbox, WEIR_DEAD_LETTER_ANY) ==
               before + (int64_t)count);
    outbox_fixture_close(outbox);
}

void letters_make_of(struct fixture *fixture, const char *queue, const char *subscription,
                     const struct weir_draft *drafts, size_t count)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "producer");

    check_db(
        weir_enqueue_batch(outbox, NULL, queue, drafts, count, NULL, &fixture->error),
        WEIR_OK);
    weir_outbox_destroy(outbox);
    letters_reject(fixture, queue, subscription, count);
}

void letters_make(struct fixture *fixture, const char *queue, const char *subscription,
                  int32_t partition, size_t count)
{
    static char texts[DELIVERIES_MAX][16];
    static struct weir_draft drafts[DELIVERIES_MAX];

    check(count <= DELIVERIES_MAX);
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(texts[i], sizeof texts[i], "%zu", i + 1);
        drafts[i] = outbox_fixture_draft(partition, texts[i]);
    }
    letters_make_of(fixture, queue, subscription, drafts, count);
}

struct weir_dead_letter_scope letters_everything(void)
{
    struct weir_dead_letter_scope scope;

    weir_dead_letter_scope_init(&scope);
    return scope;
}

int64_t letters_count(struct fixture *fixture, struct weir_outbox *outbox,
                      enum weir_dead_letter_status status)
{
    struct weir_dead_letter_scope scope = letters_everything();
    int64_t count = -1;

    check_db(
        weir_dead_letter_count(outbox, NULL, &scope, status, &count, &fixture->error),
        WEIR_OK);
    return count;
}

struct letter_views *letters_list(struct fixture *fixture, struct weir_outbox *outbox,
                                  const struct weir_dead_letter_scope *scope,
                                  enum weir_dead_letter_status status)
{
    static struct letter_views views;
    struct weir_dead_letter_mark mark = {0};
    struct weir_dead_letter_scope asked = *scope;

    views.count = 0;
    asked.limit = asked.limit != 0 ? asked.limit : LETTERS_MAX;
    check_db(weir_dead_letter_list(outbox, NULL, &asked, status, &mark, letters_note,
                                   &views, &fixture->error),
             WEIR_OK);
    return &views;
}

struct letter_view letters_read(struct fixture *fixture, struct weir_outbox *outbox,
                                int64_t id)
{
    static struct letter_views views;

    views.count = 0;
    check_db(
        weir_dead_letter_read(outbox, NULL, id, letters_note, &views, &fixture->error),
        WEIR_OK);
    check_int(views.count, 1);
    return views.items[0];
}

struct weir_dead_letter_claim letters_claim(struct fixture *fixture,
                                            struct weir_outbox *outbox, int64_t limit,
                                            int64_t timeout_ns,
                                            struct letter_views *views)
{
    struct weir_dead_letter_scope scope = letters_everything();
    struct weir_dead_letter_claim claim;

    views->count = 0;
    scope.limit = limit;
    check_db(weir_dead_letter_claim(outbox, NULL, &scope, timeout_ns, letters_note, views,
                                    &claim, &fixture->error),
             WEIR_OK);
    check_int(claim.count, views->count);
    return claim;
}
