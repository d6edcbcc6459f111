/*
 * dead_letter_fixture.h - dead letters for tests: how they come about, and notes of
 * what was seen.
 *
 *   OUTBOX_TEST(letter, is_pending_at_first)
 *   {
 *       struct weir_outbox *clerk = letters_client(fixture, "orders", 1);
 *
 *       letters_make(fixture, "orders", "default", 0, 3);
 *       check_int(letters_count(fixture, clerk, WEIR_DEAD_LETTER_PENDING), 3);
 *       weir_outbox_destroy(clerk);
 *   }
 *
 * The clerk is an outbox that never starts, as an operator's program is.
 */
#ifndef WEIR_TEST_DEAD_LETTER_FIXTURE_H
#define WEIR_TEST_DEAD_LETTER_FIXTURE_H

#include "kit/outbox/outbox_fixture.h"
#include "weir/dead_letter.h"

enum { LETTERS_MAX = 512, LETTER_TEXT_SIZE = 160 };

struct letter_view {
    int64_t id;
    char queue[LETTER_TEXT_SIZE];
    char subscription[LETTER_TEXT_SIZE];
    int32_t partition;
    int64_t seq;
    uint8_t uid[WEIR_UID_SIZE];
    char key[LETTER_TEXT_SIZE]; /* "": none */
    char type[LETTER_TEXT_SIZE];
    char payload[LETTER_TEXT_SIZE];
    bool sealed;
    size_t header_count;
    int64_t created_us;
    int64_t failed_us;
    uint32_t attempts;
    char reason[LETTER_TEXT_SIZE];
    enum weir_dead_letter_status status;
    int64_t deadline_us;
    int64_t completed_us;
    bool requeued;
    uint8_t requeued_uid[WEIR_UID_SIZE];
};

struct letter_views {
    struct letter_view items[LETTERS_MAX];
    size_t count;
};

/* A weir_dead_letter_fn on a struct letter_views. */
void letters_note(void *views, const struct weir_dead_letter *letter);

/* An outbox with this queue that is not started. Owes weir_outbox_destroy(). */
struct weir_outbox *letters_client(struct fixture *fixture, const char *queue,
                                   int32_t partitions);

/* Make the subscription, so that what comes from now on is kept for it. */
void letters_subscribe(struct fixture *fixture, const char *queue,
                       const char *subscription);

/* Have the subscription reject what waits for it, `count` messages, with the reason "no
 * good: PAYLOAD". */
void letters_reject(struct fixture *fixture, const char *queue, const char *subscription,
                    size_t count);

/* Enqueue `count` messages "1", "2", ... or these, and have them rejected. */
void letters_make(struct fixture *fixture, const char *queue, const char *subscription,
                  int32_t partition, size_t count);
void letters_make_of(struct fixture *fixture, const char *queue, const char *subscription,
                     const struct weir_draft *drafts, size_t count);

/* All of the status, of all queues. */
int64_t letters_count(struct fixture *fixture, struct weir_outbox *outbox,
                      enum weir_dead_letter_status status);

/* The newest, up to LETTERS_MAX. In memory of the scene, until the next call. */
struct letter_views *letters_list(struct fixture *fixture, struct weir_outbox *outbox,
                                  const struct weir_dead_letter_scope *scope,
                                  enum weir_dead_letter_status status);
struct letter_view letters_read(struct fixture *fixture, struct weir_outbox *outbox,
                                int64_t id);

/* Claim up to `limit` of everything. */
struct weir_dead_letter_claim letters_claim(struct fixture *fixture,
                                            struct weir_outbox *outbox, int64_t limit,
                                            int64_t timeout_ns,
                                            struct letter_views *views);

struct weir_dead_letter_scope letters_everything(void);

#endif
