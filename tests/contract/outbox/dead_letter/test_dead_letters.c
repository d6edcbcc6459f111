/*
 * Dead letters: looking at them, claiming them, and what becomes of them.
 */
#include <pthread.h>
#include <string.h>

#include "base/buf.h"
#include "kit/outbox/dead_letter_fixture.h"
#include "kit/outbox/outbox_application.h"
#include "outbox/dead_letter/dead_letter_rows.h"
#include "outbox/dead_letter/dead_letter_sql.h"
#include "outbox/mariadb/engine.h"
#include "outbox/sqlite/engine.h"

#define HOUR WEIR_HOURS(1)

static struct letter_views claimed;

/* ---- looking ----------------------------------------------------------------------- */

OUTBOX_TEST(letter, shows_everything_of_the_message_that_was_rejected)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 2);
    const struct weir_header headers[] = {{"trace", "4bf9"}};
    const struct weir_draft draft = {
        .key = "c42", /* of partition 1 */
        .type = "placed",
        .payload = "five",
        .payload_size = 4,
        .headers = headers,
        .header_count = 1,
    };
    struct weir_dead_letter_scope scope = letters_everything();
    const struct letter_view *letter;

    letters_make_of(fixture, "orders", "mail", &draft, 1);
    letter = letters_list(fixture, client, &scope, WEIR_DEAD_LETTER_PENDING)->items;

    check_str(letter->queue, "orders");
    check_str(letter->subscription, "mail");
    check_int(letter->partition, 1);
    check_int(letter->seq, 1);
    check_str(letter->key, "c42");
    check_str(letter->type, "placed");
    check_str(letter->payload, "five");
    check_int(letter->header_count, 1);
    check_int(letter->attempts, 0);
    check_str(letter->reason, "no good: five");
    check_int(letter->status, WEIR_DEAD_LETTER_PENDING);
    check(letter->created_us > 0 && letter->failed_us >= letter->created_us);
    check(letter->deadline_us == 0 && letter->completed_us == 0 && !letter->requeued);
    weir_outbox_destroy(client);
}

OUTBOX_TEST(letter, may_be_listed_without_payload_and_headers)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 1);
    const struct weir_header headers[] = {{"trace", "4bf9"}};
    struct weir_draft draft = outbox_fixture_draft(0, "five");
    struct weir_dead_letter_scope scope = letters_everything();
    const struct letter_view *letter;

    draft.headers = headers;
    draft.header_count = 1;
    letters_make_of(fixture, "orders", "mail", &draft, 1);
    scope.sealed = true;
    letter = letters_list(fixture, client, &scope, WEIR_DEAD_LETTER_PENDING)->items;

    check(letter->sealed);
    check_int(letter->header_count, 0);
    check_str(letter->reason, "no good: five");
    scope.sealed = false;
    letter = letters_list(fixture, client, &scope, WEIR_DEAD_LETTER_PENDING)->items;
    check(!letter->sealed);
    check_str(letter->payload, "five");
    weir_outbox_destroy(client);
}

OUTBOX_TEST(letter, lists_come_newest_first_and_page_by_page)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 1);
    struct weir_dead_letter_scope scope = letters_everything();
    struct weir_dead_letter_mark mark = {0};

    letters_make(fixture, "orders", "default", 0, 25);
    claimed.count = 0;
    scope.limit = 10;
    do {
        check_db(weir_dead_letter_list(client, NULL, &scope, WEIR_DEAD_LETTER_ANY, &mark,
                                       letters_note, &claimed, &fixture->error),
                 WEIR_OK);
        check_int(mark.more, claimed.count < 25);
    } while (mark.more);

    check_int(claimed.count, 25);
    for (size_t i = 1; i < 25; i++) {
        check(claimed.items[i].id < claimed.items[i - 1].id);
        check(claimed.items[i].failed_us <= claimed.items[i - 1].failed_us);
    }
    weir_outbox_destroy(client);
}

/* A hundred, when nobody says how many. */
OUTBOX_TEST(letter, lists_have_a_limit)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 1);
    struct weir_dead_letter_scope scope = letters_everything();
    struct weir_dead_letter_mark mark = {0};

    letters_make(fixture, "orders", "default", 0, 101);
    claimed.count = 0;
    check_db(weir_dead_letter_list(client, NULL, &scope, WEIR_DEAD_LETTER_PENDING, &mark,
                                   letters_note, &claimed, &fixture->error),
             WEIR_OK);

    check_int(claimed.count, 100);
    check(mark.more);
    weir_outbox_destroy(client);
}

/* What a page may hold is bounded in bytes, too; the next one goes on. */
OUTBOX_TEST(letter, pages_are_shorter_when_payloads_are_large)
{
    enum { SIZE = 6 * 1024 * 1024, COUNT = 3 };
    static char payload[SIZE];
    struct weir_outbox_options options = outbox_fixture_options(fixture, "clerk");
    struct weir_outbox *client;
    struct weir_dead_letter_scope scope = letters_everything();
    struct weir_dead_letter_mark mark = {0};
    struct weir_draft draft = outbox_fixture_draft(0, "");

    options.payload_size_max = SIZE;
    client = outbox_fixture_create(fixture, &options);
    outbox_fixture_queue(fixture, client, "orders", 1);
    memset(payload, 'x', SIZE);
    draft.payload = payload;
    draft.payload_size = SIZE;
    for (int i = 0; i < COUNT; i++)
        check_db(weir_enqueue(client, NULL, "orders", &draft, NULL, &fixture->error),
                 WEIR_OK);
    letters_reject(fixture, "orders", "default", COUNT);

    claimed.count = 0;
    for (size_t pages = 0; pages == 0 || mark.more; pages++) {
        check_db(weir_dead_letter_list(client, NULL, &scope, WEIR_DEAD_LETTER_ANY, &mark,
                                       letters_note, &claimed, &fixture->error),
                 WEIR_OK);
        check_int(claimed.count, pages == 0 ? 2 : COUNT);
    }
    weir_outbox_destroy(client);
}

