/*
 * test_mount.c - a database of a server: opened, lost, found again, and read by jobs.
 */
#include "server/api/mount.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "db/clock.h"
#include "kit/outbox/outbox_engines.h"
#include "kit/temp_dir.h"
#include "kit/test.h"
#include "weir/inspect.h"

#define WAIT_LIMIT_NS WEIR_SECONDS(60)

struct setup {
    struct weir_mount_options options;
    struct weir_mount *mount;
};

static void begin(struct setup *self, const char *url)
{
    struct weir_error error = {0};

    weir_mount_options_init(&self->options);
    self->options.name = "shop";
    self->options.url = url;
    self->options.probe_ns = WEIR_MILLISECONDS(20);
    check_status(weir_mount_create(&self->options, &self->mount, &error), WEIR_OK);
}

static void await(struct weir_mount *mount, enum weir_mount_state state)
{
    const struct timespec pause = {.tv_nsec = 2000000};
    int64_t end_ns = weir_clock_now_ns() + WAIT_LIMIT_NS;
    struct weir_mount_status status;

    weir_mount_read_status(mount, &status);
    while (status.state != state && weir_clock_now_ns() < end_ns) {
        nanosleep(&pause, NULL);
        weir_mount_read_status(mount, &status);
    }
    check_str(weir_mount_state_name(status.state), weir_mount_state_name(state));
}

/* ---- a job ------------------------------------------------------------------------- */

struct job {
    struct weir_mount_job job; /* first */
    enum weir_status answer;   /* of run() */
    sem_t *gate;               /* run() waits for it; NULL: it does not */
    sem_t began;
    sem_t ended;
    atomic_int runs;
    struct weir_error error;
};

static enum weir_status run(struct weir_mount_job *base, struct weir_mount *mount,
                            struct weir_error *error)
{
    struct job *self = (struct job *)(void *)base;

    (void)mount;
    atomic_fetch_add(&self->runs, 1);
    sem_post(&self->began);
    if (self->gate != NULL)
        sem_wait(self->gate);
    return self->answer == WEIR_OK ? WEIR_OK
                                   : weir_error_set(error, self->answer, "as asked");
}

static void end(struct weir_mount_job *base, const struct weir_error *error)
{
    struct job *self = (struct job *)(void *)base;

    self->error = *error;
    sem_post(&self->ended);
}

static void job_init(struct job *self)
{
    memset(self, 0, sizeof *self);
    self->job.run = run;
    self->job.end = end;
    weir_list_init(&self->job.link);
    sem_init(&self->began, 0, 0);
    sem_init(&self->ended, 0, 0);
}

static enum weir_status submit(struct setup *setup, struct job *job)
{
    return weir_mount_submit(setup->mount, &job->job, &job->error);
}

/* ---- opening ----------------------------------------------------------------------- */

static void note_name(void *state, const char *name)
{
    (void)state;
    (void)name;
}

static enum weir_status read_names(struct weir_mount_job *base, struct weir_mount *mount,
                                   struct weir_error *error)
{
    (void)base;
    return weir_outbox_read_queue_names(weir_mount_outbox(mount), note_name, NULL, error);
}

OUTBOX_TEST(mount, becomes_ready_and_reads)
{
    struct setup setup;
    struct job job;
    struct weir_mount_status status;

    begin(&setup, fixture->url);
    await(setup.mount, WEIR_MOUNT_READY);
    job_init(&job);
    job.job.run = read_names;

    check_status(submit(&setup, &job), WEIR_OK);
    sem_wait(&job.ended);
    check_status(job.error.status, WEIR_OK);
    weir_mount_read_status(setup.mount, &status);
    check(status.schema > 0);
    check_int(weir_mount_stop(setup.mount, WAIT_LIMIT_NS), 0);
    weir_mount_destroy(setup.mount);
}

ENGINE_TEST(mount, without_tables_is_unfit_and_says_what_to_do)
{
    struct setup setup;
    struct weir_mount_status status;
    struct job job;

    begin(&setup, fixture->url);
    await(setup.mount, WEIR_MOUNT_UNFIT);

    weir_mount_read_status(setup.mount, &status);
    check(strstr(status.text, "weir migrate") != NULL);
    job_init(&job);
    check_status(submit(&setup, &job), WEIR_SCHEMA);
    check_int(atomic_load(&job.runs), 0);
    check_int(weir_mount_stop(setup.mount, WAIT_LIMIT_NS), 0);
    weir_mount_destroy(setup.mount);
}

ENGINE_TEST(mount, becomes_ready_once_the_tables_are_made)
{
    struct setup setup;

    begin(&setup, fixture->url);
    await(setup.mount, WEIR_MOUNT_UNFIT);

    check_status(weir_outbox_migrate(fixture->db, &fixture->error), WEIR_OK);

    await(setup.mount, WEIR_MOUNT_READY);
    check_int(weir_mount_stop(setup.mount, WAIT_LIMIT_NS), 0);
    weir_mount_destroy(setup.mount);
}

