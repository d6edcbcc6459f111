/*
 * Every action of an operator on queues, subscriptions, dead letters and tokens: a row in
 * its transaction, and a row for a refusal.
 */
#include "base/count.h"
#include "contract/outbox/audit/audit_fixture.h"
#include "kit/outbox/dead_letter_fixture.h"
#include "weir/subscription.h"
#include "weir/token.h"

enum { LETTERS = 40 };

struct setup {
    struct fixture *fixture;
    struct weir_outbox *client;
    int64_t next_letter; /* each action takes another one */
};

/* One action: what it needs, how it works, how it is refused, and what tells whether it
 * has taken place. */
struct action {
    const char *name;
    const char *target;
    int64_t count;
    const char *state; /* SQL: another number when it has taken place */
    void (*prepare)(struct setup *setup);
    enum weir_status (*act)(struct setup *setup);
    enum weir_status (*refused)(struct setup *setup);
    const char *outcome; /* of that */
};

#define ERROR (&setup->fixture->error)
#define DB (setup->fixture->db)

/* ---- queues ------------------------------------------------------------------------ */

static enum weir_status add_queue(struct setup *setup)
{
    struct weir_queue_options options;

    weir_queue_options_init(&options);
    options.name = "added";
    options.partitions = 2;
    return weir_outbox_add_queue(setup->client, &options, ERROR);
}

static enum weir_status add_three(struct setup *setup)
{
    struct weir_queue_options options;

    weir_queue_options_init(&options);
    options.name = "bad";
    options.partitions = 3;
    return weir_outbox_add_queue(setup->client, &options, ERROR);
}

static enum weir_status set(struct setup *setup, const char *queue)
{
    struct weir_queue_options options;

    weir_queue_options_init(&options);
    options.name = queue;
    options.attempts_max = 7;
    options.partitions = 0;
    return weir_outbox_set_queue(setup->client, &options, NULL, ERROR);
}

static enum weir_status set_queue(struct setup *setup)
{
    return set(setup, "orders");
}

static enum weir_status set_none(struct setup *setup)
{
    return set(setup, "none");
}

static enum weir_status pause_queue(struct setup *setup)
{
    return weir_outbox_pause_queue(setup->client, "orders", ERROR);
}

static enum weir_status pause_none(struct setup *setup)
{
    return weir_outbox_pause_queue(setup->client, "none", ERROR);
}

static enum weir_status resume_queue(struct setup *setup)
{
    return weir_outbox_resume_queue(setup->client, "orders", ERROR);
}

/* A name that no database takes. */
static enum weir_status resume_nonsense(struct setup *setup)
{
    return weir_outbox_resume_queue(setup->client, "\xff\xfe no", ERROR);
}

static void prepare_removal(struct setup *setup)
{
    outbox_fixture_queue(setup->fixture, setup->client, "old", 1);
}

static enum weir_status remove_queue(struct setup *setup)
{
    return weir_outbox_remove_queue(setup->client, "old", false, ERROR);
}

static enum weir_status remove_busy(struct setup *setup)
{
    return weir_outbox_remove_queue(setup->client, "orders", false, ERROR);
}

/* ---- subscriptions ----------------------------------------------------------------- */

static enum weir_status pause_subscription(struct setup *setup)
{
    return weir_outbox_pause_subscription(setup->client, "orders", "default", ERROR);
}

static enum weir_status pause_nobody(struct setup *setup)
{
    return weir_outbox_pause_subscription(setup->client, "orders", "none", ERROR);
}

static enum weir_status resume_subscription(struct setup *setup)
{
    return weir_outbox_resume_subscription(setup->client, "orders", "default", ERROR);
}

static enum weir_status resume_nobody(struct setup *setup)
{
    return weir_outbox_resume_subscription(setup->client, "none", "default", ERROR);
}

static void prepare_seek(struct setup *setup)
{
    letters_subscribe(setup->fixture, "orders", "audit");
    outbox_fixture_send(setup->fixture, setup->client, "orders", 0, 2);
}

