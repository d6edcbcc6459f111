/*
 * Tests of sink/relay.c: from a transaction to a file or a process, on both engines.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/fault_point.h"
#include "kit/outbox/accept.h"
#include "kit/outbox/outbox_engines.h"
#include "kit/temp_dir.h"
#include "outbox/outbox.h"
#include "ward/system.h"
#include "weir/inspect.h"
#include "weir/relay.h"

enum { PARTITIONS = 4, URL_SIZE = TEMP_DIR_SIZE + 600 };

/* One process, so to say: an outbox with at most one relay. */
struct consumer {
    struct fixture *fixture;
    struct weir_db *db;
    struct weir_outbox *outbox;
    struct weir_relay *relay;
};

static void make_path(char *out, size_t size, const char *name)
{
    static int number;

    snprintf(out, size, "%s/%s-%d", temp_dir_of_program(), name, ++number);
}

static void consumer_open_limited(struct consumer *self, struct fixture *fixture,
                                  uint32_t attempts_max)
{
    struct weir_db_options db = fixture_options(fixture);
    struct weir_outbox_options options;
    struct weir_queue_options queue;

    *self = (struct consumer){.fixture = fixture, .db = fixture_open(fixture, &db)};
    weir_outbox_options_init(&options);
    options.db = self->db;
    options.profile = WEIR_PROFILE_LOW_LATENCY;
    check_db(weir_outbox_create(&options, &self->outbox, &fixture->error), WEIR_OK);
    weir_queue_options_init(&queue);
    queue.name = "orders";
    queue.partitions = PARTITIONS;
    queue.attempts_max = attempts_max;
    check_db(weir_outbox_add_queue(self->outbox, &queue, &fixture->error), WEIR_OK);
}

static void consumer_open(struct consumer *self, struct fixture *fixture)
{
    consumer_open_limited(self, fixture, 0);
}

__attribute__((format(printf, 3, 4))) static void
consumer_relay(struct consumer *self, const char *as, const char *format, ...)
{
    struct fixture *fixture = self->fixture;
    struct weir_relay_options options;
    char url[URL_SIZE];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(url, sizeof url, format, arguments);
    va_end(arguments);
    weir_relay_options_init(&options);
    options.queue = "orders";
    options.as = as;
    options.sink = url;
    check_db(weir_relay_open(self->outbox, &options, &self->relay, &fixture->error),
             WEIR_OK);
}

static void consumer_start(struct consumer *self)
{
    struct fixture *fixture = self->fixture;

    check_db(weir_outbox_start(self->outbox, &fixture->error), WEIR_OK);
}

static void consumer_close(struct consumer *self)
{
    check_int(weir_outbox_stop(self->outbox, WEIR_SECONDS(20)), 0);
    weir_relay_close(self->relay);
    weir_outbox_destroy(self->outbox);
    weir_db_destroy(self->db);
}

/* Messages `from` to `to` of each partition, a transaction for each number. */
static void enqueue(struct consumer *self, int from, int to)
{
    struct fixture *fixture = self->fixture;

    for (int n = from; n <= to; n++) {
        struct weir_draft drafts[PARTITIONS];
        char payload[32];

        snprintf(payload, sizeof payload, "number %d", n);
        for (int i = 0; i < PARTITIONS; i++)
            drafts[i] = (struct weir_draft){.route = weir_route_to_partition(i),
                                            .type = "text",
                                            .payload = payload,
                                            .payload_size = strlen(payload)};
        check_db(weir_enqueue_batch(self->outbox, NULL, "orders", drafts, PARTITIONS,
                                    NULL, &fixture->error),
                 WEIR_OK);
    }
}

static bool is_drained(struct consumer *self)
{
    struct fixture *fixture = self->fixture;
    bool drained = false;

    check_db(weir_relay_read_drained(self->relay, &drained, &fixture->error), WEIR_OK);
    return drained;
}

/* ---- what came --------------------------------------------------------------------- */