/* ---- scopes ------------------------------------------------------------------------ */

/* Two queues, two subscriptions of the first, two partitions, keys and types: 7
 * letters. */
static void make_variety(struct fixture *fixture, struct weir_outbox *client)
{
    const struct weir_draft drafts[] = {
        {.key = "anna", .type = "placed"}, /* both keys are of partition 0 */
        {.key = "bert", .type = "paid"},
        {.route = {.partition = 1, .pinned = true}, .type = "paid"},
    };

    outbox_fixture_queue(fixture, client, "bills", 1);
    letters_subscribe(fixture, "orders", "audit");
    letters_make_of(fixture, "orders", "mail", drafts, 3);
    letters_reject(fixture, "orders", "audit", 3);
    letters_make_of(fixture, "bills", "mail", drafts, 1);
}

static size_t in_scope(struct fixture *fixture, struct weir_outbox *client,
                       const struct weir_dead_letter_scope *scope)
{
    size_t listed = letters_list(fixture, client, scope, WEIR_DEAD_LETTER_ANY)->count;
    int64_t counted = -1;

    check_db(weir_dead_letter_count(client, NULL, scope, WEIR_DEAD_LETTER_ANY, &counted,
                                    &fixture->error),
             WEIR_OK);
    check_int(counted, listed);
    return listed;
}

OUTBOX_TEST(letter, scope_of_a_queue_a_subscription_and_a_partition)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 2);
    struct weir_dead_letter_scope scope = letters_everything();

    make_variety(fixture, client);

    check_int(in_scope(fixture, client, &scope), 7);
    scope.queue = "orders";
    check_int(in_scope(fixture, client, &scope), 6);
    scope.partition = 1;
    check_int(in_scope(fixture, client, &scope), 2);
    scope.partition = WEIR_ANY_PARTITION;
    scope.subscription = "mail";
    check_int(in_scope(fixture, client, &scope), 3);
    scope.queue = NULL;
    check_int(in_scope(fixture, client, &scope), 4);
    weir_outbox_destroy(client);
}

OUTBOX_TEST(letter, scope_of_a_key_and_a_type)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 2);
    struct weir_dead_letter_scope scope = letters_everything();

    make_variety(fixture, client);

    scope.type = "paid";
    check_int(in_scope(fixture, client, &scope), 4);
    scope.key = "bert";
    check_int(in_scope(fixture, client, &scope), 2);
    scope.type = NULL;
    scope.key = "nobody";
    check_int(in_scope(fixture, client, &scope), 0);
    weir_outbox_destroy(client);
}

OUTBOX_TEST(letter, scope_of_a_span_of_time)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 1);
    struct weir_dead_letter_scope scope = letters_everything();
    int64_t failed_us[3];

    for (int i = 0; i < 3; i++)
        letters_make(fixture, "orders", "default", 0, 1);
    for (int i = 0; i < 3; i++) /* newest first */
        failed_us[2 - i] = letters_list(fixture, client, &scope, WEIR_DEAD_LETTER_ANY)
                               ->items[i]
                               .failed_us;

    scope.failed_from_us = failed_us[1];
    check_int(in_scope(fixture, client, &scope), 2);
    scope.failed_until_us = failed_us[2]; /* not among them */
    check_int(in_scope(fixture, client, &scope), 1);
    scope.failed_from_us = 0;
    check_int(in_scope(fixture, client, &scope), 2);
    weir_outbox_destroy(client);
}

OUTBOX_TEST(letter, counts_heed_no_limit)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 1);
    struct weir_dead_letter_scope scope = letters_everything();
    int64_t count = 0;

    letters_make(fixture, "orders", "default", 0, 5);
    scope.limit = 2;

    check_db(weir_dead_letter_count(client, NULL, &scope, WEIR_DEAD_LETTER_PENDING,
                                    &count, &fixture->error),
             WEIR_OK);
    check_int(count, 5);
    weir_outbox_destroy(client);
}

/* ---- claims ------------------------------------------------------------------------ */

static enum weir_status resolve(struct fixture *fixture, struct weir_outbox *client,
                                int64_t id, int64_t token)
{
    const struct weir_dead_letter_choice choice = {
        .ids = &id, .count = 1, .token = token};

    return weir_dead_letter_resolve(client, NULL, &choice, NULL, &fixture->error);
}

static enum weir_status reject(struct fixture *fixture, struct weir_outbox *client,
                               int64_t id, int64_t token, const char *reason)
{
    const struct weir_dead_letter_choice choice = {
        .ids = &id, .count = 1, .token = token};

    return weir_dead_letter_reject(client, NULL, &choice, reason, NULL, &fixture->error);
}