ENGINE_TEST(mount, makes_the_tables_itself_if_it_is_allowed)
{
    struct setup setup;
    struct weir_error error = {0};

    weir_mount_options_init(&setup.options);
    setup.options.name = "shop";
    setup.options.url = fixture->url;
    setup.options.migrate = true;
    check_status(weir_mount_create(&setup.options, &setup.mount, &error), WEIR_OK);

    await(setup.mount, WEIR_MOUNT_READY);
    check((weir_mount_executions(setup.mount) == NULL) ==
          (fixture->engine == WEIR_MARIADB));
    check_int(weir_mount_stop(setup.mount, WAIT_LIMIT_NS), 0);
    weir_mount_destroy(setup.mount);
}

WEIR_TEST(mount, of_a_file_that_is_missing_does_not_make_it)
{
    struct setup setup;
    char url[300];
    FILE *file;

    snprintf(url, sizeof url, "sqlite:%s/missing.db", temp_dir_of_program());
    begin(&setup, url);

    await(setup.mount, WEIR_MOUNT_UNFIT);
    file = fopen(url + strlen("sqlite:"), "r");
    check(file == NULL);
    check_int(weir_mount_stop(setup.mount, WAIT_LIMIT_NS), 0);
    weir_mount_destroy(setup.mount);
}

WEIR_TEST(mount, that_cannot_be_reached_refuses_jobs_at_once)
{
    struct setup setup;
    struct job job;

    begin(&setup, "postgresql://weir@127.0.0.1:1/none");
    await(setup.mount, WEIR_MOUNT_AWAY);
    job_init(&job);

    check_status(submit(&setup, &job), WEIR_LOST);
    check(strstr(job.error.text, "database 'shop'") != NULL);
    check_int(atomic_load(&job.runs), 0);
    check_int(weir_mount_stop(setup.mount, WAIT_LIMIT_NS), 0);
    weir_mount_destroy(setup.mount);
}

WEIR_TEST(mount, refuses_a_url_that_is_wrong)
{
    struct weir_mount_options options;
    struct weir_mount *mount;
    struct weir_error error = {0};

    weir_mount_options_init(&options);
    options.name = "shop";
    options.url = "nonsense://x";

    check_status(weir_mount_create(&options, &mount, &error), WEIR_INVALID);
    check(mount == NULL);
}

/* ---- jobs -------------------------------------------------------------------------- */

OUTBOX_SQLITE_TEST(mount, runs_as_many_jobs_at_once_as_it_has_readers)
{
    struct setup setup;
    struct job jobs[WEIR_MOUNT_READERS + 1];
    sem_t gate;

    sem_init(&gate, 0, 0);
    begin(&setup, fixture->url);
    await(setup.mount, WEIR_MOUNT_READY);
    for (size_t i = 0; i <= WEIR_MOUNT_READERS; i++) {
        job_init(&jobs[i]);
        jobs[i].gate = &gate;
        check_status(submit(&setup, &jobs[i]), WEIR_OK);
    }
    for (size_t i = 0; i < WEIR_MOUNT_READERS; i++)
        sem_wait(&jobs[i].began);

    check_int(atomic_load(&jobs[WEIR_MOUNT_READERS].runs), 0);
    for (size_t i = 0; i <= WEIR_MOUNT_READERS; i++)
        sem_post(&gate);
    for (size_t i = 0; i <= WEIR_MOUNT_READERS; i++) {
        sem_wait(&jobs[i].ended);
        check_status(jobs[i].error.status, WEIR_OK);
    }
    check_int(weir_mount_stop(setup.mount, WAIT_LIMIT_NS), 0);
    weir_mount_destroy(setup.mount);
    sem_destroy(&gate);
}

OUTBOX_SQLITE_TEST(mount, refuses_jobs_beyond_its_limit)
{
    struct setup setup;
    struct job jobs[WEIR_MOUNT_READERS + 2];
    size_t last = WEIR_MOUNT_READERS + 1;
    sem_t gate;

    sem_init(&gate, 0, 0);
    weir_mount_options_init(&setup.options);
    setup.options.name = "shop";
    setup.options.url = fixture->url;
    setup.options.jobs_max = 1;
    check_status(weir_mount_create(&setup.options, &setup.mount, &fixture->error),
                 WEIR_OK);
    await(setup.mount, WEIR_MOUNT_READY);
    for (size_t i = 0; i < last; i++) {
        job_init(&jobs[i]);
        jobs[i].gate = &gate;
        check_status(submit(&setup, &jobs[i]), WEIR_OK);
        if (i < WEIR_MOUNT_READERS)
            sem_wait(&jobs[i].began);
    }
    job_init(&jobs[last]);

    check_status(submit(&setup, &jobs[last]), WEIR_BUSY);
    for (size_t i = 0; i < last; i++)
        sem_post(&gate);
    for (size_t i = 0; i < last; i++)
        sem_wait(&jobs[i].ended);
    check_int(weir_mount_stop(setup.mount, WAIT_LIMIT_NS), 0);
    weir_mount_destroy(setup.mount);
    sem_destroy(&gate);
}

