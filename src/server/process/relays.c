/*
 * relays.c - see relays.h.
 *
 * Invariant: while `readable` is true, outbox and relay are open and neither is being
 * started, stopped or closed. Readers hold the lock, and what they call takes no time.
 */
#include "server/process/relays.h"

#include <string.h>

#include "base/heap.h"
#include "base/text.h"
#include "server/process/service.h"
#include "ward/lock.h"
#include "weir/relay.h"

enum { NAME_SIZE = 65, SCHEME_SIZE = 24, CONNECTIONS_MAX = 16 };

/* What remains when the grace of the last process is over, as in `weir relay`. */
#define GRACE_SLACK WEIR_SECONDS(1)

struct weir_server_relay {
    const struct weir_heap *heap; /* borrowed */
    struct weir_log log;
    struct weir_service *service;
    struct weir_relay_options options; /* its texts are copies */
    char name[NAME_SIZE];
    char database[NAME_SIZE];
    char scheme[SCHEME_SIZE];
    char *url;
    char *prefix;
    char *queue;
    char *as;
    char *sink;
    uint32_t handlers;
    int64_t statement_timeout_ns;
    struct weir_db *db;

    struct weir_lock lock; /* guards all that follows */
    bool readable;
    struct weir_outbox *outbox;
    struct weir_relay *relay;
};

/* ---- opening and closing ----------------------------------------------------------- */

static void set_readable(struct weir_server_relay *self, bool readable)
{
    weir_lock_acquire(&self->lock);
    self->readable = readable;
    weir_lock_release(&self->lock);
}

static size_t close_relay(void *state, int64_t grace_ns)
{
    struct weir_server_relay *self = state;
    size_t unfinished = 0;

    set_readable(self, false);
    if (self->outbox != NULL)
        unfinished = weir_outbox_stop(self->outbox, grace_ns + GRACE_SLACK);
    weir_relay_close(self->relay);
    weir_outbox_destroy(self->outbox);
    weir_db_destroy(self->db);
    self->relay = NULL;
    self->outbox = NULL;
    self->db = NULL;
    return unfinished;
}

static enum weir_status open_db(struct weir_server_relay *self, struct weir_error *error)
{
    struct weir_db_options options;

    weir_db_options_init(&options);
    options.url = self->url;
    options.prefix = self->prefix;
    options.heap = self->heap;
    options.log = self->log;
    options.statement_timeout_ns = self->statement_timeout_ns;
    options.connections_max = CONNECTIONS_MAX + self->handlers;
    return weir_db_create(&options, &self->db, error);
}

static enum weir_status open_outbox(struct weir_server_relay *self,
                                    struct weir_error *error)
{
    struct weir_outbox_options options;

    weir_outbox_options_init(&options);
    options.db = self->db;
    options.handlers = self->handlers;
    options.profile = WEIR_PROFILE_HIGH_THROUGHPUT;
    return weir_outbox_create(&options, &self->outbox, error);
}

static enum weir_status open_relay(void *state, struct weir_error *error)
{
    struct weir_server_relay *self = state;
    enum weir_status status = open_db(self, error);

    if (status == WEIR_OK)
        status = open_outbox(self, error);
    if (status == WEIR_OK)
        status = weir_relay_open(self->outbox, &self->options, &self->relay, error);
    if (status == WEIR_OK)
        status = weir_outbox_start(self->outbox, error);
    if (status != WEIR_OK)
        close_relay(self, 0);
    else
        set_readable(self, true);
    return status;
}

/* A sink that will never work again is opened anew. */
static enum weir_status look_at_relay(void *state, struct weir_error *error)
{
    struct weir_server_relay *self = state;
    struct weir_relay_health health;

    weir_relay_read_health(self->relay, &health);
    if (health.status == WEIR_OK)
        return WEIR_OK;
    weir_error_set(error, health.status, "%s", health.text);
    return weir_status_class(health.status) == WEIR_CLASS_STOP ? health.status : WEIR_OK;
}

static const struct weir_service_kind RELAY = {
    .name = "relay",
    .open = open_relay,
    .look = look_at_relay,
    .close = close_relay,
};

/* ---- life -------------------------------------------------------------------------- */

static char *copy(const struct weir_server_relay *self, const char *text)
{
    return text != NULL ? weir_heap_copy(self->heap, text, strlen(text)) : NULL;
}

/* A short lease has less headroom than the library would give to a long one. */
static void set_lease(struct weir_lease_options *lease, int64_t lease_ns)
{
    lease->duration_ns = lease_ns;
    if (lease->headroom_ns > lease_ns / 4)
        lease->headroom_ns = lease_ns / 4;
}