OUTBOX_TEST(claim, gives_letters_a_token_and_a_deadline)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 1);
    struct weir_dead_letter_claim claim;

    letters_make(fixture, "orders", "default", 0, 3);
    claim = letters_claim(fixture, client, 2, HOUR, &claimed);

    check_int(claim.count, 2);
    check(claim.token > 0);
    check_int(claimed.items[0].seq, 1); /* the oldest */
    check_int(claimed.items[1].seq, 2);
    check_int(claimed.items[0].status, WEIR_DEAD_LETTER_REPROCESSING);
    check_int(claimed.items[0].deadline_us, claim.deadline_us);
    check_int(letters_count(fixture, client, WEIR_DEAD_LETTER_REPROCESSING), 2);
    check_int(letters_count(fixture, client, WEIR_DEAD_LETTER_PENDING), 1);
    weir_outbox_destroy(client);
}

OUTBOX_TEST(claim, of_nothing_is_no_failure)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 1);

    check_int(letters_claim(fixture, client, 10, HOUR, &claimed).count, 0);
    weir_outbox_destroy(client);
}

OUTBOX_TEST(claim, then_resolve_ends_a_letter)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 1);
    struct weir_dead_letter_claim claim;
    struct letter_view letter;

    letters_make(fixture, "orders", "default", 0, 1);
    claim = letters_claim(fixture, client, 1, HOUR, &claimed);
    check_db(resolve(fixture, client, claimed.items[0].id, claim.token), WEIR_OK);

    letter = letters_read(fixture, client, claimed.items[0].id);
    check_int(letter.status, WEIR_DEAD_LETTER_RESOLVED);
    check(letter.completed_us >= letter.failed_us);
    check_int(letter.deadline_us, 0);
    check(!letter.requeued);
    weir_outbox_destroy(client);
}

OUTBOX_TEST(claim, then_reject_brings_it_back_with_a_new_reason)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 1);
    struct weir_dead_letter_claim claim;
    struct letter_view letter;

    letters_make(fixture, "orders", "default", 0, 1);
    claim = letters_claim(fixture, client, 1, HOUR, &claimed);
    check_db(reject(fixture, client, claimed.items[0].id, claim.token, "still no good"),
             WEIR_OK);

    letter = letters_read(fixture, client, claimed.items[0].id);
    check_int(letter.status, WEIR_DEAD_LETTER_PENDING);
    check_int(letter.attempts, 1);
    check_str(letter.reason, "still no good");
    check(letter.failed_us > claimed.items[0].failed_us);
    check_int(letters_claim(fixture, client, 1, HOUR, &claimed).count, 1);
    weir_outbox_destroy(client);
}

/* The answer was lost, and whoever asked asks again. */
OUTBOX_TEST(claim, may_be_resolved_and_rejected_twice_by_its_owner)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 1);
    struct weir_dead_letter_claim claim;

    letters_make(fixture, "orders", "default", 0, 2);
    claim = letters_claim(fixture, client, 2, HOUR, &claimed);
    for (int i = 0; i < 2; i++) {
        check_db(resolve(fixture, client, claimed.items[0].id, claim.token), WEIR_OK);
        check_db(reject(fixture, client, claimed.items[1].id, claim.token, "no"),
                 WEIR_OK);
    }

    check_int(letters_read(fixture, client, claimed.items[1].id).attempts, 1);
    check_int(letters_count(fixture, client, WEIR_DEAD_LETTER_RESOLVED), 1);
    weir_outbox_destroy(client);
}

OUTBOX_TEST(claim, that_ran_out_is_pending_again)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 1);
    struct letter_view letter;

    letters_make(fixture, "orders", "default", 0, 1);
    (void)letters_claim(fixture, client, 1, WEIR_MILLISECONDS(1), &claimed);
    wait_until(letters_count(fixture, client, WEIR_DEAD_LETTER_PENDING) == 1);

    letter = letters_read(fixture, client, claimed.items[0].id);
    check_int(letter.status, WEIR_DEAD_LETTER_PENDING);
    check_int(letters_count(fixture, client, WEIR_DEAD_LETTER_REPROCESSING), 0);
    check_int(outbox_fixture_queue_view(fixture, client, "orders").dead_letters, 1);
    check_int(letters_claim(fixture, client, 1, HOUR, &claimed).count, 1);
    weir_outbox_destroy(client);
}

OUTBOX_TEST(claim, that_another_one_has_by_now_is_refused_to_its_late_owner)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 1);
    struct weir_dead_letter_claim late;
    struct weir_dead_letter_claim next;
    int64_t id;

    letters_make(fixture, "orders", "default", 0, 1);
    late = letters_claim(fixture, client, 1, WEIR_MILLISECONDS(1), &claimed);
    id = claimed.items[0].id;
    wait_until(letters_count(fixture, client, WEIR_DEAD_LETTER_PENDING) == 1);
    next = letters_claim(fixture, client, 1, HOUR, &claimed);

    check_db(resolve(fixture, client, id, late.token), WEIR_FENCED);
    check(strstr(fixture->error.text, "under another token") != NULL);
    check_db(reject(fixture, client, id, late.token, "late"), WEIR_FENCED);
    check_int(letters_read(fixture, client, id).status, WEIR_DEAD_LETTER_REPROCESSING);
    check_db(resolve(fixture, client, id, next.token), WEIR_OK);
    check_db(resolve(fixture, client, id, late.token), WEIR_FENCED);
    weir_outbox_destroy(client);
}

/* Its work is done, and nobody has done it twice. */
OUTBOX_TEST(claim, that_ran_out_and_nobody_took_may_still_be_resolved)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 1);
    struct weir_dead_letter_claim late;

    letters_make(fixture, "orders", "default", 0, 1);
    late = letters_claim(fixture, client, 1, WEIR_MILLISECONDS(1), &claimed);
    wait_until(letters_count(fixture, client, WEIR_DEAD_LETTER_PENDING) == 1);

    check_db(resolve(fixture, client, claimed.items[0].id, late.token), WEIR_OK);
    weir_outbox_destroy(client);
}

