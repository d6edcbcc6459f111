/*
 * Tests of the folder for signals (`signal=` in a URL of MariaDB): messages of another
 * process of the same host are delivered at once.
 *
 * One that has nothing to do looks once a second. A message that comes just after such
 * a look would wait for the next one, if nobody told.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "contract/db/child.h"
#include "db/clock.h"
#include "db/db.h"
#include "db/touch_file.h"
#include "kit/outbox/outbox_fixture.h"
#include "outbox/outbox.h"

/* A producer in a process of its own: it enqueues a message for each byte it gets. */
struct producer {
    struct fixture there; /* with a URL that has the folder */
    pid_t pid;
    int orders[2];
};

struct consumer {
    char folder[64];
    char path[WEIR_TOUCH_FILE_PATH_SIZE];
    struct producer producer;
    struct weir_db *db;
    struct weir_outbox *outbox;
    struct recorder *recorder;
};

static struct weir_db *open_without_signals(struct fixture *fixture);
static struct weir_outbox *open_outbox(struct fixture *fixture, struct weir_db *db,
                                       const char *name);
static void consumer_open(struct consumer *self, struct fixture *fixture);
static void consumer_start(struct consumer *self, struct fixture *fixture);
static void consumer_close(struct consumer *self);
static void send_one(struct consumer *self);
static struct weir_wake_info info(struct consumer *self);

/* ---- the claims -------------------------------------------------------------------- */

OUTBOX_MARIADB_TEST(signal, has_a_message_of_another_process_delivered_at_once)
{
    int64_t late_ns = 0;
    struct consumer consumer;

    consumer_open(&consumer, fixture);
    consumer_start(&consumer, fixture);

    for (size_t i = 1; i <= 2; i++) {
        struct weir_wake_info before = info(&consumer);
        int64_t sent_ns;

        wait_until(info(&consumer).polls >=
                   before.polls + 10); /* 2 + 4 + ... ms: at rest */
        before = info(&consumer);
        sent_ns = weir_clock_now_ns();
        send_one(&consumer);
        wait_until(recorder_count(consumer.recorder) == i);
        late_ns += weir_clock_now_ns() - sent_ns;
        wait_until(info(&consumer).hints > before.hints);
    }

    check_in_range(late_ns, 0, WEIR_SECONDS(1));
    consumer_close(&consumer);
}

/* The folder is gone: then it is as if there had never been one. */
OUTBOX_MARIADB_TEST(signal, is_not_needed_to_have_messages_delivered)
{
    struct consumer consumer;

    consumer_open(&consumer, fixture);
    consumer_start(&consumer, fixture);
    send_one(&consumer);
    wait_until(recorder_count(consumer.recorder) == 1);
    while (access(consumer.folder, F_OK) == 0) {
        (void)unlink(consumer.path);
        (void)rmdir(consumer.folder);
    }
    wait_until(!info(&consumer).listening);

    for (size_t i = 2; i <= 4; i++) {
        send_one(&consumer);
        wait_until(recorder_count(consumer.recorder) == i);
    }

    check_int(mkdir(consumer.folder, 0700), 0);
    consumer_close(&consumer);
}

/* What is found makes it look again soon: messages that nobody tells of come in quick
 * succession all the same. Ten by looks of once a second would take ten seconds. */
OUTBOX_MARIADB_TEST(poll, is_faster_while_messages_come)
{
    struct recorder *recorder = recorder_new();
    struct weir_db *db = open_without_signals(fixture);
    struct weir_outbox *outbox = open_outbox(fixture, db, "anna");
    struct weir_outbox *producer = outbox_fixture_outbox(fixture, "producer");
    struct weir_wake_info before;
    struct weir_wake_info after;
    int64_t begun_ns = weir_clock_now_ns();

    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_serve(fixture, outbox, "orders", recorder);
    outbox_fixture_start(fixture, outbox);
    weir_wake_read(outbox->wake, &before);
    for (size_t i = 1; i <= 10; i++) {
        outbox_fixture_send_text(fixture, producer, "orders", 0, "hello");
        wait_until(recorder_count(recorder) == i);
    }

    weir_wake_read(outbox->wake, &after);
    check_int(after.hints, before.hints);
    check_in_range(weir_clock_now_ns() - begun_ns, 0, WEIR_SECONDS(5));
    weir_outbox_destroy(producer);
    outbox_fixture_close(outbox);
    weir_db_destroy(db);
}

/* ---- helpers ----------------------------------------------------------------------- */

static struct weir_outbox *open_outbox(struct fixture *fixture, struct weir_db *db,
                                       const char *name)
{
    struct weir_outbox_options options = outbox_fixture_options(fixture, name);

    options.db = db;
    return outbox_fixture_create(fixture, &options);
}

static struct weir_db *open_without_signals(struct fixture *fixture)
{
    struct weir_db_options options = fixture_options(fixture);
    char url[SERVER_URL_SIZE + 16];

    snprintf(url, sizeof url, "%s?signal=off", fixture->url);
    options.url = url;
    return fixture_open(fixture, &options);
}

/* In the child, until the parent hangs up. */
static int produce(void *argument)
{
    struct producer *self = argument;
    struct weir_db_options options = fixture_options(&self->there);
    struct weir_db *db = fixture_open(&self->there, &options);
    struct weir_outbox *outbox = open_outbox(&self->there, db, "producer");
    char order;

    (void)close(self->orders[1]);
    while (read(self->orders[0], &order, 1) == 1)
        outbox_fixture_send_text(&self->there, outbox, "orders", 0, "hello");
    return 0;
}

static void consumer_open(struct consumer *self, struct fixture *fixture)
{
    struct producer *producer = &self->producer;
    struct weir_db_options options;

    *self = (struct consumer){.recorder = recorder_new()};
    snprintf(self->folder, sizeof self->folder, "%.40s/signal-XXXXXX", server_folder());
    check(mkdtemp(self->folder) != NULL);
    producer->there = *fixture;
    snprintf(producer->there.url, sizeof producer->there.url, "%.400s?signal=%s",
             fixture->url, self->folder);
    check_int(pipe2(producer->orders, O_CLOEXEC), 0);
    producer->pid = child_start(produce, producer);
    (void)close(producer->orders[0]);
    options = fixture_options(&producer->there);
    self->db = fixture_open(fixture, &options);
    self->outbox = open_outbox(fixture, self->db, "anna");
    weir_touch_file_path(self->folder, weir_db_config(self->db)->url.database,
                         self->outbox->channel, NULL, self->path);
}

static void consumer_start(struct consumer *self, struct fixture *fixture)
{
    outbox_fixture_queue(fixture, self->outbox, "orders", 1);
    outbox_fixture_serve(fixture, self->outbox, "orders", self->recorder);
    outbox_fixture_start(fixture, self->outbox);
    wait_until(info(self).listening);
}

static void consumer_close(struct consumer *self)
{
    (void)close(self->producer.orders[1]);
    check_int(child_wait(self->producer.pid), 0);
    outbox_fixture_close(self->outbox);
    weir_db_destroy(self->db);
    (void)unlink(self->path);
    check_int(rmdir(self->folder), 0);
}

static void send_one(struct consumer *self)
{
    check_int(write(self->producer.orders[1], "m", 1), 1);
}

static struct weir_wake_info info(struct consumer *self)
{
    struct weir_wake_info info;

    weir_wake_read(self->outbox->wake, &info);
    return info;
}