/* The connection of a job is lost: what waits behind it fails, too, and a probe finds
 * the database again. */
OUTBOX_SQLITE_TEST(mount, that_loses_its_database_fails_what_waits_and_finds_it_again)
{
    struct setup setup;
    struct job jobs[WEIR_MOUNT_READERS + 1];
    sem_t gates[WEIR_MOUNT_READERS];

    begin(&setup, fixture->url);
    await(setup.mount, WEIR_MOUNT_READY);
    for (size_t i = 0; i <= WEIR_MOUNT_READERS; i++) {
        job_init(&jobs[i]);
        if (i < WEIR_MOUNT_READERS) {
            sem_init(&gates[i], 0, 0);
            jobs[i].gate = &gates[i];
        }
        check_status(submit(&setup, &jobs[i]), WEIR_OK);
        if (i < WEIR_MOUNT_READERS)
            sem_wait(&jobs[i].began);
    }
    jobs[0].answer = WEIR_LOST;

    sem_post(&gates[0]);
    sem_wait(&jobs[0].ended);
    sem_wait(&jobs[WEIR_MOUNT_READERS].ended);
    check_status(jobs[WEIR_MOUNT_READERS].error.status, WEIR_LOST);
    check_int(atomic_load(&jobs[WEIR_MOUNT_READERS].runs), 0);
    await(setup.mount, WEIR_MOUNT_READY);
    for (size_t i = 1; i < WEIR_MOUNT_READERS; i++) {
        sem_post(&gates[i]);
        sem_wait(&jobs[i].ended);
    }
    check_int(weir_mount_stop(setup.mount, WAIT_LIMIT_NS), 0);
    weir_mount_destroy(setup.mount);
}

static void await_text(struct weir_mount *mount, const char *text)
{
    const struct timespec pause = {.tv_nsec = 2000000};
    int64_t end_ns = weir_clock_now_ns() + WAIT_LIMIT_NS;
    struct weir_mount_status status;

    weir_mount_read_status(mount, &status);
    while (strstr(status.text, text) == NULL && weir_clock_now_ns() < end_ns) {
        nanosleep(&pause, NULL);
        weir_mount_read_status(mount, &status);
    }
    check(strstr(status.text, text) != NULL);
}

/* Its connections keep the file, but no other process sees what is in it. */
OUTBOX_SQLITE_TEST(mount, whose_file_was_removed_or_replaced_is_away_until_it_is_back)
{
    const char *path = strchr(fixture->url, ':') + 1;
    char kept[512];
    struct setup setup;
    FILE *file;

    snprintf(kept, sizeof kept, "%s.kept", path);
    begin(&setup, fixture->url);
    await(setup.mount, WEIR_MOUNT_READY);
    check_int(rename(path, kept), 0);
    await(setup.mount, WEIR_MOUNT_AWAY);
    file = fopen(path, "w");
    check(file != NULL && fclose(file) == 0);
    await_text(setup.mount, "was replaced");
    await(setup.mount, WEIR_MOUNT_AWAY);
    check_int(rename(kept, path), 0);
    await(setup.mount, WEIR_MOUNT_READY);
    check_int(weir_mount_stop(setup.mount, WAIT_LIMIT_NS), 0);
    weir_mount_destroy(setup.mount);
}

OUTBOX_SQLITE_TEST(mount, that_stops_ends_what_waits_and_refuses_the_rest)
{
    struct setup setup;
    struct job jobs[WEIR_MOUNT_READERS + 1];
    size_t last = WEIR_MOUNT_READERS;
    sem_t gate;

    sem_init(&gate, 0, 0);
    begin(&setup, fixture->url);
    await(setup.mount, WEIR_MOUNT_READY);
    for (size_t i = 0; i <= last; i++) {
        job_init(&jobs[i]);
        jobs[i].gate = &gate;
        check_status(submit(&setup, &jobs[i]), WEIR_OK);
        if (i < last)
            sem_wait(&jobs[i].began);
    }

    check(weir_mount_stop(setup.mount, 0) > 0);
    sem_wait(&jobs[last].ended);
    check_status(jobs[last].error.status, WEIR_CLOSED);
    check_int(atomic_load(&jobs[last].runs), 0);
    check_status(submit(&setup, &jobs[last]), WEIR_CLOSED);
    for (size_t i = 0; i < last; i++)
        sem_post(&gate);
    check_int(weir_mount_stop(setup.mount, WAIT_LIMIT_NS), 0);
    for (size_t i = 0; i < last; i++) {
        sem_wait(&jobs[i].ended);
        check_status(jobs[i].error.status, WEIR_OK);
    }
    weir_mount_destroy(setup.mount);
    sem_destroy(&gate);
}
