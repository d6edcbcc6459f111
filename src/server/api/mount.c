/*
 * mount.c - see mount.h.
 *
 * Invariants, true whenever the lock is free:
 *
 *   I1  jobs wait only while the mount is ready and not closed
 *   I2  outbox and executions are made once, before the mount is ready first, and stay
 *
 * Readers and prober are workers of an executor of the mount's own: a thread for each,
 * so none of them waits for another. The notifier keeps one permit, and a reader looks
 * for jobs until there are none, so a job is never left behind.
 */
#include "server/api/mount.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/heap.h"
#include "base/text.h"
#include "db/db.h"
#include "db/migrate.h"
#include "execution/schema.h"
#include "outbox/schema.h"
#include "ward/lock.h"
#include "weir/executor.h"
#include "weir/notifier.h"
#include "weir/ward.h"

enum { PLACE_SIZE = 160, CONNECTIONS_DEFAULT = 8, JOBS_DEFAULT = 1024 };

struct weir_mount {
    const struct weir_heap *heap;      /* borrowed */
    struct weir_mount_options options; /* texts not used after create() */
    char name[WEIR_MOUNT_NAME_SIZE];
    char place[PLACE_SIZE];
    struct weir_db *db;
    struct weir_outbox *outbox;         /* NULL until it was opened */
    struct weir_executions *executions; /* likewise; NULL: there is no engine */
    struct weir_executor *executor;
    struct weir_ward *ward;
    bool prepared;               /* of the prober */
    struct stat file;            /* likewise: of SQLite, as it was opened */
    struct weir_notifier *work;  /* for readers */
    struct weir_notifier *probe; /* for the prober */

    struct weir_lock lock; /* guards all that follows */
    struct weir_list jobs;
    uint32_t job_count;
    bool closed;
    struct weir_mount_status status;
};

static void take_jobs(struct weir_mount *self, struct weir_list *out)
    WEIR_REQUIRES(self->lock);

/* ---- state ------------------------------------------------------------------------- */

const char *weir_mount_state_name(enum weir_mount_state state)
{
    static const char *const NAMES[] = {
        [WEIR_MOUNT_OPENING] = "opening",
        [WEIR_MOUNT_READY] = "ready",
        [WEIR_MOUNT_AWAY] = "away",
        [WEIR_MOUNT_UNFIT] = "unfit",
    };

    return NAMES[state];
}

/* All jobs that wait, out of the queue; they may be ended without the lock. */
static void take_jobs(struct weir_mount *self, struct weir_list *out)
{
    weir_list_init(out);
    while (!weir_list_empty(&self->jobs)) {
        struct weir_list *link = self->jobs.next;

        weir_list_remove(link);
        weir_list_append(out, link);
    }
    self->job_count = 0;
}

static void end_jobs(struct weir_list *jobs, const struct weir_error *error)
{
    while (!weir_list_empty(jobs)) {
        struct weir_mount_job *job =
            WEIR_CONTAINER_OF(jobs->next, struct weir_mount_job, link);

        weir_list_remove(&job->link);
        job->end(job, error);
    }
}

static void set_ready(struct weir_mount *self)
{
    weir_lock_acquire(&self->lock);
    self->status.state = WEIR_MOUNT_READY;
    self->status.tries++;
    self->status.text[0] = '\0';
    weir_lock_release(&self->lock);
}

/* The database cannot be used: what waits fails at once. */
static void set_away(struct weir_mount *self, const struct weir_error *error)
{
    bool unfit = error->status == WEIR_SCHEMA || error->status == WEIR_MISMATCH;
    struct weir_list jobs;
    struct weir_error answer = *error;

    weir_lock_acquire(&self->lock);
    self->status.state = unfit ? WEIR_MOUNT_UNFIT : WEIR_MOUNT_AWAY;
    self->status.tries++;
    weir_text_format(self->status.text, sizeof self->status.text, "%s", error->text);
    take_jobs(self, &jobs);
    weir_lock_release(&self->lock);
    answer.status = unfit ? WEIR_SCHEMA : WEIR_LOST;
    end_jobs(&jobs, &answer);
}

/* ---- the prober -------------------------------------------------------------------- */

/* False: it has no file, or the file is there, or that cannot be known. */
static bool misses_file(const struct weir_mount *self, struct stat *found)
{
    const struct weir_url *url = &weir_db_config(self->db)->url;

    *found = (struct stat){.st_ino = 0};
    return weir_db_engine(self->db) == WEIR_SQLITE && !weir_url_is_memory(url) &&
           stat(url->path, found) != 0 && errno == ENOENT;
}

/* A file that is not there is not made by looking for it. */
static enum weir_status check_file(const struct weir_mount *self,
                                   struct weir_error *error)
{
    struct stat found;