static enum weir_status seek(struct setup *setup)
{
    const struct weir_seek to = {.to = WEIR_SEEK_NOW};

    return weir_outbox_seek_subscription(setup->client, "orders", "audit", &to, NULL,
                                         NULL, ERROR);
}

static enum weir_status seek_too_far(struct setup *setup)
{
    const struct weir_seek to = {.to = WEIR_SEEK_SEQ, .seq = 100000};

    return weir_outbox_seek_subscription(setup->client, "orders", "audit", &to, NULL,
                                         NULL, ERROR);
}

static enum weir_status remove_subscription(struct setup *setup)
{
    return weir_outbox_remove_subscription(setup->client, "orders", "audit", false,
                                           ERROR);
}

static enum weir_status remove_with_letters(struct setup *setup)
{
    return weir_outbox_remove_subscription(setup->client, "orders", "default", false,
                                           ERROR);
}

/* ---- dead letters ------------------------------------------------------------------ */

static struct weir_dead_letter_claim claimed;

static struct weir_dead_letter_choice next(struct setup *setup)
{
    return (struct weir_dead_letter_choice){.ids = &setup->next_letter, .count = 1};
}

static struct weir_dead_letter_choice one_that_is_not(void)
{
    static const int64_t id = 123456;

    return (struct weir_dead_letter_choice){.ids = &id, .count = 1};
}

static void take_one(struct setup *setup)
{
    const struct weir_dead_letter_scope scope = {.queue = "orders",
                                                 .partition = WEIR_ANY_PARTITION};

    setup->next_letter =
        letters_list(setup->fixture, setup->client, &scope, WEIR_DEAD_LETTER_PENDING)
            ->items[0]
            .id;
}

static struct weir_dead_letter_scope one_of(const char *queue)
{
    return (struct weir_dead_letter_scope){
        .queue = queue, .partition = WEIR_ANY_PARTITION, .limit = 1};
}

static enum weir_status claim_of(struct setup *setup, const char *queue)
{
    const struct weir_dead_letter_scope scope = one_of(queue);
    static struct letter_views views;

    views.count = 0;
    return weir_dead_letter_claim(setup->client, NULL, &scope, WEIR_MINUTES(1),
                                  letters_note, &views, &claimed, ERROR);
}

static enum weir_status claim_one(struct setup *setup)
{
    return claim_of(setup, "orders");
}

static enum weir_status claim_none(struct setup *setup)
{
    return claim_of(setup, "none");
}

/* As another operator would, unseen. */
static void claim_for_it(struct setup *setup)
{
    const struct weir_audit_actor *before = weir_audit_act_as(NULL);
    const struct weir_dead_letter_scope scope = one_of("orders");
    static struct letter_views views;

    views.count = 0;
    check_int(weir_dead_letter_claim(setup->client, NULL, &scope, WEIR_MINUTES(1),
                                     letters_note, &views, &claimed, ERROR),
              WEIR_OK);
    check_int(views.count, 1);
    setup->next_letter = views.items[0].id;
    (void)weir_audit_act_as(before);
}

static enum weir_status resolve(struct setup *setup)
{
    struct weir_dead_letter_choice choice = next(setup);

    choice.token = claimed.token;
    return weir_dead_letter_resolve(setup->client, NULL, &choice, NULL, ERROR);
}

static enum weir_status resolve_none(struct setup *setup)
{
    struct weir_dead_letter_choice choice = one_that_is_not();

    choice.token = 5;
    return weir_dead_letter_resolve(setup->client, NULL, &choice, NULL, ERROR);
}

static enum weir_status reject(struct setup *setup)
{
    struct weir_dead_letter_choice choice = next(setup);

    choice.token = claimed.token;
    return weir_dead_letter_reject(setup->client, NULL, &choice, "still no good", NULL,
                                   ERROR);
}