OUTBOX_TEST(claim, that_ran_out_and_was_discarded_is_refused_to_its_late_owner)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 1);
    struct weir_dead_letter_scope scope = letters_everything();
    struct weir_dead_letter_claim late;
    int64_t discarded = 0;

    letters_make(fixture, "orders", "default", 0, 1);
    late = letters_claim(fixture, client, 1, WEIR_MILLISECONDS(1), &claimed);
    wait_until(letters_count(fixture, client, WEIR_DEAD_LETTER_PENDING) == 1);
    check_db(
        weir_dead_letter_discard_all(client, NULL, &scope, &discarded, &fixture->error),
        WEIR_OK);

    check_int(discarded, 1);
    check_db(resolve(fixture, client, claimed.items[0].id, late.token), WEIR_FENCED);
    weir_outbox_destroy(client);
}

/* What was never claimed comes before what somebody has failed at. */
OUTBOX_TEST(claim, takes_those_first_that_nobody_has_tried)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 1);

    letters_make(fixture, "orders", "default", 0, 2);
    (void)letters_claim(fixture, client, 1, WEIR_MILLISECONDS(1), &claimed);
    check_int(claimed.items[0].seq, 1);
    wait_until(letters_count(fixture, client, WEIR_DEAD_LETTER_PENDING) == 2);

    (void)letters_claim(fixture, client, 2, HOUR, &claimed);
    check_int(claimed.items[0].seq, 2);
    check_int(claimed.items[1].seq, 1);
    weir_outbox_destroy(client);
}

struct claimant {
    struct fixture *fixture;
    struct weir_outbox *outbox;
    struct letter_views views;
};

static void *claim_until_empty(void *argument)
{
    struct claimant *self = argument;
    struct weir_dead_letter_scope scope = letters_everything();
    struct weir_dead_letter_claim claim;
    size_t before;

    scope.limit = 3;
    do {
        before = self->views.count;
        check_status(weir_dead_letter_claim(self->outbox, NULL, &scope, HOUR,
                                            letters_note, &self->views, &claim, NULL),
                     WEIR_OK);
    } while (self->views.count > before);
    return NULL;
}

OUTBOX_TEST(claim, of_two_at_once_gives_each_letter_to_one_of_them)
{
    static struct claimant claimants[2];
    struct weir_outbox *client = letters_client(fixture, "orders", 1);
    bool seen[201] = {false};
    pthread_t threads[2];

    letters_make(fixture, "orders", "default", 0, 200);
    for (int i = 0; i < 2; i++) {
        claimants[i].fixture = fixture;
        claimants[i].outbox = client;
        claimants[i].views.count = 0;
        check_int(pthread_create(&threads[i], NULL, claim_until_empty, &claimants[i]), 0);
    }
    for (int i = 0; i < 2; i++)
        check_int(pthread_join(threads[i], NULL), 0);

    check_int(claimants[0].views.count + claimants[1].views.count, 200);
    for (int i = 0; i < 2; i++) {
        for (size_t n = 0; n < claimants[i].views.count; n++) {
            int64_t seq = claimants[i].views.items[n].seq;

            check(!seen[seq]);
            seen[seq] = true;
        }
    }
    weir_outbox_destroy(client);
}

/* One of them has not even committed. */
OUTBOX_SERVER_TEST(claim, waits_for_nobody)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 1);
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_dead_letter_scope scope = letters_everything();
    struct weir_dead_letter_claim claim;

    letters_make(fixture, "orders", "default", 0, 2);
    scope.limit = 1;
    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    claimed.count = 0;
    check_db(weir_dead_letter_claim(client, connection, &scope, HOUR, letters_note,
                                    &claimed, &claim, &fixture->error),
             WEIR_OK);
    check_int(claimed.items[0].seq, 1);

    (void)letters_claim(fixture, client, 10, HOUR, &claimed);

    check_int(claimed.count, 1);
    check_int(claimed.items[0].seq, 2);
    weir_connection_rollback(connection);
    fixture_give(fixture, connection);
    weir_outbox_destroy(client);
}

/* ---- several at once --------------------------------------------------------------- */

OUTBOX_TEST(verdicts, tell_of_each_letter_what_became_of_it)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 1);
    struct weir_dead_letter_claim mine;
    struct weir_dead_letter_claim other;
    enum weir_status verdicts[4];
    int64_t ids[4] = {0, 0, 123456, 0};

    letters_make(fixture, "orders", "default", 0, 3);
    mine = letters_claim(fixture, client, 1, HOUR, &claimed);
    ids[3] = claimed.items[0].id;
    other = letters_claim(fixture, client, 1, HOUR, &claimed);
    ids[0] = claimed.items[0].id;
    ids[1] = ids[0] + 1; /* pending */
    check(other.token != mine.token);

    check_db(weir_dead_letter_resolve(client, NULL,
                                      &(struct weir_dead_letter_choice){
                                          .ids = ids, .count = 4, .token = mine.token},
                                      verdicts, &fixture->error),
             WEIR_FENCED);

    check_status(verdicts[0], WEIR_FENCED);
    check_status(verdicts[1], WEIR_FENCED);
    check_status(verdicts[2], WEIR_NOT_FOUND);
    check_status(verdicts[3], WEIR_OK);
    check(strstr(fixture->error.text, "3 of 4 dead letters not resolved") != NULL);
    check_int(letters_count(fixture, client, WEIR_DEAD_LETTER_RESOLVED), 1);
    weir_outbox_destroy(client);
}