    if (!misses_file(self, &found))
        return WEIR_OK;
    return weir_error_set(error, WEIR_SCHEMA, "%s does not exist; run 'weir migrate'",
                          self->place);
}

static enum weir_status migrate(struct weir_mount *self, struct weir_error *error)
{
    enum weir_status status = weir_outbox_migrate(self->db, error);

    if (status == WEIR_OK && self->options.engine != WEIR_MOUNT_ENGINE_NO &&
        weir_schema_is_for(&weir_executions_schema, weir_db_engine(self->db)))
        status = weir_executions_migrate(self->db, error);
    return status;
}

/* Of the outbox, and of the engine: 0 where there is none. */
static enum weir_status read_schemas(struct weir_mount *self, uint32_t *outbox,
                                     uint32_t *engine, struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    struct weir_schema_version version = {0};
    enum weir_status status = weir_db_acquire(self->db, &connection, error);

    *outbox = 0;
    *engine = 0;
    if (status == WEIR_OK)
        status = weir_schema_read(&weir_outbox_schema, connection, &version, error);
    *outbox = version.number;
    if (status == WEIR_OK && *outbox == 0)
        status = weir_error_set(error, WEIR_SCHEMA,
                                "%s has no tables with prefix '%s'; run 'weir migrate'",
                                self->place, weir_db_prefix(self->db));
    if (status == WEIR_OK)
        status = weir_schema_check(&weir_outbox_schema, connection, error);
    if (status == WEIR_OK && self->options.engine != WEIR_MOUNT_ENGINE_NO &&
        weir_schema_is_for(&weir_executions_schema, weir_db_engine(self->db))) {
        version = (struct weir_schema_version){0};
        status = weir_schema_read(&weir_executions_schema, connection, &version, error);
        *engine = version.number;
        if (status == WEIR_OK && *engine > 0)
            status = weir_schema_check(&weir_executions_schema, connection, error);
    }
    weir_db_release(self->db, connection);
    return status;
}

static enum weir_status create_outbox(struct weir_mount *self, struct weir_error *error)
{
    struct weir_outbox_options options;

    if (self->outbox != NULL)
        return WEIR_OK;
    weir_outbox_options_init(&options);
    options.db = self->db;
    options.no_savepoint = true;
    return weir_outbox_create(&options, &self->outbox, error);
}

static enum weir_status create_executions(struct weir_mount *self, bool there,
                                          struct weir_error *error)
{
    struct weir_executions_options options;

    if (self->executions != NULL || !there)
        return WEIR_OK;
    weir_executions_options_init(&options);
    options.db = self->db;
    options.no_savepoint = true;
    return weir_executions_create(&options, &self->executions, error);
}

static enum weir_status open_all(struct weir_mount *self, struct weir_error *error)
{
    uint32_t outbox = 0;
    uint32_t engine = 0;
    enum weir_status status =
        self->options.migrate ? migrate(self, error) : check_file(self, error);

    if (status == WEIR_OK)
        status = read_schemas(self, &outbox, &engine, error);
    if (status == WEIR_OK)
        status = create_outbox(self, error);
    if (status == WEIR_OK)
        status = create_executions(self, engine > 0, error);
    if (status == WEIR_OK && self->options.prepare != NULL && !self->prepared)
        status = self->options.prepare(self->options.state, self, error);
    if (status == WEIR_OK)
        self->prepared = !misses_file(self, &self->file);
    weir_lock_acquire(&self->lock);
    self->status.schema = outbox;
    self->status.engine_schema = engine;
    weir_lock_release(&self->lock);
    return status;
}

/* Connections keep a file open that was removed or replaced, and would go on in it. */
static enum weir_status compare_file(const struct weir_mount *self,
                                     struct weir_error *error)
{
    struct stat found;
    bool missing = misses_file(self, &found);

    if (self->file.st_ino == 0)
        return WEIR_OK; /* no file, or it could not be looked at */
    if (!missing && (found.st_ino == 0 || (found.st_ino == self->file.st_ino &&
                                           found.st_dev == self->file.st_dev)))
        return WEIR_OK;
    return weir_error_set(error, WEIR_LOST,
                          "%s was %s; put it back or restart the server", self->place,
                          missing ? "removed" : "replaced");
}

/* Can it be reached? Costs one statement. */
static enum weir_status reach(struct weir_mount *self, struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    int64_t now_us;
    enum weir_status status = compare_file(self, error);

    if (status != WEIR_OK)
        return status;
    status = weir_db_acquire(self->db, &connection, error);
    if (status == WEIR_OK)
        status = weir_connection_clock(connection, &now_us, error);
    weir_db_release(self->db, connection);
    return status == WEIR_BUSY ? WEIR_OK : status; /* all connections are in use */
}

