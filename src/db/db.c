/*
 * db.c - a database and its connections.
 *
 * Connections that are free wait on a stack; the one used last is taken first, so a
 * thread that works steadily keeps getting its own.
 *
 *   I1  free_count + in_use <= connections_max
 *   I2  a connection on the stack is of the current generation
 *
 * A generation ends when one of its connections is found lost: the free ones were
 * probably lost by the same event, and each would cost a caller a failed attempt,
 * so they are closed.
 *
 * While the database cannot be reached, attempts to connect are spaced out; those in
 * between fail at once. So a hundred workers do not knock down a server that is
 * starting.
 */
#include "db/db.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/arith.h"
#include "base/assert.h"
#include "base/duration.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/log.h"
#include "base/no_memory.h"
#include "db/clock.h"
#include "db/connection.h"
#include "db/server_key.h"
#include "db/sql.h"
#include "db/sqlite/write_waiters.h"
#include "db/touch_file.h"
#include "ward/bulkhead.h"
#include "ward/executor.h"
#include "ward/lock.h"
#include "ward/system.h"

enum { CONNECTIONS_MAX = 1024 };

static const struct weir_backoff RECONNECT = {
    .initial_ns = WEIR_MILLISECONDS(20),
    .max_ns = WEIR_SECONDS(2),
    .multiplier = 2.0,
    .jitter = 0.5,
};

struct weir_db {
    const struct weir_heap *heap;
    struct weir_log log;
    struct weir_link_config config;
    struct weir_write_waiters writers; /* of config */
    struct weir_server_key server;     /* likewise */
    const struct weir_driver *driver;
    char *prefix;
    uint32_t connections_max;
    _Atomic bool signal_failed; /* the last one */

    struct weir_lock lock;         /* guards all that follows; never held during I/O */
    struct weir_connection **free; /* a stack with room for connections_max */
    uint32_t free_count;
    uint32_t in_use;
    uint32_t abandoned; /* of those in use; see weir_db_abandon() */
    bool destroyed;     /* and only waits for them */
    uint64_t generation;
    char qualifier[WEIR_QUALIFIER_SIZE]; /* where the tables were found; "": not yet */
    struct weir_list connections;        /* all of them, free or in use */
    struct weir_link *anchor;            /* SQLite in memory: what keeps it alive */
    struct weir_bulkhead reconnect;
    int64_t reconnect_ns; /* no attempt before */
};

static const struct weir_driver *const DRIVERS[] = {
    [WEIR_SQLITE] = &weir_driver_sqlite,
    [WEIR_POSTGRESQL] = &weir_driver_postgresql,
    [WEIR_MARIADB] = &weir_driver_mariadb,
};

/* ---- life -------------------------------------------------------------------------- */

void weir_db_options_init(struct weir_db_options *self)
{
    *self = (struct weir_db_options){
        .statement_timeout_ns = WEIR_SECONDS(30),
        .lock_timeout_ns = WEIR_SECONDS(10),
        .connect_timeout_ns = WEIR_SECONDS(10),
        .connections_max = 64,
    };
}

static enum weir_status check_options(const struct weir_db_options *options,
                                      struct weir_error *error)
{
    enum weir_status status = weir_duration_check(
        "statement_timeout_ns", options->statement_timeout_ns, 0, WEIR_HOURS(24), error);

    if (status == WEIR_OK)
        status = weir_duration_check("lock_timeout_ns", options->lock_timeout_ns, 0,
                                     WEIR_HOURS(24), error);
    if (status == WEIR_OK)
        status = weir_duration_check("connect_timeout_ns", options->connect_timeout_ns,
                                     WEIR_SECONDS(1), WEIR_HOURS(1), error);
    if (status == WEIR_OK &&
        (options->connections_max < 1 || options->connections_max > CONNECTIONS_MAX))
        status =
            weir_error_set(error, WEIR_INVALID, "connections_max is %u, must be 1 to %d",
                           options->connections_max, CONNECTIONS_MAX);
    if (status == WEIR_OK && options->prefix != NULL)
        status = weir_prefix_check(options->prefix, error);
    return status;
}

/* Of the pauses before connecting again; in a simulation they repeat. */
static uint64_t seed_of(const struct weir_executor *executor)
{
    return executor != NULL && executor->simulated ? executor->seed
                                                   : weir_system_random();
}

/* Where commits are signalled by a file: on MariaDB, which is neither in this process nor
 * notifies. */