static void set_options(struct weir_server_relay *self,
                        const struct weir_config_relay *config)
{
    struct weir_relay_options *options = &self->options;

    weir_relay_options_init(options);
    options->queue = self->queue;
    options->as = self->as;
    options->sink = self->sink;
    options->start = (enum weir_start)config->from;
    options->batch = config->batch;
    options->stop_grace_ns = config->grace_ns;
    options->permissions = config->permissions;
    if (config->lease_ns > 0)
        set_lease(&options->lease, config->lease_ns);
}

static bool copy_texts(struct weir_server_relay *self,
                       const struct weir_config_relay *config,
                       const struct weir_config_database *database)
{
    weir_text_format(self->name, sizeof self->name, "%s", config->name);
    weir_text_format(self->database, sizeof self->database, "%s", database->name);
    weir_text_format(self->scheme, sizeof self->scheme, "%.*s",
                     (int)strcspn(config->to, ":"), config->to);
    self->url = copy(self, database->url);
    self->prefix = copy(self, database->prefix);
    self->queue = copy(self, config->queue);
    self->as = copy(self, config->as != NULL ? config->as : "default");
    self->sink = copy(self, config->to);
    return self->url != NULL && self->prefix != NULL && self->queue != NULL &&
           self->as != NULL && self->sink != NULL;
}

enum weir_status weir_server_relay_create(const struct weir_heap *heap,
                                          const struct weir_log *log,
                                          const struct weir_config_relay *config,
                                          const struct weir_config_database *database,
                                          struct weir_server_relay **out,
                                          struct weir_error *error)
{
    struct weir_server_relay *self = weir_heap_zalloc(heap, sizeof *self);
    enum weir_status status;

    *out = NULL;
    if (self == NULL)
        return weir_error_set(error, WEIR_NO_MEMORY, "out of memory");
    self->heap = heap;
    self->log = *log;
    self->handlers = config->handlers;
    self->statement_timeout_ns = database->statement_timeout_ns;
    status = weir_lock_init(&self->lock);
    if (status != WEIR_OK) {
        weir_heap_free(heap, self);
        return weir_error_set(error, status, "no lock could be made");
    }
    if (!copy_texts(self, config, database))
        status = weir_error_set(error, WEIR_NO_MEMORY, "out of memory");
    if (status == WEIR_OK) {
        set_options(self, config);
        status = weir_service_create(heap, log, self->name, &RELAY, self, &self->service,
                                     error);
    }
    if (status != WEIR_OK) {
        weir_server_relay_destroy(self);
        return status;
    }
    *out = self;
    return WEIR_OK;
}

size_t weir_server_relay_stop(struct weir_server_relay *self, int64_t grace_ns)
{
    return self->service != NULL ? weir_service_stop(self->service, grace_ns) : 0;
}

void weir_server_relay_destroy(struct weir_server_relay *self)
{
    if (self == NULL)
        return;
    if (weir_server_relay_stop(self, 0) > 0)
        return; /* a delivery that hangs still uses it */
    weir_service_destroy(self->service);
    weir_lock_fini(&self->lock);
    weir_heap_free(self->heap, self->url);
    weir_heap_free(self->heap, self->prefix);
    weir_heap_free(self->heap, self->queue);
    weir_heap_free(self->heap, self->as);
    weir_heap_free(self->heap, self->sink);
    weir_heap_free(self->heap, self);
}

/* ---- reading ----------------------------------------------------------------------- */

const char *weir_server_relay_name(const struct weir_server_relay *self)
{
    return self->name;
}

void weir_server_relay_emit(struct weir_server_relay *self,
                            void (*emit)(void *to, const struct weir_relay_row *row),
                            void *to)
{
    struct weir_service_status status;
    struct weir_relay_row row = {.name = self->name,
                                 .database = self->database,
                                 .queue = self->queue,
                                 .subscription = self->as,
                                 .sink = self->scheme};

    weir_service_read_status(self->service, &status);
    row.text = status.text;
    if (status.running)
        row.state = status.text[0] == '\0' ? "delivering" : "failing";
    else
        row.state = status.text[0] == '\0' ? "waiting" : "stopped";
    weir_lock_acquire(&self->lock);
    if (self->readable) {
        row.delivered = weir_relay_delivered(self->relay);
        row.rejected = weir_relay_rejected(self->relay);
        row.given_up = weir_relay_given_up(self->relay);
    }
    weir_lock_release(&self->lock);
    emit(to, &row);
}

void weir_server_relay_add_metrics(struct weir_server_relay *self,
                                   struct weir_metrics_text *text)
{
    struct weir_metric_label labels[] = {{"database", self->database},
                                         {"relay", self->name}};

    weir_metrics_text_set_labels(text, labels, 2);
    weir_lock_acquire(&self->lock);
    /* Without memory its figures are left out, and those of the text fail by
     * themselves. */
    if (self->readable && weir_outbox_read_metrics(self->outbox, weir_metrics_text_visit,
                                                   text, NULL) != WEIR_OK)
        text->limited++;
    weir_lock_release(&self->lock);
    weir_metrics_text_set_labels(text, NULL, 0);
}