static bool was_opened(struct weir_mount *self)
{
    enum weir_mount_state state;

    weir_lock_acquire(&self->lock);
    state = self->status.state;
    weir_lock_release(&self->lock);
    return state == WEIR_MOUNT_READY || (state == WEIR_MOUNT_AWAY && self->prepared);
}

/* A failure backs off, as errors of workers do, and is tried again. */
static enum weir_status look(struct weir_context *context, void *state,
                             struct weir_directive *out, struct weir_error *error)
{
    struct weir_mount *self = state;
    enum weir_status status =
        was_opened(self) ? reach(self, error) : open_all(self, error);

    (void)context;
    if (status != WEIR_OK) {
        set_away(self, error);
        return status;
    }
    set_ready(self);
    *out = weir_sleep_for(self->options.probe_ns);
    return WEIR_OK;
}

/* ---- readers ----------------------------------------------------------------------- */

static struct weir_mount_job *take_job(struct weir_mount *self)
{
    struct weir_mount_job *job = NULL;

    weir_lock_acquire(&self->lock);
    if (!weir_list_empty(&self->jobs)) {
        job = WEIR_CONTAINER_OF(self->jobs.next, struct weir_mount_job, link);
        weir_list_remove(&job->link);
        self->job_count--;
    }
    weir_lock_release(&self->lock);
    return job;
}

static void run_job(struct weir_mount *self, struct weir_mount_job *job)
{
    struct weir_error error = {0};

    error.status = job->run(job, self, &error);
    if (error.status == WEIR_LOST) {
        set_away(self, &error);
        weir_notifier_notify_one(self->probe);
    }
    job->end(job, &error);
}

static enum weir_status read_jobs(struct weir_context *context, void *state,
                                  struct weir_directive *out, struct weir_error *error)
{
    struct weir_mount *self = state;
    struct weir_mount_job *job;

    (void)error;
    while (!weir_context_cancelled(context) && (job = take_job(self)) != NULL)
        run_job(self, job);
    *out = weir_idle();
    return WEIR_OK;
}

enum weir_status weir_mount_submit(struct weir_mount *self, struct weir_mount_job *job,
                                   struct weir_error *error)
{
    enum weir_status status = WEIR_OK;
    char text[WEIR_ERROR_TEXT_SIZE] = "";

    weir_lock_acquire(&self->lock);
    if (self->closed)
        status = WEIR_CLOSED;
    else if (self->status.state == WEIR_MOUNT_UNFIT)
        status = WEIR_SCHEMA;
    else if (self->status.state != WEIR_MOUNT_READY)
        status = WEIR_LOST;
    else if (self->job_count >= self->options.jobs_max)
        status = WEIR_BUSY;
    if (status == WEIR_OK) {
        weir_list_append(&self->jobs, &job->link);
        self->job_count++;
    } else {
        weir_text_format(text, sizeof text, "%s", self->status.text);
    }
    weir_lock_release(&self->lock);
    if (status == WEIR_OK)
        weir_notifier_notify_one(self->work);
    else if (status == WEIR_BUSY)
        return weir_error_set(error, status, "%u requests wait for database '%s'",
                              self->options.jobs_max, self->name);
    else if (status == WEIR_CLOSED)
        return weir_error_set(error, status, "the server is stopping");
    else
        return weir_error_set(error, status, "database '%s': %s", self->name,
                              text[0] != '\0' ? text : "not reached yet");
    return WEIR_OK;
}

/* ---- life -------------------------------------------------------------------------- */

void weir_mount_options_init(struct weir_mount_options *self)
{
    *self = (struct weir_mount_options){
        .prefix = "weir",
        .heap = weir_heap_system(),
        .connections = CONNECTIONS_DEFAULT,
        .statement_timeout_ns = WEIR_SECONDS(30),
        .probe_ns = WEIR_SECONDS(2),
        .jobs_max = JOBS_DEFAULT,
    };
}

static enum weir_status create_db(struct weir_mount *self,
                                  const struct weir_mount_options *options,
                                  struct weir_error *error)
{
    struct weir_db_options db;
    enum weir_status status;

    weir_db_options_init(&db);
    db.url = options->url;
    db.prefix = options->prefix;
    db.heap = options->heap;
    db.log = options->log;
    db.statement_timeout_ns = options->statement_timeout_ns;
    db.connections_max = options->connections;
    status = weir_db_create(&db, &self->db, error);
    if (status == WEIR_OK)
        weir_url_describe(&weir_db_config(self->db)->url, self->place,
                          sizeof self->place);
    return status;
}

static enum weir_status spawn(struct weir_mount *self, const char *name,
                              weir_action_fn action, struct weir_notifier *notifier,
                              struct weir_error *error)
{
    struct weir_worker_options options;
    enum weir_status status;