static enum weir_status reject_without_reason(struct setup *setup)
{
    struct weir_dead_letter_choice choice = next(setup);

    return weir_dead_letter_reject(setup->client, NULL, &choice, "", NULL, ERROR);
}

static enum weir_status requeue(struct setup *setup)
{
    struct weir_dead_letter_choice choice = next(setup);

    return weir_dead_letter_requeue(setup->client, NULL, &choice, NULL, ERROR);
}

static enum weir_status requeue_none(struct setup *setup)
{
    struct weir_dead_letter_choice choice = one_that_is_not();

    return weir_dead_letter_requeue(setup->client, NULL, &choice, NULL, ERROR);
}

static enum weir_status requeue_all_of(struct setup *setup, const char *queue)
{
    const struct weir_dead_letter_scope scope = one_of(queue);
    struct weir_dead_letter_progress progress;

    return weir_dead_letter_requeue_all(setup->client, &scope, NULL, NULL, &progress,
                                        ERROR);
}

static enum weir_status requeue_all(struct setup *setup)
{
    return requeue_all_of(setup, "orders");
}

static enum weir_status requeue_all_of_none(struct setup *setup)
{
    return requeue_all_of(setup, "none");
}

static enum weir_status discard(struct setup *setup)
{
    struct weir_dead_letter_choice choice = next(setup);

    return weir_dead_letter_discard(setup->client, NULL, &choice, NULL, ERROR);
}

static enum weir_status discard_none(struct setup *setup)
{
    struct weir_dead_letter_choice choice = one_that_is_not();

    return weir_dead_letter_discard(setup->client, NULL, &choice, NULL, ERROR);
}

static enum weir_status discard_all_of(struct setup *setup, const char *queue)
{
    const struct weir_dead_letter_scope scope = one_of(queue);
    int64_t count = 0;

    return weir_dead_letter_discard_all(setup->client, NULL, &scope, &count, ERROR);
}

static enum weir_status discard_all(struct setup *setup)
{
    return discard_all_of(setup, "orders");
}

static enum weir_status discard_all_of_none(struct setup *setup)
{
    return discard_all_of(setup, "none");
}

static enum weir_status cleanup_of(struct setup *setup, const char *queue)
{
    const struct weir_dead_letter_scope scope = one_of(queue);
    int64_t count = 0;

    return weir_dead_letter_cleanup(setup->client, NULL, &scope, &count, ERROR);
}

static enum weir_status cleanup(struct setup *setup)
{
    return cleanup_of(setup, "orders");
}

static enum weir_status cleanup_none(struct setup *setup)
{
    return cleanup_of(setup, "none");
}

/* ---- tokens and the audit itself --------------------------------------------------- */

static enum weir_status create_of(struct setup *setup, const char *name)
{
    const struct weir_token_options options = {.name = name, .scopes = WEIR_SCOPE_READ};
    struct weir_new_token made;

    return weir_token_create(DB, NULL, &options, &made, ERROR);
}

static enum weir_status create_token(struct setup *setup)
{
    return create_of(setup, "ci");
}

static enum weir_status create_without_name(struct setup *setup)
{
    return create_of(setup, "");
}

static enum weir_status rotate_of(struct setup *setup, const char *name)
{
    struct weir_new_token made;

    return weir_token_rotate(DB, NULL, name, WEIR_HOURS(1), &made, ERROR);
}

static enum weir_status rotate_token(struct setup *setup)
{
    return rotate_of(setup, "ci");
}

static enum weir_status rotate_none(struct setup *setup)
{
    return rotate_of(setup, "none");
}

static enum weir_status revoke_of(struct setup *setup, const char *name)
{
    size_t count = 0;

    return weir_token_revoke(DB, NULL, name, &count, ERROR);
}

static enum weir_status revoke_token(struct setup *setup)
{
    return revoke_of(setup, "ci");
}

static enum weir_status revoke_none(struct setup *setup)
{
    return revoke_of(setup, "none");
}