/* How many lines; each partition must be there from 1 on, in order and without a gap. */
static int read_lines(const char *path, int *highest)
{
    int last[PARTITIONS] = {0};
    FILE *file = fopen(path, "re");
    char *line = NULL;
    size_t size = 0;
    int count = 0;

    while (file != NULL && getline(&line, &size, file) > 0) {
        int partition, seq;
        char want[40];

        check_int(sscanf(line,
                         "{\"queue\":\"orders\",\"partition\":%d,\"seq\":%d,\"id\":",
                         &partition, &seq),
                  2);
        snprintf(want, sizeof want, "\"payload\":\"number %d\"}\n", seq);
        check(strstr(line, want) != NULL);
        check_int(seq, last[partition] + 1);
        last[partition] = seq;
        count++;
    }
    free(line);
    if (file != NULL)
        fclose(file);
    for (int i = 0; highest != NULL && i < PARTITIONS; i++)
        highest[i] = last[i];
    return count;
}

static int count_lines(const char *path)
{
    FILE *file = fopen(path, "re");
    int count = 0;
    int c;

    while (file != NULL && (c = fgetc(file)) != EOF)
        count += c == '\n';
    if (file != NULL)
        fclose(file);
    return count;
}

/* ---- to a file --------------------------------------------------------------------- */

OUTBOX_TEST(relay, writes_a_queue_to_a_file_in_order)
{
    char path[URL_SIZE];
    struct consumer consumer;
    int64_t waiting;
    bool exact;

    make_path(path, sizeof path, "out");
    consumer_open(&consumer, fixture);
    enqueue(&consumer, 1, 50);
    consumer_relay(&consumer, NULL, "file:%s", path);
    consumer_start(&consumer);
    check_db(weir_relay_read_waiting(consumer.relay, &waiting, &exact, &fixture->error),
             WEIR_OK);
    check_int(exact, true);
    enqueue(&consumer, 51, 100);
    wait_until(is_drained(&consumer));

    check_int(read_lines(path, NULL), 100 * PARTITIONS);
    wait_until(weir_relay_delivered(consumer.relay) >= 100 * PARTITIONS);
    check_int(weir_relay_delivered(consumer.relay), 100 * PARTITIONS);
    consumer_close(&consumer);
}

/* Drained means acknowledged: nothing comes again after a restart. */
OUTBOX_TEST(relay, is_drained_only_when_all_is_acknowledged)
{
    char path[URL_SIZE];
    struct consumer consumer;

    make_path(path, sizeof path, "drain");
    consumer_open(&consumer, fixture);
    enqueue(&consumer, 1, 30);
    for (int round = 1; round <= 3; round++) {
        consumer_relay(&consumer, NULL, "file:%s", path);
        consumer_start(&consumer);
        wait_until(is_drained(&consumer));
        check_int(read_lines(path, NULL), 30 * PARTITIONS * round);
        consumer_close(&consumer);
        consumer_open(&consumer, fixture);
        enqueue(&consumer, 30 * round + 1, 30 * round + 30);
    }
    weir_outbox_destroy(consumer.outbox);
    weir_db_destroy(consumer.db);
}

OUTBOX_TEST(relay, is_not_drained_before_it_delivers)
{
    char path[URL_SIZE];
    struct consumer consumer;
    int64_t waiting = 0;
    bool exact = false;

    make_path(path, sizeof path, "before");
    consumer_open(&consumer, fixture);
    consumer_relay(&consumer, NULL, "file:%s", path);
    check(is_drained(&consumer));
    enqueue(&consumer, 1, 5);
    check(!is_drained(&consumer));
    check_db(weir_relay_read_waiting(consumer.relay, &waiting, &exact, &fixture->error),
             WEIR_OK);
    check_int(waiting, 5 * PARTITIONS);
    check(exact);
    consumer_close(&consumer);
}

static void note(void *argument)
{
    *(_Atomic bool *)argument = true;
}

/* Deliveries that were under way and could not write are not taken for done. */
OUTBOX_TEST(relay, loses_nothing_when_stopped_in_the_middle)
{
    char path[URL_SIZE];
    _Atomic bool waits = false;
    struct weir_fault_points points;
    struct consumer consumer;
    int other;

    make_path(path, sizeof path, "middle");
    weir_fault_points_init(&points);
    weir_fault_points_arm_call(&points, "file.lock_is_taken", 1, note, &waits);
    consumer_open(&consumer, fixture);
    weir_outbox_set_fault_points(consumer.outbox, &points);
    consumer_relay(&consumer, NULL, "file:%s", path);
    other = open(path, O_RDWR | O_CLOEXEC);
    check_int(flock(other, LOCK_EX), 0);
    enqueue(&consumer, 1, 50);
    consumer_start(&consumer);
    wait_until(atomic_load(&waits));
    consumer_close(&consumer);
    check_int(count_lines(path), 0);
    close(other);

    consumer_open(&consumer, fixture);
    consumer_relay(&consumer, NULL, "file:%s", path);
    check(!is_drained(&consumer));
    consumer_start(&consumer);
    wait_until(is_drained(&consumer));
    check_int(read_lines(path, NULL), 50 * PARTITIONS);
    consumer_close(&consumer);
}

