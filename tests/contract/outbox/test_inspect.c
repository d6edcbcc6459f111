/*
 * What an operator sees: queues, names, partitions, processes.
 */
#include <string.h>

#include "kit/outbox/accept.h"
#include "kit/outbox/outbox_engines.h"
#include "weir/inspect.h"
#include "weir/outbox.h"

enum { NAMES_SIZE = 200, ROWS_MAX = 16 };

struct seen {
    size_t count;
    struct weir_queue_info queues[ROWS_MAX]; /* texts are gone */
    struct weir_process_info processes[ROWS_MAX];
    char names[NAMES_SIZE]; /* "a b " */
};

static void see_name(void *state, const char *name)
{
    struct seen *seen = state;

    seen->count++;
    strncat(seen->names, name, 20);
    strncat(seen->names, " ", 2);
}

static void see_queue(void *state, const struct weir_queue_info *info)
{
    struct seen *seen = state;

    check(seen->count < ROWS_MAX);
    seen->queues[seen->count] = *info;
    see_name(seen, info->name);
}

static void see_process(void *state, const struct weir_process_info *info)
{
    struct seen *seen = state;

    check(seen->count < ROWS_MAX);
    seen->processes[seen->count] = *info;
    see_name(seen, info->name);
    see_name(seen, info->queue);
    see_name(seen, info->subscription);
    seen->count -= 2;
}

static struct weir_outbox *open_outbox(struct fixture *fixture, const char *process)
{
    struct weir_outbox_options options;
    struct weir_outbox *outbox = NULL;

    weir_outbox_options_init(&options);
    options.db = fixture->db;
    options.process_name = process;
    check_db(weir_outbox_create(&options, &outbox, &fixture->error), WEIR_OK);
    return outbox;
}

static void add_queue(struct fixture *fixture, struct weir_outbox *outbox,
                      const char *name, enum weir_unread unread)
{
    struct weir_queue_options options;

    weir_queue_options_init(&options);
    options.name = name;
    options.partitions = 2;
    options.unread = unread;
    check_db(weir_outbox_add_queue(outbox, &options, &fixture->error), WEIR_OK);
}

static void subscribe(struct fixture *fixture, struct weir_outbox *outbox,
                      const char *queue)
{
    struct weir_handler_options options;

    weir_handler_options_init(&options);
    options.queue = queue;
    options.on_message = accept_message;
    check_db(weir_outbox_add_handler(outbox, &options, &fixture->error), WEIR_OK);
}

static void enqueue(struct fixture *fixture, struct weir_outbox *outbox,
                    const char *queue, size_t count)
{
    static struct weir_draft drafts[10000];

    for (size_t i = 0; i < sizeof drafts / sizeof drafts[0]; i++)
        drafts[i] = (struct weir_draft){
            .route = weir_route_to_partition((int32_t)(i % 2)), .type = "t"};
    while (count > 0) {
        size_t some = count < 10000 ? count : 10000;

        check_db(
            weir_enqueue_batch(outbox, NULL, queue, drafts, some, NULL, &fixture->error),
            WEIR_OK);
        count -= some;
    }
}

static struct weir_queue_info read_queue(struct fixture *fixture,
                                         struct weir_outbox *outbox, const char *queue)
{
    struct seen seen = {0};

    check_db(weir_outbox_read_queue(outbox, queue, see_queue, &seen, &fixture->error),
             WEIR_OK);
    check_int(seen.count, 1);
    return seen.queues[0];
}

/* ---- queues ------------------------------------------------------------------------ */

OUTBOX_TEST(inspect, reads_the_names_in_order)
{
    struct weir_outbox *outbox = open_outbox(fixture, NULL);
    struct seen seen = {0};

    add_queue(fixture, outbox, "b", WEIR_UNREAD_KEEP);
    add_queue(fixture, outbox, "a", WEIR_UNREAD_KEEP);
    check_db(weir_outbox_read_queue_names(outbox, see_name, &seen, &fixture->error),
             WEIR_OK);

    check_str(seen.names, "a b ");
    weir_outbox_destroy(outbox);
}