OUTBOX_TEST(verdicts, of_the_same_letter_twice_are_the_same)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 1);
    struct weir_dead_letter_claim claim;
    enum weir_status verdicts[2];
    int64_t ids[2];

    letters_make(fixture, "orders", "default", 0, 1);
    claim = letters_claim(fixture, client, 1, HOUR, &claimed);
    ids[0] = ids[1] = claimed.items[0].id;
    check_db(weir_dead_letter_reject(client, NULL,
                                     &(struct weir_dead_letter_choice){
                                         .ids = ids, .count = 2, .token = claim.token},
                                     "no", verdicts, &fixture->error),
             WEIR_OK);

    check_status(verdicts[0], WEIR_OK);
    check_status(verdicts[1], WEIR_OK);
    check_int(letters_read(fixture, client, ids[0]).attempts, 1);
    weir_outbox_destroy(client);
}

/* ---- discarding and removing ------------------------------------------------------- */

OUTBOX_TEST(discard, takes_pending_letters_and_leaves_claimed_ones)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 1);
    struct weir_dead_letter_scope scope = letters_everything();
    int64_t count = 0;

    letters_make(fixture, "orders", "default", 0, 3);
    (void)letters_claim(fixture, client, 1, HOUR, &claimed);
    check_db(weir_dead_letter_discard_all(client, NULL, &scope, &count, &fixture->error),
             WEIR_OK);

    check_int(count, 2);
    check_int(letters_count(fixture, client, WEIR_DEAD_LETTER_DISCARDED), 2);
    check_int(letters_count(fixture, client, WEIR_DEAD_LETTER_REPROCESSING), 1);
    weir_outbox_destroy(client);
}

OUTBOX_TEST(discard, heeds_scope_and_limit)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 2);
    struct weir_dead_letter_scope scope = letters_everything();
    int64_t count = 0;

    letters_make(fixture, "orders", "default", 0, 3);
    letters_make(fixture, "orders", "default", 1, 3);
    scope.queue = "orders";
    scope.partition = 1;
    scope.limit = 2;
    check_db(weir_dead_letter_discard_all(client, NULL, &scope, &count, &fixture->error),
             WEIR_OK);

    check_int(count, 2);
    scope.limit = 0;
    check_int(letters_list(fixture, client, &scope, WEIR_DEAD_LETTER_PENDING)->count, 1);
    weir_outbox_destroy(client);
}

OUTBOX_TEST(discard, of_one_that_is_claimed_needs_its_token)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 1);
    struct weir_dead_letter_choice choice = {.count = 1};
    struct weir_dead_letter_claim claim;

    letters_make(fixture, "orders", "default", 0, 1);
    claim = letters_claim(fixture, client, 1, HOUR, &claimed);
    choice.ids = &claimed.items[0].id;

    check_db(weir_dead_letter_discard(client, NULL, &choice, NULL, &fixture->error),
             WEIR_FENCED);
    choice.token = claim.token;
    check_db(weir_dead_letter_discard(client, NULL, &choice, NULL, &fixture->error),
             WEIR_OK);
    check_int(letters_count(fixture, client, WEIR_DEAD_LETTER_DISCARDED), 1);
    weir_outbox_destroy(client);
}

OUTBOX_TEST(cleanup, removes_what_is_decided_and_nothing_else)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 1);
    struct weir_dead_letter_scope scope = letters_everything();
    struct weir_dead_letter_claim claim;
    int64_t count = 0;

    letters_make(fixture, "orders", "default", 0, 4);
    claim = letters_claim(fixture, client, 2, HOUR, &claimed);
    check_db(resolve(fixture, client, claimed.items[0].id, claim.token), WEIR_OK);
    scope.limit = 1;
    check_db(weir_dead_letter_discard_all(client, NULL, &scope, &count, &fixture->error),
             WEIR_OK);
    scope.limit = 0;
    check_db(weir_dead_letter_cleanup(client, NULL, &scope, &count, &fixture->error),
             WEIR_OK);

    check_int(count, 2);
    check_int(letters_count(fixture, client, WEIR_DEAD_LETTER_ANY), 2);
    check_int(letters_count(fixture, client, WEIR_DEAD_LETTER_PENDING), 1);
    check_int(letters_count(fixture, client, WEIR_DEAD_LETTER_REPROCESSING), 1);
    check_db(weir_dead_letter_cleanup(client, NULL, &scope, &count, &fixture->error),
             WEIR_OK);
    check_int(count, 0);
    weir_outbox_destroy(client);
}

OUTBOX_TEST(cleanup, heeds_its_limit)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 1);
    struct weir_dead_letter_scope scope = letters_everything();
    int64_t count = 0;

    letters_make(fixture, "orders", "default", 0, 3);
    check_db(weir_dead_letter_discard_all(client, NULL, &scope, &count, &fixture->error),
             WEIR_OK);
    scope.limit = 2;
    check_db(weir_dead_letter_cleanup(client, NULL, &scope, &count, &fixture->error),
             WEIR_OK);

    check_int(count, 2);
    check_int(letters_count(fixture, client, WEIR_DEAD_LETTER_ANY), 1);
    weir_outbox_destroy(client);
}

