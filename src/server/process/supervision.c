/*
 * supervision.c - see supervision.h.
 *
 * Engine and outbox are its own, so reconcilers tell the queues of events what they do.
 */
#include "server/process/supervision.h"

#include <string.h>

#include "base/heap.h"
#include "base/text.h"
#include "weir/outbox.h"
#include "weir/scanner.h"

enum { NAME_SIZE = 65, CONNECTIONS_MAX = 16 };

struct weir_server_supervision {
    const struct weir_heap *heap; /* borrowed */
    struct weir_log log;
    struct weir_service *service;
    char name[NAME_SIZE];
    char *url;
    char *prefix;
    char *name_space; /* NULL: all */
    char *tag_key;    /* likewise */
    char *tag_value;
    int64_t statement_timeout_ns;
    struct weir_execution_supervisor_options options; /* its texts are those above */
    struct weir_db *db;
    struct weir_outbox *outbox;
    struct weir_executions *executions;
    struct weir_execution_supervisor *supervisor;
};

static size_t close_all(void *state, int64_t grace_ns)
{
    struct weir_server_supervision *self = state;
    size_t unfinished = 0;

    if (self->supervisor != NULL)
        unfinished = weir_execution_supervisor_stop(self->supervisor, grace_ns);
    weir_execution_supervisor_destroy(self->supervisor);
    weir_executions_destroy(self->executions);
    weir_outbox_destroy(self->outbox);
    weir_db_destroy(self->db);
    self->supervisor = NULL;
    self->executions = NULL;
    self->outbox = NULL;
    self->db = NULL;
    return unfinished;
}

static enum weir_status open_engine(struct weir_server_supervision *self,
                                    struct weir_error *error)
{
    struct weir_db_options db;
    struct weir_outbox_options outbox;
    struct weir_executions_options executions;
    enum weir_status status;

    weir_db_options_init(&db);
    db.url = self->url;
    db.prefix = self->prefix;
    db.heap = self->heap;
    db.log = self->log;
    db.statement_timeout_ns = self->statement_timeout_ns;
    db.connections_max = CONNECTIONS_MAX;
    status = weir_db_create(&db, &self->db, error);
    weir_outbox_options_init(&outbox);
    outbox.db = self->db;
    if (status == WEIR_OK)
        status = weir_outbox_create(&outbox, &self->outbox, error);
    weir_executions_options_init(&executions);
    executions.db = self->db;
    executions.outbox = self->outbox;
    if (status == WEIR_OK)
        status = weir_executions_create(&executions, &self->executions, error);
    return status;
}

static enum weir_status open_all(void *state, struct weir_error *error)
{
    struct weir_server_supervision *self = state;
    enum weir_status status = open_engine(self, error);

    self->options.executions = self->executions;
    if (status == WEIR_OK)
        status =
            weir_execution_supervisor_create(&self->options, &self->supervisor, error);
    if (status == WEIR_OK)
        status = weir_execution_supervisor_start(self->supervisor, error);
    if (status != WEIR_OK)
        close_all(self, 0);
    return status;
}

/* Reconcilers try again by themselves; what they say last is worth a word. */
static enum weir_status look(void *state, struct weir_error *error)
{
    struct weir_server_supervision *self = state;
    struct weir_scan_info infos[WEIR_RECONCILER_COUNT];
    size_t count =
        weir_execution_supervisor_read(self->supervisor, infos, WEIR_RECONCILER_COUNT);

    for (size_t i = 0; i < count && i < WEIR_RECONCILER_COUNT; i++)
        if (infos[i].ticks_failed > 0 && infos[i].failing_items > 0) {
            weir_error_set(error, WEIR_FAILED, "%s: %s", infos[i].name,
                           infos[i].last_error);
            break;
        }
    return WEIR_OK;
}

static const struct weir_service_kind SUPERVISION = {
    .name = "supervisor",
    .open = open_all,
    .look = look,
    .close = close_all,
};

/* False: there is no memory. */
static bool copy(const struct weir_heap *heap, const char *text, char **out)
{
    *out = text != NULL ? weir_heap_copy(heap, text, strlen(text)) : NULL;
    return *out != NULL || text == NULL;
}

static bool copy_texts(struct weir_server_supervision *self,
                       const struct weir_config_supervisor *config,
                       const struct weir_config_database *database)
{
    weir_text_format(self->name, sizeof self->name, "%s", database->name);
    return copy(self->heap, database->url, &self->url) &&
           copy(self->heap, database->prefix, &self->prefix) &&
           copy(self->heap, config->name_space, &self->name_space) &&
           copy(self->heap, config->tag_key, &self->tag_key) &&
           copy(self->heap, config->tag_value, &self->tag_value);
}

static void set_options(struct weir_server_supervision *self,
                        const struct weir_config_supervisor *config,
                        const struct weir_config_database *database)
{
    struct weir_execution_supervisor_options *options = &self->options;

    weir_execution_supervisor_options_init(options);
    for (size_t i = 0; i < WEIR_RECONCILER_COUNT; i++)
        if (config->interval_ms[i] > 0)
            options->interval_ms[i] = config->interval_ms[i];
    options->name_space = self->name_space;
    options->tag_key = self->tag_key;
    options->tag_value = self->tag_value;
    options->retention_ms = database->retention_ns / WEIR_MILLISECONDS(1);
}

enum weir_status
weir_server_supervision_create(const struct weir_heap *heap, const struct weir_log *log,
                               const struct weir_config_supervisor *config,
                               const struct weir_config_database *database,
                               struct weir_server_supervision **out,
                               struct weir_error *error)
{
    struct weir_server_supervision *self = weir_heap_zalloc(heap, sizeof *self);
    enum weir_status status = WEIR_OK;

    *out = NULL;
    if (self == NULL)
        return weir_error_set(error, WEIR_NO_MEMORY, "out of memory");
    self->heap = heap;
    self->log = *log;
    self->statement_timeout_ns = database->statement_timeout_ns;
    if (!copy_texts(self, config, database))
        status = weir_error_set(error, WEIR_NO_MEMORY, "out of memory");
    if (status == WEIR_OK) {
        set_options(self, config, database);
        status = weir_service_create(heap, log, self->name, &SUPERVISION, self,
                                     &self->service, error);
    }
    if (status != WEIR_OK) {
        weir_server_supervision_destroy(self);
        return status;
    }
    *out = self;
    return WEIR_OK;
}

size_t weir_server_supervision_stop(struct weir_server_supervision *self,
                                    int64_t grace_ns)
{
    return self->service != NULL ? weir_service_stop(self->service, grace_ns) : 0;
}

void weir_server_supervision_destroy(struct weir_server_supervision *self)
{
    if (self == NULL)
        return;
    if (weir_server_supervision_stop(self, 0) > 0)
        return; /* a statement that hangs still uses it */
    weir_service_destroy(self->service);
    weir_heap_free(self->heap, self->url);
    weir_heap_free(self->heap, self->prefix);
    weir_heap_free(self->heap, self->name_space);
    weir_heap_free(self->heap, self->tag_key);
    weir_heap_free(self->heap, self->tag_value);
    weir_heap_free(self->heap, self);
}

void weir_server_supervision_read_status(struct weir_server_supervision *self,
                                         struct weir_service_status *out)
{
    weir_service_read_status(self->service, out);
}