static enum weir_status keep_a_day(struct setup *setup)
{
    return weir_audit_set_retention(DB, WEIR_HOURS(24), ERROR);
}

static enum weir_status keep_a_second(struct setup *setup)
{
    return weir_audit_set_retention(DB, WEIR_SECONDS(1), ERROR);
}

/* ---- all of them ------------------------------------------------------------------- */

#define COUNT_OF_STATUS(status)                                                          \
    "SELECT count(*) FROM weir_dead_letter WHERE status = '" status "'"
#define IS_PAUSED(table)                                                                 \
    "SELECT count(*) FROM weir_" table " WHERE paused AND name IN ('orders', 'default')"

static const struct action ACTIONS[] = {
    {"queue.add", "added", 1, "SELECT count(*) FROM weir_queue WHERE name = 'added'",
     NULL, add_queue, add_three, "invalid"},
    {"queue.set", "orders", 1,
     "SELECT attempts_max FROM weir_queue WHERE name = 'orders'", NULL, set_queue,
     set_none, "not_found"},
    {"queue.pause", "orders", 1, IS_PAUSED("queue"), NULL, pause_queue, pause_none,
     "not_found"},
    {"queue.resume", "orders", 1, IS_PAUSED("queue"), NULL, resume_queue, resume_nonsense,
     "invalid"},
    {"queue.remove", "old", 1, "SELECT count(*) FROM weir_queue WHERE name = 'old'",
     prepare_removal, remove_queue, remove_busy, "busy"},
    {"subscription.pause", "orders/default", 1, IS_PAUSED("subscription"), NULL,
     pause_subscription, pause_nobody, "not_found"},
    {"subscription.resume", "orders/default", 1, IS_PAUSED("subscription"), NULL,
     resume_subscription, resume_nobody, "not_found"},
    {"subscription.seek", "orders/audit", 1, "SELECT sum(epoch) FROM weir_lease",
     prepare_seek, seek, seek_too_far, "out_of_range"},
    {"subscription.remove", "orders/audit", 1, "SELECT count(*) FROM weir_subscription",
     NULL, remove_subscription, remove_with_letters, "busy"},
    {"dead_letter.claim", "orders limit=1", 1, COUNT_OF_STATUS("reprocessing"), NULL,
     claim_one, claim_none, "not_found"},
    {"dead_letter.resolve", NULL, 1, COUNT_OF_STATUS("resolved"), claim_for_it, resolve,
     resolve_none, "not_found"},
    {"dead_letter.reject", NULL, 1, COUNT_OF_STATUS("reprocessing"), claim_for_it, reject,
     reject_without_reason, "invalid"},
    {"dead_letter.requeue", NULL, 1, COUNT_OF_STATUS("resolved"), take_one, requeue,
     requeue_none, "not_found"},
    {"dead_letter.requeue", "orders limit=1", 1, COUNT_OF_STATUS("resolved"), NULL,
     requeue_all, requeue_all_of_none, "not_found"},
    {"dead_letter.discard", NULL, 1, COUNT_OF_STATUS("discarded"), take_one, discard,
     discard_none, "not_found"},
    {"dead_letter.discard", "orders limit=1", 1, COUNT_OF_STATUS("discarded"), NULL,
     discard_all, discard_all_of_none, "not_found"},
    {"dead_letter.cleanup", "orders limit=1", 1, "SELECT count(*) FROM weir_dead_letter",
     NULL, cleanup, cleanup_none, "not_found"},
    {"token.create", "ci", 1, "SELECT count(*) FROM weir_token", NULL, create_token,
     create_without_name, "invalid"},
    {"token.rotate", "ci", 1, "SELECT count(*) FROM weir_token", NULL, rotate_token,
     rotate_none, "not_found"},
    {"token.revoke", "ci", 2, "SELECT count(*) FROM weir_token WHERE revoked_us > 0",
     NULL, revoke_token, revoke_none, "not_found"},
    {"audit.retention", NULL, 1, "SELECT retain_us FROM weir_audit_policy", NULL,
     keep_a_day, keep_a_second, "out_of_range"},
};