/* More than one step of a bulk operation. */
OUTBOX_TEST(cleanup, of_more_than_one_transaction_removes_all)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 1);
    struct weir_dead_letter_scope scope = letters_everything();
    int64_t count = 0;

    letters_make(fixture, "orders", "default", 0, WEIR_DEAD_LETTER_STEP + 20);
    check_db(weir_dead_letter_discard_all(client, NULL, &scope, &count, &fixture->error),
             WEIR_OK);
    check_int(count, WEIR_DEAD_LETTER_STEP + 20);
    check_db(weir_dead_letter_cleanup(client, NULL, &scope, &count, &fixture->error),
             WEIR_OK);

    check_int(count, WEIR_DEAD_LETTER_STEP + 20);
    check_int(letters_count(fixture, client, WEIR_DEAD_LETTER_ANY), 0);
    weir_outbox_destroy(client);
}

/* ---- retention --------------------------------------------------------------------- */

OUTBOX_TEST(retention, removes_decided_letters_of_its_queue_and_keeps_pending_ones)
{
    struct weir_outbox_options options = outbox_fixture_options(fixture, "clerk");
    struct weir_tuning sweep = weir_tuning_of(WEIR_PROFILE_LOW_LATENCY, WEIR_KIND_SWEEP);
    struct weir_queue_options queue;
    struct weir_dead_letter_scope scope = letters_everything();
    struct weir_outbox *client;
    int64_t count = 0;

    sweep.idle_ns = WEIR_MILLISECONDS(50);
    options.tuning[WEIR_KIND_SWEEP] = &sweep;
    client = outbox_fixture_create(fixture, &options);
    weir_queue_options_init(&queue);
    queue.name = "orders";
    queue.dead_letter_retention_ns = WEIR_SECONDS(1);
    check_db(weir_outbox_add_queue(client, &queue, &fixture->error), WEIR_OK);
    outbox_fixture_queue(fixture, client, "bills", 1);
    letters_make(fixture, "bills", "default", 0, 1);
    letters_make(fixture, "orders", "default", 0, 3);
    scope.limit = 1;
    for (int i = 0; i < 2; i++) {
        scope.queue = i == 0 ? "orders" : "bills";
        check_db(
            weir_dead_letter_discard_all(client, NULL, &scope, &count, &fixture->error),
            WEIR_OK);
        check_int(count, 1);
    }
    outbox_fixture_start(fixture, client);

    wait_until(letters_count(fixture, client, WEIR_DEAD_LETTER_ANY) == 3);

    check_int(letters_count(fixture, client, WEIR_DEAD_LETTER_PENDING), 2);
    check_int(letters_count(fixture, client, WEIR_DEAD_LETTER_DISCARDED), 1);
    outbox_fixture_close(client);
}

/* ---- in the caller's transaction --------------------------------------------------- */

OUTBOX_TEST(letter, decisions_are_undone_with_the_transaction_they_are_made_in)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 1);
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_dead_letter_scope scope = letters_everything();
    struct weir_dead_letter_claim claim;
    struct weir_dead_letter_choice choice = {.count = 1};

    letters_make(fixture, "orders", "default", 0, 1);
    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    claimed.count = 0;
    check_db(weir_dead_letter_claim(client, connection, &scope, HOUR, letters_note,
                                    &claimed, &claim, &fixture->error),
             WEIR_OK);
    choice.ids = &claimed.items[0].id;
    choice.token = claim.token;
    check_db(weir_dead_letter_resolve(client, connection, &choice, NULL, &fixture->error),
             WEIR_OK);
    weir_connection_rollback(connection);

    check_int(letters_count(fixture, client, WEIR_DEAD_LETTER_PENDING), 1);
    fixture_give(fixture, connection);
    weir_outbox_destroy(client);
}

OUTBOX_TEST(letter, may_be_claimed_and_resolved_in_the_application_s_transaction)
{
    struct application application = application_start(fixture);
    struct weir_outbox *client = letters_client(fixture, "orders", 1);
    struct weir_dead_letter_scope scope = letters_everything();
    struct weir_dead_letter_claim claim;
    struct weir_dead_letter_choice choice = {.count = 1};
    struct weir_connection *connection;

    letters_make(fixture, "orders", "default", 0, 1);
    connection = application_adopt(fixture, &application);
    application_run(&application, "BEGIN");
    claimed.count = 0;
    check_db(weir_dead_letter_claim(client, connection, &scope, HOUR, letters_note,
                                    &claimed, &claim, &fixture->error),
             WEIR_OK);
    choice.ids = &claimed.items[0].id;
    check_db(weir_dead_letter_requeue(client, connection, &choice, NULL, &fixture->error),
             WEIR_FENCED); /* and the transaction is usable */
    choice.token = claim.token;
    check_db(weir_dead_letter_requeue(client, connection, &choice, NULL, &fixture->error),
             WEIR_OK);
    application_run(&application, "COMMIT");

    check_int(letters_count(fixture, client, WEIR_DEAD_LETTER_RESOLVED), 1);
    weir_connection_disown(connection);
    application_stop(&application);
    weir_outbox_destroy(client);
}

/* ---- what is refused --------------------------------------------------------------- */

static enum weir_status count_in(struct fixture *fixture, struct weir_outbox *client,
                                 const struct weir_dead_letter_scope *scope)
{
    int64_t count;

    return weir_dead_letter_count(client, NULL, scope, WEIR_DEAD_LETTER_ANY, &count,
                                  &fixture->error);
}