    weir_worker_options_init(&options);
    options.name = name;
    options.action = action;
    options.state = self;
    options.notifiers = &notifier;
    options.notifier_count = 1;
    options.on_panic = WEIR_ON_PANIC_RETRY;
    status = weir_backoff_init(&options.backoff, WEIR_MILLISECONDS(100), WEIR_SECONDS(5),
                               2.0, error);
    return status == WEIR_OK ? weir_ward_spawn(self->ward, &options, NULL, error)
                             : status;
}

static enum weir_status start(struct weir_mount *self, struct weir_error *error)
{
    struct weir_executor_options executor;
    struct weir_ward_options ward = {.name = self->name};
    enum weir_status status;

    weir_executor_options_init(&executor);
    executor.heap = self->heap;
    executor.threads = WEIR_MOUNT_READERS + 1;
    status = weir_executor_create(&executor, &self->executor, error);
    if (status == WEIR_OK)
        status = weir_notifier_create(self->executor, &self->work);
    if (status == WEIR_OK)
        status = weir_notifier_create(self->executor, &self->probe);
    if (status == WEIR_OK)
        status = weir_ward_create(self->executor, &ward, &self->ward, error);
    for (size_t i = 0; i < WEIR_MOUNT_READERS && status == WEIR_OK; i++)
        status = spawn(self, "reader", read_jobs, self->work, error);
    if (status == WEIR_OK)
        status = spawn(self, "prober", look, self->probe, error);
    if (status == WEIR_OK)
        weir_notifier_notify_one(self->probe);
    return status == WEIR_NO_MEMORY ? weir_error_set(error, status, "out of memory")
                                    : status;
}

enum weir_status weir_mount_create(const struct weir_mount_options *options,
                                   struct weir_mount **out, struct weir_error *error)
{
    struct weir_mount *self;
    enum weir_status status;

    *out = NULL;
    if (strlen(options->name) >= WEIR_MOUNT_NAME_SIZE)
        return weir_error_set(error, WEIR_INVALID,
                              "the name of a database has at most "
                              "64 characters");
    self = weir_heap_zalloc(options->heap, sizeof *self);
    if (self == NULL)
        return weir_error_set(error, WEIR_NO_MEMORY, "out of memory");
    self->heap = options->heap;
    self->options = *options;
    weir_text_format(self->name, sizeof self->name, "%s", options->name);
    weir_list_init(&self->jobs);
    status = weir_lock_init(&self->lock);
    if (status != WEIR_OK) {
        weir_heap_free(self->heap, self);
        return weir_error_set(error, status, "no lock could be made");
    }
    status = create_db(self, options, error);
    if (status == WEIR_OK)
        status = start(self, error);
    if (status != WEIR_OK) {
        weir_mount_destroy(self);
        return status;
    }
    *out = self;
    return WEIR_OK;
}

size_t weir_mount_stop(struct weir_mount *self, int64_t grace_ns)
{
    struct weir_list jobs;
    struct weir_error error = {0};

    weir_lock_acquire(&self->lock);
    self->closed = true;
    take_jobs(self, &jobs);
    weir_lock_release(&self->lock);
    weir_error_set(&error, WEIR_CLOSED, "the server is stopping");
    end_jobs(&jobs, &error);
    return self->ward != NULL ? weir_ward_stop(self->ward, grace_ns) : 0;
}

void weir_mount_destroy(struct weir_mount *self)
{
    if (self == NULL)
        return;
    if (weir_mount_stop(self, 0) > 0)
        return; /* a thread still uses it */
    weir_ward_destroy(self->ward);
    weir_notifier_destroy(self->work);
    weir_notifier_destroy(self->probe);
    weir_executions_destroy(self->executions);
    weir_outbox_destroy(self->outbox);
    weir_executor_destroy(self->executor);
    weir_db_destroy(self->db);
    weir_lock_fini(&self->lock);
    weir_heap_free(self->heap, self);
}

/* ---- reading ----------------------------------------------------------------------- */

void weir_mount_read_status(struct weir_mount *self, struct weir_mount_status *out)
{
    weir_lock_acquire(&self->lock);
    *out = self->status;
    weir_lock_release(&self->lock);
}

const char *weir_mount_name(const struct weir_mount *self)
{
    return self->name;
}

const char *weir_mount_place(const struct weir_mount *self)
{
    return self->place;
}

struct weir_db *weir_mount_db(const struct weir_mount *self)
{
    return self->db;
}

struct weir_outbox *weir_mount_outbox(const struct weir_mount *self)
{
    return self->outbox;
}

struct weir_executions *weir_mount_executions(const struct weir_mount *self)
{
    return self->executions;
}