static struct setup set_up(struct fixture *fixture)
{
    struct setup setup = {.fixture = fixture,
                          .client = letters_client(fixture, "orders", 1)};

    letters_make(fixture, "orders", "default", 0, LETTERS);
    (void)weir_audit_act_as(&ANNA);
    return setup;
}

static void tear_down(struct setup *setup)
{
    (void)weir_audit_act_as(NULL);
    weir_outbox_destroy(setup->client);
}

static void prepare(struct setup *setup, const struct action *action)
{
    const struct weir_audit_actor *before = weir_audit_act_as(NULL);

    if (action->prepare != NULL)
        action->prepare(setup);
    (void)weir_audit_act_as(before);
}

OUTBOX_TEST(audit_actions, each_has_one_row_that_says_what_was_done)
{
    struct setup setup = set_up(fixture);

    for (size_t i = 0; i < COUNT_OF(ACTIONS); i++) {
        const struct action *action = &ACTIONS[i];
        struct audit_view row;
        int64_t rows, state;

        prepare(&setup, action);
        rows = audit_count(fixture);
        state = fixture_ask(fixture, action->state);
        check_db(action->act(&setup), WEIR_OK);
        check(fixture_ask(fixture, action->state) != state);
        check_int(audit_count(fixture), rows + 1);
        row = audit_last(fixture);
        check_str(row.action, action->name);
        if (action->target != NULL)
            check_str(row.target, action->target);
        check_int(row.count, action->count);
        check_str(row.who, "anna");
        check_str(row.outcome, "ok");
        check_int(row.origin, WEIR_FROM_CLI);
        check(row.at_us > 0);
    }
    tear_down(&setup);
}

OUTBOX_TEST(audit_actions, each_that_is_refused_has_one_row_with_the_reason)
{
    struct setup setup = set_up(fixture);

    for (size_t i = 0; i < COUNT_OF(ACTIONS); i++) {
        const struct action *action = &ACTIONS[i];
        struct audit_view row;
        int64_t rows;

        prepare(&setup, action);
        rows = audit_count(fixture);
        check(action->refused(&setup) != WEIR_OK);
        check_int(audit_count(fixture), rows + 1);
        row = audit_last(fixture);
        check_str(row.action, action->name);
        check_str(row.outcome, action->outcome);
        check_int(row.count, 0);
    }
    tear_down(&setup);
}

/* What the row is written in is what the action is done in. */
OUTBOX_TEST(audit_actions, none_takes_place_when_its_row_cannot_be_written)
{
    struct setup setup = set_up(fixture);

    for (size_t i = 0; i < COUNT_OF(ACTIONS); i++) {
        const struct action *action = &ACTIONS[i];
        int64_t state;

        prepare(&setup, action);
        state = fixture_ask(fixture, action->state);
        fixture_prepare(fixture, "ALTER TABLE {p}_audit RENAME TO weir_away");
        check(action->act(&setup) != WEIR_OK);
        check(strstr(fixture->error.text, "audit") != NULL);
        fixture_prepare(fixture, "ALTER TABLE weir_away RENAME TO {p}_audit");
        check_int(fixture_ask(fixture, action->state), state);
        check_db(action->act(&setup), WEIR_OK); /* for the actions behind it */
    }
    tear_down(&setup);
}

OUTBOX_TEST(audit_actions, without_an_actor_have_no_row)
{
    struct setup setup = set_up(fixture);

    (void)weir_audit_act_as(NULL);
    for (size_t i = 0; i < COUNT_OF(ACTIONS); i++) {
        prepare(&setup, &ACTIONS[i]);
        check_db(ACTIONS[i].act(&setup), WEIR_OK);
        check(ACTIONS[i].refused(&setup) != WEIR_OK);
    }
    check_int(audit_count(fixture), 0);
    tear_down(&setup);
}