static const char *signal_folder_of(const struct weir_db *self)
{
    const struct weir_url *url = &self->config.url;

    if (self->driver->traits.in_process || self->driver->traits.has_notify ||
        url->signal_off)
        return NULL;
    return url->signal != NULL ? url->signal : weir_touch_file_default_folder();
}

static enum weir_status fill(struct weir_db *self, const struct weir_db_options *options,
                             struct weir_error *error)
{
    const char *prefix = options->prefix != NULL ? options->prefix : "weir";
    enum weir_status status =
        weir_url_parse(self->heap, options->url, &self->config.url, error);

    if (status == WEIR_OK && self->config.url.signal != NULL)
        status = weir_touch_file_check(self->config.url.signal, error);
    if (status != WEIR_OK)
        return status;
    self->driver = DRIVERS[self->config.url.engine];
    self->config.signal_folder = signal_folder_of(self);
    self->config.heap = self->heap;
    self->config.log = &self->log;
    self->config.statement_timeout_ns = options->statement_timeout_ns;
    self->config.lock_timeout_ns = options->lock_timeout_ns;
    self->config.connect_timeout_ns = options->connect_timeout_ns;
    (void)snprintf(self->config.memory_name, sizeof self->config.memory_name,
                   "weir-%016llx", (unsigned long long)weir_system_random());
    self->connections_max = options->connections_max;
    weir_bulkhead_init(&self->reconnect, &RECONNECT, seed_of(options->executor));
    self->prefix = weir_heap_copy(self->heap, prefix, strlen(prefix));
    self->free =
        weir_heap_zalloc_array(self->heap, options->connections_max, sizeof *self->free);
    if (self->prefix == NULL || self->free == NULL)
        return weir_no_memory(error, NULL);
    return WEIR_OK;
}

static void free_db(struct weir_db *self)
{
    weir_url_fini(self->heap, &self->config.url);
    weir_heap_free(self->heap, self->prefix);
    weir_heap_free(self->heap, self->free);
    weir_heap_free(self->heap, self);
}

static enum weir_status init_locks(struct weir_db *self, struct weir_error *error)
{
    enum weir_status status = weir_lock_init(&self->lock);

    if (status != WEIR_OK)
        goto out;
    status = weir_write_waiters_init(&self->writers);
    if (status != WEIR_OK)
        goto undo_lock;
    status = weir_server_key_init(&self->server);
    if (status != WEIR_OK)
        goto undo_waiters;
    self->config.writers = &self->writers;
    self->config.server = &self->server;
    return WEIR_OK;

undo_waiters:
    weir_write_waiters_fini(&self->writers);
undo_lock:
    weir_lock_fini(&self->lock);
out:
    return weir_error_set(error, status, "no lock");
}

enum weir_status weir_db_create(const struct weir_db_options *options,
                                struct weir_db **out, struct weir_error *error)
{
    const struct weir_executor *executor = options->executor;
    const struct weir_heap *heap = executor != NULL ? executor->heap : options->heap;
    enum weir_status status = check_options(options, error);
    struct weir_db *self;

    *out = NULL;
    if (status != WEIR_OK)
        return status;
    if (heap == NULL)
        heap = weir_heap_system();
    self = weir_heap_zalloc(heap, sizeof *self);
    if (self == NULL)
        return weir_no_memory(error, "create database");
    self->heap = heap;
    self->log = executor != NULL ? executor->log : options->log;
    weir_list_init(&self->connections);
    status = fill(self, options, error);
    if (status == WEIR_OK)
        status = init_locks(self, error);
    if (status != WEIR_OK) {
        free_db(self);
        return status;
    }
    *out = self;
    return WEIR_OK;
}

/* The process is done with the database, and so with this connection. */
static void retire(const struct weir_db *self, struct weir_connection *connection)
{
    if (self->driver->retire != NULL)
        self->driver->retire(weir_connection_link(connection));
    weir_connection_destroy(connection);
}

/* The last connection is back, or there was none. */
static void dissolve(struct weir_db *self)
{
    if (self->anchor != NULL)
        self->driver->close(self->anchor);
    weir_server_key_fini(&self->server);
    weir_write_waiters_fini(&self->writers);
    weir_lock_fini(&self->lock);
    free_db(self);
}

void weir_db_cut_off(struct weir_db *self)
{
    struct weir_list *link;

    self->config.points = NULL;
    while ((link = weir_list_take_first(&self->connections)) != NULL)
        weir_connection_destroy(weir_connection_of_sibling(link));
}