OUTBOX_TEST(inspect, reads_one_queue_of_several)
{
    struct weir_outbox *outbox = open_outbox(fixture, NULL);
    struct seen seen = {0};

    add_queue(fixture, outbox, "a", WEIR_UNREAD_KEEP);
    add_queue(fixture, outbox, "b", WEIR_UNREAD_KEEP);
    check_db(weir_outbox_read_queue(outbox, "b", see_queue, &seen, &fixture->error),
             WEIR_OK);

    check_str(seen.names, "b ");
    weir_outbox_destroy(outbox);
}

OUTBOX_TEST(inspect, does_not_find_a_queue_that_is_not_there)
{
    struct weir_outbox *outbox = open_outbox(fixture, NULL);
    struct seen seen = {0};

    check_db(weir_outbox_read_queue(outbox, "b", see_queue, &seen, &fixture->error),
             WEIR_NOT_FOUND);
    check_db(weir_outbox_read_queue(outbox, "", see_queue, &seen, &fixture->error),
             WEIR_INVALID);
    weir_outbox_destroy(outbox);
}

/* Nobody has subscribed: they wait for whoever comes, and an operator wants to see
 * that. */
OUTBOX_TEST(inspect, counts_what_is_kept_for_nobody)
{
    struct weir_outbox *outbox = open_outbox(fixture, NULL);
    struct weir_queue_info info;

    add_queue(fixture, outbox, "kept", WEIR_UNREAD_KEEP);
    add_queue(fixture, outbox, "other", WEIR_UNREAD_KEEP);
    add_queue(fixture, outbox, "dropped", WEIR_UNREAD_DROP);
    enqueue(fixture, outbox, "kept", 5);
    enqueue(fixture, outbox, "other", 3);
    enqueue(fixture, outbox, "dropped", 2);

    info = read_queue(fixture, outbox, "kept");
    check_int(info.waiting, 5);
    check(!info.waiting_is_estimate);
    check(info.oldest_age_us > 0);
    check_int(read_queue(fixture, outbox, "other").waiting, 3);
    check_int(read_queue(fixture, outbox, "dropped").waiting, 0);
    weir_outbox_destroy(outbox);
}

OUTBOX_TEST(inspect, estimates_what_is_kept_for_nobody_when_it_is_much)
{
    enum { MANY = WEIR_LAG_EXACT_MAX + 20000 };
    struct weir_outbox *outbox = open_outbox(fixture, NULL);
    struct weir_queue_info info;

    add_queue(fixture, outbox, "kept", WEIR_UNREAD_KEEP);
    enqueue(fixture, outbox, "kept", MANY);

    info = read_queue(fixture, outbox, "kept");
    check(info.waiting_is_estimate);
    check_in_range(info.waiting, MANY * 9 / 10, MANY * 11 / 10);
    weir_outbox_destroy(outbox);
}

/* The rows that are looked at are all of another queue: that is no proof of anything. */
OUTBOX_TEST(inspect, promises_nothing_of_what_is_behind_much_else)
{
    struct weir_outbox *outbox = open_outbox(fixture, NULL);
    struct weir_queue_info info;

    add_queue(fixture, outbox, "large", WEIR_UNREAD_KEEP);
    add_queue(fixture, outbox, "small", WEIR_UNREAD_KEEP);
    subscribe(fixture, outbox, "large");
    subscribe(fixture, outbox, "small");
    enqueue(fixture, outbox, "large", 2 * WEIR_LAG_EXACT_MAX);
    enqueue(fixture, outbox, "small", 1);

    info = read_queue(fixture, outbox, "small");
    check(info.waiting_is_estimate || info.waiting == 1);
    check_db(weir_outbox_remove_queue(outbox, "small", false, &fixture->error),
             WEIR_BUSY);
    weir_outbox_destroy(outbox);
}

/* ---- beside the sweep: PostgreSQL -------------------------------------------------- */