/* ---- names ------------------------------------------------------------------------- */

OUTBOX_TEST(relay, shares_the_partitions_with_others_of_its_name)
{
    char first[URL_SIZE], second[URL_SIZE];
    int64_t limit_ns = weir_system_now_ns() + WEIR_SECONDS(60);
    struct consumer a, b;

    make_path(first, sizeof first, "share-a");
    make_path(second, sizeof second, "share-b");
    consumer_open(&a, fixture);
    consumer_relay(&a, "audit", "file:%s", first);
    consumer_start(&a);
    consumer_open(&b, fixture);
    consumer_relay(&b, "audit", "file:%s", second);
    consumer_start(&b);
    for (int n = 1;
         weir_relay_delivered(a.relay) == 0 || weir_relay_delivered(b.relay) == 0; n++) {
        check(weir_system_now_ns() < limit_ns);
        enqueue(&a, n, n);
        wait_until(is_drained(&a));
    }
    wait_until(is_drained(&b));

    check_int((uint64_t)(count_lines(first) + count_lines(second)),
              weir_relay_delivered(a.relay) + weir_relay_delivered(b.relay));
    check_int(weir_relay_delivered(a.relay) + weir_relay_delivered(b.relay) >= PARTITIONS,
              true);
    check_int(
        (weir_relay_delivered(a.relay) + weir_relay_delivered(b.relay)) % PARTITIONS, 0);
    consumer_close(&b);
    consumer_close(&a);
}

OUTBOX_TEST(relay, gets_everything_under_each_name)
{
    char first[URL_SIZE], second[URL_SIZE];
    struct consumer a, b;

    make_path(first, sizeof first, "name-a");
    make_path(second, sizeof second, "name-b");
    consumer_open(&a, fixture);
    consumer_open(&b, fixture);
    enqueue(&a, 1, 20);
    consumer_relay(&a, "audit", "file:%s", first);
    consumer_relay(&b, "search", "file:%s", second);
    consumer_start(&a); /* what all have passed may be swept, so both subscribe before */
    consumer_start(&b);
    enqueue(&b, 21, 40);
    wait_until(is_drained(&a));
    wait_until(is_drained(&b));

    check_int(read_lines(first, NULL), 40 * PARTITIONS);
    check_int(read_lines(second, NULL), 40 * PARTITIONS);
    consumer_close(&b);
    consumer_close(&a);
}

OUTBOX_TEST(relay, refuses_the_name_of_a_handler)
{
    struct weir_handler_options handler;
    struct weir_relay_options options;
    char path[URL_SIZE], url[URL_SIZE + 8];
    struct consumer a, b;

    make_path(path, sizeof path, "handler");
    snprintf(url, sizeof url, "file:%s", path);
    consumer_open(&a, fixture);
    consumer_open(&b, fixture);
    weir_handler_options_init(&handler);
    handler.queue = "orders";
    handler.on_message = accept_message;
    check_db(weir_outbox_add_handler(a.outbox, &handler, &fixture->error), WEIR_OK);
    weir_relay_options_init(&options);
    options.queue = "orders";
    options.sink = url;
    check_db(weir_relay_open(b.outbox, &options, &b.relay, &fixture->error),
             WEIR_MISMATCH);
    check(b.relay == NULL);
    check(access(path, F_OK) != 0); /* nothing was made */
    consumer_close(&b);
    consumer_close(&a);
}

OUTBOX_TEST(relay, refuses_what_is_not_there)
{
    struct weir_relay_options options;
    struct consumer consumer;

    consumer_open(&consumer, fixture);
    weir_relay_options_init(&options);
    options.queue = "oders";
    options.sink = "stdout:";
    check_db(weir_relay_open(consumer.outbox, &options, &consumer.relay, &fixture->error),
             WEIR_NOT_FOUND);
    options.queue = "orders";
    options.sink = "fle:x";
    check_db(weir_relay_open(consumer.outbox, &options, &consumer.relay, &fixture->error),
             WEIR_INVALID);
    check_str(fixture->error.text, "no sink \"fle:x\"; did you mean \"file:PATH\"?");
    options.sink = NULL;
    check_db(weir_relay_open(consumer.outbox, &options, &consumer.relay, &fixture->error),
             WEIR_INVALID);
    consumer_close(&consumer);
}