/*
 * Abandoned connections never become free, so the stack is ours alone. Once it is known
 * to be destroyed, the last connection that comes back frees it.
 */
void weir_db_destroy(struct weir_db *self)
{
    bool last;

    if (self == NULL)
        return;
    while (self->free_count > 0) {
        struct weir_connection *connection = self->free[--self->free_count];

        weir_list_remove(weir_connection_siblings(connection));
        retire(self, connection);
    }
    weir_lock_acquire(&self->lock);
    WEIR_ASSERT(self->in_use == self->abandoned);
    last = self->in_use == 0;
    self->destroyed = true;
    weir_lock_release(&self->lock);
    if (last)
        dissolve(self);
}

void weir_db_abandon(struct weir_db *self, struct weir_connection *connection)
{
    weir_lock_acquire(&self->lock);
    if (!weir_connection_is_abandoned(connection)) {
        weir_connection_abandon(connection);
        self->abandoned++;
    }
    weir_lock_release(&self->lock);
}

enum weir_engine weir_db_engine(const struct weir_db *self)
{
    return self->driver->engine;
}

const struct weir_engine_traits *weir_db_traits(const struct weir_db *self)
{
    return &self->driver->traits;
}

const struct weir_engine_traits *weir_engine_traits(enum weir_engine engine)
{
    return &DRIVERS[engine]->traits;
}

const char *weir_engine_name(enum weir_engine engine)
{
    static const char *const names[] = {
        [WEIR_SQLITE] = "sqlite",
        [WEIR_POSTGRESQL] = "postgresql",
        [WEIR_MARIADB] = "mariadb",
    };

    return (unsigned)engine <= WEIR_MARIADB ? names[engine] : "unknown";
}

const struct weir_link_config *weir_db_config(const struct weir_db *self)
{
    return &self->config;
}

const char *weir_db_prefix(const struct weir_db *self)
{
    return self->prefix;
}

const struct weir_heap *weir_db_heap(const struct weir_db *self)
{
    return self->heap;
}

const struct weir_log *weir_db_log(const struct weir_db *self)
{
    return &self->log;
}

uint64_t weir_db_generation(struct weir_db *self)
{
    uint64_t generation;

    weir_lock_acquire(&self->lock);
    generation = self->generation;
    weir_lock_release(&self->lock);
    return generation;
}

bool weir_db_get_qualifier(struct weir_db *self, char out[WEIR_QUALIFIER_SIZE])
{
    weir_lock_acquire(&self->lock);
    memcpy(out, self->qualifier, WEIR_QUALIFIER_SIZE);
    weir_lock_release(&self->lock);
    return out[0] != '\0';
}

/* The first one counts: all connections of a database use the same tables. */
void weir_db_keep_qualifier(struct weir_db *self, const char *qualifier)
{
    weir_lock_acquire(&self->lock);
    if (self->qualifier[0] == '\0')
        memcpy(self->qualifier, qualifier, strlen(qualifier) + 1);
    weir_lock_release(&self->lock);
}

/* Looked at first: it is almost never written. */
bool weir_db_note_signal(struct weir_db *self, bool sent)
{
    return atomic_load(&self->signal_failed) == sent &&
           atomic_exchange(&self->signal_failed, !sent) == sent;
}

void weir_db_set_fault_points(struct weir_db *self, struct weir_fault_points *points)
{
    self->config.points = points;
}

/* ---- taking a connection ----------------------------------------------------------- */

/* A place among those in use; a free connection comes with it if there is one. */
static enum weir_status reserve(struct weir_db *self, struct weir_connection **out,
                                uint64_t *generation, struct weir_error *error)
{
    enum weir_status status = WEIR_OK;
    int64_t wait_ns = 0;

    weir_lock_acquire(&self->lock);
    *generation = self->generation;
    if (self->free_count > 0) {
        *out = self->free[--self->free_count];
    } else if (self->in_use == self->connections_max) {
        status = WEIR_BUSY;
    } else if (self->reconnect.failures > 0) {
        wait_ns = weir_sat_sub_i64(self->reconnect_ns, weir_clock_now_ns());
        if (wait_ns > 0)
            status = WEIR_LOST;
    }
    if (status == WEIR_OK)
        self->in_use++;
    weir_lock_release(&self->lock);

    if (status == WEIR_BUSY)
        return weir_error_set(error, status, "all %u connections are in use",
                              self->connections_max);
    if (status == WEIR_LOST)
        return weir_error_set(
            error, status, "the database could not be reached; next attempt in %lld ms",
            (long long)(wait_ns / 1000000 + 1));
    return WEIR_OK;
}