OUTBOX_TEST(scope, that_names_nothing_is_refused_and_not_empty)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 2);
    struct weir_dead_letter_scope scope = letters_everything();

    scope.queue = "nobody";
    check_db(count_in(fixture, client, &scope), WEIR_NOT_FOUND);
    check(strstr(fixture->error.text, "nobody") != NULL);
    scope.queue = "orders";
    scope.partition = 2;
    check_db(count_in(fixture, client, &scope), WEIR_OUT_OF_RANGE);
    scope.partition = WEIR_ANY_PARTITION;
    scope.subscription = "mail";
    check_db(count_in(fixture, client, &scope), WEIR_NOT_FOUND);
    check(strstr(fixture->error.text, "\"mail\" of queue orders") != NULL);
    scope.queue = NULL;
    check_db(count_in(fixture, client, &scope), WEIR_NOT_FOUND);
    scope.subscription = "-";
    check_db(count_in(fixture, client, &scope), WEIR_INVALID);
    scope = letters_everything();
    scope.partition = 1;
    check_db(count_in(fixture, client, &scope), WEIR_INVALID);
    scope = letters_everything();
    scope.failed_from_us = 7;
    scope.failed_until_us = 5;
    check_db(count_in(fixture, client, &scope), WEIR_INVALID);
    scope = letters_everything();
    scope.key = "\xff";
    check_db(count_in(fixture, client, &scope), WEIR_INVALID);
    weir_outbox_destroy(client);
}

OUTBOX_TEST(scope, has_a_limit_in_its_limits)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 1);
    struct weir_dead_letter_scope scope = letters_everything();
    struct weir_dead_letter_mark mark = {0};
    struct weir_dead_letter_claim claim;
    int64_t count;

    scope.limit = WEIR_DEAD_LETTER_LIMIT_MAX + 1;
    check_db(weir_dead_letter_list(client, NULL, &scope, WEIR_DEAD_LETTER_ANY, &mark,
                                   letters_note, &claimed, &fixture->error),
             WEIR_OUT_OF_RANGE);
    check(strstr(fixture->error.text, "10001, must be from 0 to 10000") != NULL);
    check_db(weir_dead_letter_claim(client, NULL, &scope, HOUR, letters_note, &claimed,
                                    &claim, &fixture->error),
             WEIR_OUT_OF_RANGE);
    scope.limit = -1;
    check_db(weir_dead_letter_cleanup(client, NULL, &scope, &count, &fixture->error),
             WEIR_OUT_OF_RANGE);
    weir_outbox_destroy(client);
}

OUTBOX_TEST(claim, lasts_from_a_millisecond_to_30_days)
{
    static const int64_t BAD[] = {0, -1, 999999, INT64_C(30) * 24 * WEIR_HOURS(1) + 1};
    struct weir_outbox *client = letters_client(fixture, "orders", 1);
    struct weir_dead_letter_scope scope = letters_everything();
    struct weir_dead_letter_claim claim;

    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++)
        check_db(weir_dead_letter_claim(client, NULL, &scope, BAD[i], letters_note,
                                        &claimed, &claim, &fixture->error),
                 WEIR_INVALID);
    check(strstr(fixture->error.text, "timeout_ns") != NULL);
    weir_outbox_destroy(client);
}

OUTBOX_TEST(verdicts, of_a_choice_that_cannot_be_are_none)
{
    static int64_t ids[WEIR_DEAD_LETTER_LIMIT_MAX + 1];
    struct weir_outbox *client = letters_client(fixture, "orders", 1);
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_dead_letter_choice choice = {.ids = ids, .count = 1};

    check_db(weir_dead_letter_resolve(client, NULL, &choice, NULL, &fixture->error),
             WEIR_INVALID); /* without a token */
    choice.token = -5;
    check_db(weir_dead_letter_requeue(client, NULL, &choice, NULL, &fixture->error),
             WEIR_INVALID);
    choice.token = 5;
    check_db(weir_dead_letter_reject(client, NULL, &choice, "", NULL, &fixture->error),
             WEIR_INVALID);
    check_db(weir_dead_letter_resolve(client, NULL, &choice, NULL, &fixture->error),
             WEIR_NOT_FOUND);
    check_db(weir_dead_letter_resolve(client, connection, &choice, NULL, &fixture->error),
             WEIR_INVALID); /* no transaction is open */
    choice.count = WEIR_DEAD_LETTER_LIMIT_MAX + 1;
    check_db(weir_dead_letter_resolve(client, NULL, &choice, NULL, &fixture->error),
             WEIR_OUT_OF_RANGE);
    choice.count = 0;
    check_db(weir_dead_letter_resolve(client, NULL, &choice, NULL, &fixture->error),
             WEIR_OK);
    fixture_give(fixture, connection);
    weir_outbox_destroy(client);
}

OUTBOX_TEST(letter, that_is_not_there_is_refused_by_its_id)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 1);

    check_db(weir_dead_letter_read(client, NULL, 4711, letters_note, &claimed,
                                   &fixture->error),
             WEIR_NOT_FOUND);
    check(strstr(fixture->error.text, "4711") != NULL);
    weir_outbox_destroy(client);
}

WEIR_TEST(letter, statuses_have_names_and_no_others)
{
    static const char *const NAMES[] = {"pending",   "reprocessing", "resolved",
                                        "discarded", "any",          "requeued"};
    enum weir_dead_letter_status status;
    struct weir_error error;

    for (int i = 0; i < 6; i++) {
        check_status(weir_dead_letter_status_parse(NAMES[i], &status, NULL), WEIR_OK);
        check_int((int)status, i);
        check_str(weir_dead_letter_status_name(status), NAMES[i]);
    }
    check_status(weir_dead_letter_status_parse("Pending", &status, &error), WEIR_INVALID);
    check(strstr(error.text, "\"Pending\"") != NULL);
    check_str(weir_dead_letter_status_name((enum weir_dead_letter_status)17), "unknown");
}