/* ---- to processes ------------------------------------------------------------------ */

OUTBOX_TEST(relay, runs_a_process_for_each_message)
{
    char path[URL_SIZE];
    struct consumer consumer;

    make_path(path, sizeof path, "exec");
    consumer_open(&consumer, fixture);
    enqueue(&consumer, 1, 10);
    consumer_relay(&consumer, NULL, "exec:cat >> %s.$WEIR_PARTITION", path);
    consumer_start(&consumer);
    wait_until(is_drained(&consumer));

    for (int i = 0; i < PARTITIONS; i++) {
        char one[URL_SIZE + 16];

        snprintf(one, sizeof one, "%s.%d", path, i);
        check_int(read_lines(one, NULL), 10);
    }
    consumer_close(&consumer);
}

/* The first try of message 3 fails, message 5 is rejected; the order stays. */
OUTBOX_TEST(relay, tries_again_and_puts_aside)
{
    char path[URL_SIZE];
    struct weir_relay_health health;
    struct consumer consumer;

    make_path(path, sizeof path, "tries");
    consumer_open(&consumer, fixture);
    enqueue(&consumer, 1, 6);
    consumer_relay(
        &consumer, NULL,
        "exec:case $WEIR_SEQ,$WEIR_ATTEMPTS in 3,0) exit 75;; 5,*) exit 65;; esac;"
        " echo $WEIR_SEQ >> %s.$WEIR_PARTITION",
        path);
    consumer_start(&consumer);
    wait_until(is_drained(&consumer));

    for (int i = 0; i < PARTITIONS; i++) {
        char one[URL_SIZE + 16], text[64] = "";
        FILE *file;

        snprintf(one, sizeof one, "%s.%d", path, i);
        file = fopen(one, "re");
        check(file != NULL);
        check(fread(text, 1, sizeof text - 1, file) > 0);
        fclose(file);
        check_str(text, "1\n2\n3\n4\n6\n");
    }
    weir_relay_read_health(consumer.relay, &health);
    check_status(health.status, WEIR_OK);
    check(strncmp(weir_relay_name(consumer.relay), "exec:case", 9) == 0);
    check_int(weir_relay_delivered(consumer.relay), 6 * PARTITIONS);
    check_int(weir_relay_rejected(consumer.relay), PARTITIONS);
    consumer_close(&consumer);
}

/* Each has half of the time for itself; two in one delivery would not end. */
OUTBOX_TEST(relay, gives_each_process_the_time_of_a_delivery)
{
    struct weir_relay_options options;
    struct weir_relay_health health;
    struct consumer consumer;

    consumer_open(&consumer, fixture);
    enqueue(&consumer, 1, 3);
    weir_relay_options_init(&options);
    options.queue = "orders";
    options.sink = "exec:test $WEIR_ATTEMPTS = 0 && sleep 1.5";
    options.lease.duration_ns = WEIR_SECONDS(4);
    options.lease.headroom_ns = WEIR_SECONDS(1);
    check_db(weir_relay_open(consumer.outbox, &options, &consumer.relay, &fixture->error),
             WEIR_OK);
    consumer_start(&consumer);
    wait_until(is_drained(&consumer));
    wait_until(weir_relay_delivered(consumer.relay) >= 3 * PARTITIONS);

    check_int(weir_relay_delivered(consumer.relay), 3 * PARTITIONS);
    weir_relay_read_health(consumer.relay, &health);
    check_status(health.status, WEIR_OK);
    consumer_close(&consumer);
}

OUTBOX_TEST(relay, speaks_with_a_process_that_lives_on)
{
    char path[URL_SIZE];
    struct consumer consumer;

    make_path(path, sizeof path, "stream");
    consumer_open(&consumer, fixture);
    enqueue(&consumer, 1, 50);
    consumer_relay(
        &consumer, NULL,
        "exec-stream:while read -r line; do printf '%%s\\n' \"$line\" >> %s.$$;"
        " echo ok; done",
        path);
    consumer_start(&consumer);
    wait_until(is_drained(&consumer));
    wait_until(weir_relay_delivered(consumer.relay) >= 50 * PARTITIONS);
    check_int(weir_relay_delivered(consumer.relay), 50 * PARTITIONS);
    consumer_close(&consumer);
}