static void note_attempt(struct weir_db *self, enum weir_status status)
{
    weir_lock_acquire(&self->lock);
    if (status == WEIR_LOST) {
        weir_bulkhead_escalate(&self->reconnect);
        self->reconnect_ns =
            weir_sat_add_i64(weir_clock_now_ns(), self->reconnect.floor_ns);
    } else {
        weir_bulkhead_reset(&self->reconnect);
    }
    if (status != WEIR_OK)
        self->in_use--;
    weir_lock_release(&self->lock);
}

/* A database in memory lives as long as it has a connection: one of them is kept
 * aside. */
static enum weir_status cast_anchor(struct weir_db *self, struct weir_error *error)
{
    struct weir_link *anchor = NULL;
    enum weir_status status = WEIR_OK;
    bool needed;

    if (!weir_url_is_memory(&self->config.url))
        return WEIR_OK;
    weir_lock_acquire(&self->lock);
    needed = self->anchor == NULL;
    weir_lock_release(&self->lock);
    if (!needed)
        return WEIR_OK;
    status = self->driver->open(&self->config, &anchor, error);
    if (status != WEIR_OK)
        return status;
    weir_lock_acquire(&self->lock);
    if (self->anchor == NULL) {
        self->anchor = anchor;
        anchor = NULL;
    }
    weir_lock_release(&self->lock);
    if (anchor != NULL) /* another thread was faster */
        self->driver->close(anchor);
    return WEIR_OK;
}

static enum weir_status connect(struct weir_db *self, uint64_t generation,
                                struct weir_connection **out, struct weir_error *error)
{
    struct weir_link *link = NULL;
    enum weir_status status = cast_anchor(self, error);

    if (status == WEIR_OK)
        status = self->driver->open(&self->config, &link, error);
    if (status != WEIR_OK)
        return status;
    status = weir_connection_create(self, link, generation, out);
    if (status != WEIR_OK) {
        self->driver->close(link);
        return weir_error_set(error, status, "%s", weir_status_text(status));
    }
    weir_lock_acquire(&self->lock);
    weir_list_append(&self->connections, weir_connection_siblings(*out));
    weir_lock_release(&self->lock);
    return WEIR_OK;
}

/* Was the free connection lost while it was free? Then it is given up, and its kind
 * with it. */
static bool gone_meanwhile(struct weir_db *self, struct weir_connection **connection)
{
    struct weir_link *link;

    if (*connection == NULL || self->driver->alive == NULL)
        return false;
    link = weir_connection_link(*connection);
    if (self->driver->alive(link))
        return false;
    WEIR_ASSERT(link->lost);
    weir_db_release(self, *connection);
    *connection = NULL;
    return true;
}

enum weir_status weir_db_acquire(struct weir_db *self, struct weir_connection **out,
                                 struct weir_error *error)
{
    struct weir_error scratch;
    uint64_t generation;
    enum weir_status status;

    *out = NULL;
    if (error == NULL)
        error = &scratch;
    weir_error_clear(error);
    do
        status = reserve(self, out, &generation, error);
    while (status == WEIR_OK && gone_meanwhile(self, out));
    if (status == WEIR_OK && *out == NULL) {
        status = connect(self, generation, out, error);
        note_attempt(self, status);
    }
    if (status != WEIR_OK) {
        char name[128];

        weir_url_describe(&self->config.url, name, sizeof name);
        weir_error_prefix(error, "connect to %s", name);
    }
    return status;
}

/* Not in the list of connections: the caller that asked for it closes it. */
enum weir_status weir_db_open_apart(struct weir_db *self, struct weir_connection **out,
                                    struct weir_error *error)
{
    struct weir_link *link = NULL;
    enum weir_status status = self->driver->open(&self->config, &link, error);

    *out = NULL;
    if (status != WEIR_OK)
        return status;
    status = weir_connection_create(self, link, 0, out);
    if (status != WEIR_OK) {
        self->driver->close(link);
        return weir_error_set(error, status, "%s", weir_status_text(status));
    }
    return WEIR_OK;
}

/* ---- giving it back ---------------------------------------------------------------- */