/* ---- how SQLite looks for them ----------------------------------------------------- */

/* The whole plan has the words, and sorts nothing. */
static void check_plan(struct fixture *fixture, const struct weir_sql *sql,
                       const char *wanted)
{
    struct weir_connection *connection = fixture_take(fixture);
    sqlite3 *native = weir_connection_native(connection);
    sqlite3_stmt *statement = NULL;
    bool found = false;
    struct weir_buf text;

    weir_buf_init(&text, weir_heap_system(), 1 << 16);
    weir_buf_append_text(&text, "EXPLAIN QUERY PLAN ");
    check_db(weir_sql_expand(sql, WEIR_SQLITE, "weir", &text, &fixture->error), WEIR_OK);
    check_int(sqlite3_prepare_v2(native, weir_buf_text(&text), -1, &statement, NULL),
              SQLITE_OK);
    while (sqlite3_step(statement) == SQLITE_ROW) {
        const char *line = (const char *)sqlite3_column_text(statement, 3);

        found = found || strstr(line, wanted) != NULL;
        check(strstr(line, "TEMP B-TREE") == NULL);
    }
    check(found);
    check_int(sqlite3_finalize(statement), SQLITE_OK);
    weir_buf_fini(&text);
    fixture_give(fixture, connection);
}

OUTBOX_SQLITE_TEST(letter, statements_go_by_their_index_and_sort_nothing)
{
    check_plan(fixture, &weir_letters_sqlite.claim,
               "INDEX weir_dead_letter_open (deadline_us<?)");
    check_plan(fixture, &weir_letters_sqlite.requeue,
               "INTEGER PRIMARY KEY (rowid>? AND rowid<?)");
    check_plan(fixture, &weir_letters_sqlite.expire,
               "INDEX weir_dead_letter_closed (completed_us<?)");
}

/* ---- how MariaDB looks for them ---------------------------------------------------- */

/* Of a session: rows and entries of indexes, temporary ones among them. */
static const struct weir_sql SQL_READS = {
    .name = "count reads",
    .text = "SELECT CAST(sum(variable_value) AS SIGNED)"
            " FROM information_schema.session_status"
            " WHERE variable_name LIKE 'Handler_read%'",
    .parameters = "",
};

/* What a statement reads to give `row_count` rows. */
static int64_t count_reads(struct fixture *fixture, const struct weir_sql *sql,
                           const struct weir_value *values, size_t value_count,
                           size_t row_count)
{
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_letter_picks picks;
    int64_t before = 0;
    int64_t after = 0;

    weir_letter_picks_init(&picks, weir_heap_system());
    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    check_db(weir_connection_query_integer(connection, &SQL_READS, NO_VALUES, &before,
                                           &fixture->error),
             WEIR_OK);
    check_db(weir_letter_picks_read(&picks, connection, sql, values, value_count,
                                    &fixture->error),
             WEIR_OK);
    check_db(weir_connection_query_integer(connection, &SQL_READS, NO_VALUES, &after,
                                           &fixture->error),
             WEIR_OK);
    check_int(picks.count, row_count);
    weir_connection_rollback(connection);
    weir_letter_picks_fini(&picks);
    fixture_give(fixture, connection);
    return after - before;
}

/* As after a bad night, and the nights before: some are open, and few of the
 * others old. */
static void fill_letters(struct fixture *fixture)
{
    fixture_prepare(fixture,
                    "INSERT INTO {p}_queue (name, partitions, retention_us, created_us)"
                    " SELECT concat('q', seq), 1, seq % 2 * 1000, 0 FROM seq_1_to_200");
    fixture_prepare(
        fixture,
        "INSERT INTO {p}_dead_letter (subscription, pid, seq, log_id, created_us, uid,"
        " type, payload, attempts, error, failed_us, status, deadline_us, completed_us)"
        " SELECT 1, 64 + seq % 64, seq, seq, 0, '', 't', '', 0, '', seq,"
        " CASE seq % 10 WHEN 0 THEN 'pending' WHEN 1 THEN 'reprocessing'"
        " ELSE 'resolved' END, CASE seq % 10 WHEN 1 THEN seq ELSE 0 END,"
        " CASE WHEN seq % 10 < 2 THEN 0 ELSE seq END FROM seq_1_to_20000");
}

OUTBOX_MARIADB_TEST(letter, statements_read_little_more_than_they_take)
{
    enum { TAKEN = 50, ENOUGH = 1000 };
    const struct weir_value max = weir_integer(INT64_MAX);
    const struct weir_value zero = weir_integer(0);
    const struct weir_value one = weir_integer(1);
    const struct weir_value none = weir_null();
    const struct weir_value taken = weir_integer(TAKEN);
    const struct weir_value middle = weir_integer(10000);

    fill_letters(fixture);

    check(count_reads(fixture, &weir_letters_maria.claim,
                      VALUES(zero, max, zero, max, none, none, none, middle, taken),
                      TAKEN) < ENOUGH);
    check(count_reads(fixture, &weir_letters_maria.list,
                      VALUES(zero, max, zero, max, none, none, none, middle, one, one,
                             one, one, middle, middle, taken),
                      TAKEN) < ENOUGH);
    check(count_reads(fixture, &weir_letters_maria.expire,
                      VALUES(taken, weir_integer(1042), weir_integer(42)), 32) < ENOUGH);
    check(count_reads(fixture, &weir_letters_maria.requeue,
                      VALUES(zero, max, zero, max, none, none, none, zero, middle,
                             weir_integer(4), middle),
                      4) < ENOUGH);
}