/* As the sweep does, for as long as it judges and copies. */
static struct weir_connection *lock_log(struct fixture *fixture)
{
    struct weir_connection *connection = fixture_take(fixture);

    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    fixture_execute(fixture, connection, "LOCK TABLE {p}_log_0 IN ACCESS EXCLUSIVE MODE");
    return connection;
}

static void unlock_log(struct fixture *fixture, struct weir_connection *connection)
{
    weir_connection_rollback(connection);
    fixture_give(fixture, connection);
}

OUTBOX_POSTGRESQL_TEST(inspect, estimates_while_the_log_is_locked)
{
    struct weir_outbox *outbox = open_outbox(fixture, NULL);
    struct weir_connection *locker;
    struct weir_queue_info info;

    add_queue(fixture, outbox, "read", WEIR_UNREAD_KEEP);
    add_queue(fixture, outbox, "kept", WEIR_UNREAD_KEEP);
    subscribe(fixture, outbox, "read");
    enqueue(fixture, outbox, "read", 1000);
    locker = lock_log(fixture);

    info = read_queue(fixture, outbox, "read");
    check_int(info.waiting, 1000);
    check(info.waiting_is_estimate);
    check(read_queue(fixture, outbox, "kept").waiting_is_estimate);
    unlock_log(fixture, locker);
    weir_outbox_destroy(outbox);
}

/* The connection is one of many, and goes back to them. */
OUTBOX_POSTGRESQL_TEST(inspect, leaves_the_patience_of_its_connection_as_it_was)
{
    static const struct weir_sql SQL_WAIT_LIMIT = {
        .name = "read patience",
        .text = "SELECT setting::bigint FROM pg_settings WHERE name = 'lock_timeout'",
        .parameters = "",
    };
    struct weir_outbox *outbox = open_outbox(fixture, NULL);
    struct weir_connection *locker;
    struct weir_connection *connection = fixture_take(fixture);
    int64_t before = 0;
    int64_t after = 0;

    add_queue(fixture, outbox, "read", WEIR_UNREAD_KEEP);
    subscribe(fixture, outbox, "read");
    check_db(weir_connection_query_integer(connection, &SQL_WAIT_LIMIT, NO_VALUES,
                                           &before, &fixture->error),
             WEIR_OK);
    fixture_give(fixture, connection);
    locker = lock_log(fixture);
    check(read_queue(fixture, outbox, "read").waiting_is_estimate);
    connection = fixture_take(fixture);

    check_db(weir_connection_query_integer(connection, &SQL_WAIT_LIMIT, NO_VALUES, &after,
                                           &fixture->error),
             WEIR_OK);
    check_int(after, before);
    fixture_give(fixture, connection);
    unlock_log(fixture, locker);
    weir_outbox_destroy(outbox);
}

/* ---- processes --------------------------------------------------------------------- */

OUTBOX_TEST(inspect, reads_the_processes_that_are_alive)
{
    struct weir_outbox *outbox = open_outbox(fixture, "worker-1");
    struct seen seen = {0};

    add_queue(fixture, outbox, "a", WEIR_UNREAD_KEEP);
    add_queue(fixture, outbox, "b", WEIR_UNREAD_KEEP);
    subscribe(fixture, outbox, "b");
    check_db(weir_outbox_start(outbox, &fixture->error), WEIR_OK);
    check_db(
        weir_outbox_read_processes(outbox, NULL, see_process, &seen, &fixture->error),
        WEIR_OK);

    check_str(seen.names, "worker-1 b default ");
    check_int(seen.processes[0].partitions, 2);
    check(seen.processes[0].alive_us > 0);

    seen = (struct seen){0};
    check_db(weir_outbox_read_processes(outbox, "a", see_process, &seen, &fixture->error),
             WEIR_OK);
    check_int(seen.count, 0);

    check_int(weir_outbox_stop(outbox, WEIR_SECONDS(5)), 0);
    check_db(
        weir_outbox_read_processes(outbox, NULL, see_process, &seen, &fixture->error),
        WEIR_OK);
    check_int(seen.count, 0);
    weir_outbox_destroy(outbox);
}