/* One free connection of an older generation, taken off the stack; NULL: there is
 * none. */
static struct weir_connection *take_outdated(struct weir_db *self)
{
    struct weir_connection *connection = NULL;

    weir_lock_acquire(&self->lock);
    for (uint32_t i = 0; i < self->free_count; i++) {
        if (weir_connection_generation(self->free[i]) != self->generation) {
            connection = self->free[i];
            self->free[i] = self->free[--self->free_count];
            weir_list_remove(weir_connection_siblings(connection));
            break;
        }
    }
    weir_lock_release(&self->lock);
    return connection;
}

/* It is back after all. What it used of the database is closed before it is counted
 * off. */
static void release_abandoned(struct weir_db *self, struct weir_connection *connection)
{
    bool last;

    weir_lock_acquire(&self->lock);
    weir_list_remove(weir_connection_siblings(connection));
    weir_lock_release(&self->lock);
    retire(self, connection);
    weir_lock_acquire(&self->lock);
    self->in_use--;
    self->abandoned--;
    last = self->destroyed && self->in_use == 0;
    weir_lock_release(&self->lock);
    if (last)
        dissolve(self);
}

static bool is_abandoned(struct weir_db *self, const struct weir_connection *connection)
{
    bool abandoned;

    weir_lock_acquire(&self->lock);
    abandoned = weir_connection_is_abandoned(connection);
    weir_lock_release(&self->lock);
    return abandoned;
}

void weir_db_release(struct weir_db *self, struct weir_connection *connection)
{
    bool lost;
    bool keep;

    if (connection == NULL)
        return;
    weir_connection_rollback(connection);
    if (is_abandoned(self, connection)) {
        release_abandoned(self, connection);
        return;
    }
    weir_connection_reset(connection);
    lost = weir_connection_link(connection)->lost;
    weir_lock_acquire(&self->lock);
    WEIR_ASSERT(self->in_use > 0);
    self->in_use--;
    if (lost && weir_connection_generation(connection) == self->generation)
        self->generation++;
    keep = !lost && weir_connection_generation(connection) == self->generation;
    if (keep)
        self->free[self->free_count++] = connection;
    else
        weir_list_remove(weir_connection_siblings(connection));
    weir_lock_release(&self->lock);
    if (keep)
        return;

    weir_connection_destroy(connection);
    while ((connection = take_outdated(self)) != NULL)
        weir_connection_destroy(connection);
}

/* ---- the application's connections ------------------------------------------------- */

static enum weir_status adopt(struct weir_db *self, enum weir_engine engine, void *handle,
                              struct weir_connection **out, struct weir_error *error)
{
    struct weir_error scratch;
    struct weir_link *link = NULL;
    enum weir_status status;

    *out = NULL;
    if (error == NULL)
        error = &scratch;
    weir_error_clear(error);
    if (self->driver->engine != engine)
        return weir_error_set(
            error, WEIR_INVALID, "adopt: the handle is of %s, the database of %s",
            weir_engine_name(engine), weir_engine_name(self->driver->engine));
    status = self->driver->adopt(&self->config, handle, &link, error);
    if (status == WEIR_OK)
        status = weir_connection_create(self, link, 0, out);
    if (status != WEIR_OK) {
        if (link != NULL) {
            self->driver->close(link);
            (void)weir_error_set(error, status, "%s", weir_status_text(status));
        }
        weir_error_prefix(error, "adopt");
    }
    return status;
}

enum weir_status weir_connection_adopt_sqlite(struct weir_db *db, struct sqlite3 *handle,
                                              struct weir_connection **out,
                                              struct weir_error *error)
{
    return adopt(db, WEIR_SQLITE, handle, out, error);
}

enum weir_status weir_connection_adopt_postgresql(struct weir_db *db,
                                                  struct pg_conn *handle,
                                                  struct weir_connection **out,
                                                  struct weir_error *error)
{
    return adopt(db, WEIR_POSTGRESQL, handle, out, error);
}

enum weir_status weir_connection_adopt_mariadb(struct weir_db *db,
                                               struct st_mysql *handle,
                                               struct weir_connection **out,
                                               struct weir_error *error)
{
    return adopt(db, WEIR_MARIADB, handle, out, error);
}

void weir_connection_disown(struct weir_connection *self)
{
    if (self == NULL)
        return;
    WEIR_ASSERT(weir_connection_link(self)->adopted);
    weir_connection_destroy(self);
}