/* A handler that does not end is killed, and the outbox stops in time. */
OUTBOX_TEST(relay, stops_in_time_when_a_process_hangs)
{
    char path[URL_SIZE];
    struct consumer consumer;

    make_path(path, sizeof path, "hang");
    consumer_open(&consumer, fixture);
    enqueue(&consumer, 1, 1);
    consumer_relay(&consumer, NULL, "exec:touch %s; sleep 1000", path);
    consumer_start(&consumer);
    wait_until(access(path, F_OK) == 0);
    check_int(weir_outbox_stop(consumer.outbox, WEIR_SECONDS(20)), 0);
    consumer_close(&consumer);
}

/* ---- what cannot be stored --------------------------------------------------------- */

static bool is_full(void *full, const char *name)
{
    return strcmp(name, "acker.disk_full") == 0 && atomic_load((_Atomic bool *)full);
}

/* The messages have arrived, but nothing of that is on record. */
OUTBOX_TEST(relay, tells_that_acks_cannot_be_stored_and_counts_none_of_them)
{
    struct weir_relay_health health;
    struct weir_fault_points points;
    _Atomic bool full = true;
    char path[URL_SIZE];
    struct consumer consumer;

    weir_fault_points_init(&points);
    weir_fault_points_set_oracle(&points, is_full, &full);
    make_path(path, sizeof path, "full");
    consumer_open(&consumer, fixture);
    weir_outbox_set_fault_points(consumer.outbox, &points);
    consumer_relay(&consumer, NULL, "file:%s", path);
    enqueue(&consumer, 1, 1);
    consumer_start(&consumer);

    wait_until((weir_relay_read_health(consumer.relay, &health),
                health.status == WEIR_DISK_FULL));
    check(strstr(health.text, "acknowledge: no room") != NULL);
    check_int(weir_relay_delivered(consumer.relay), 0);

    atomic_store(&full, false);
    wait_until(
        (weir_relay_read_health(consumer.relay, &health), health.status == WEIR_OK));
    wait_until(weir_relay_delivered(consumer.relay) == PARTITIONS);
    consumer_close(&consumer);
}

OUTBOX_TEST(relay, counts_what_failed_as_often_as_it_may)
{
    struct consumer consumer;

    consumer_open_limited(&consumer, fixture, 1);
    consumer_relay(&consumer, NULL, "exec:false");
    enqueue(&consumer, 1, 1);
    consumer_start(&consumer);

    wait_until(weir_relay_given_up(consumer.relay) == PARTITIONS);
    check_int(weir_relay_rejected(consumer.relay), PARTITIONS);
    check_int(weir_relay_delivered(consumer.relay), PARTITIONS);
    consumer_close(&consumer);
}

/* ---- exactness --------------------------------------------------------------------- */

/* What waits behind a long backlog of another queue is not overlooked. */
OUTBOX_TEST(relay, is_not_drained_behind_the_backlog_of_others)
{
    enum { OTHERS = WEIR_LAG_EXACT_MAX + 10, STEP = 1000 };
    static struct weir_draft drafts[STEP];
    struct weir_queue_options queue;
    char path[URL_SIZE];
    struct consumer consumer;

    make_path(path, sizeof path, "behind");
    consumer_open(&consumer, fixture);
    weir_queue_options_init(&queue);
    queue.name = "others";
    check_db(weir_outbox_add_queue(consumer.outbox, &queue, &fixture->error), WEIR_OK);
    consumer_relay(&consumer, NULL, "file:%s", path);
    for (int i = 0; i < STEP; i++)
        drafts[i] = (struct weir_draft){.type = "text"};
    for (int sent = 0; sent < OTHERS; sent += STEP)
        check_db(weir_enqueue_batch(consumer.outbox, NULL, "others", drafts, STEP, NULL,
                                    &fixture->error),
                 WEIR_OK);
    enqueue(&consumer, 1, 1);
    for (int sent = 0; sent < OTHERS; sent += STEP)
        check_db(weir_enqueue_batch(consumer.outbox, NULL, "others", drafts, STEP, NULL,
                                    &fixture->error),
                 WEIR_OK);

    check(!is_drained(&consumer));
    consumer_start(&consumer);
    wait_until(is_drained(&consumer));
    check_int(read_lines(path, NULL), PARTITIONS);
    consumer_close(&consumer);
}
