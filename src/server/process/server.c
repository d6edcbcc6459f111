/*
 * server.c - see server.h.
 */
#include "server/process/server.h"

#include <string.h>

#include "base/heap.h"
#include "base/text.h"
#include "db/clock.h"
#include "server/api/mount.h"
#include "server/http/server.h"
#include "server/process/front.h"
#include "server/process/process_metrics.h"
#include "server/process/relays.h"
#include "server/process/supervision.h"
#include "ward/lock.h"

enum { JUDGE_STEP_NS = 2000000 };

/* A database: its mount, what is prepared in it, and its supervisor. */
struct place {
    struct weir_server *server;
    const struct weir_config_database *config;
    struct weir_mount *mount;
    struct weir_server_supervision *supervision; /* NULL: none */
};

struct weir_server {
    struct weir_server_options options;
    const struct weir_config *config;
    struct weir_front front;
    struct weir_http_server *http;
    struct weir_api *api;
    struct place *places;
    struct weir_mount **mounts;
    size_t place_count;
    int64_t started_us;

    struct weir_lock lock; /* guards all that follows */
    struct weir_server_relay **relays;
    size_t relay_count;
};

/* ---- relays ------------------------------------------------------------------------ */

static enum weir_status add_relay(struct weir_server *self,
                                  const struct weir_config_relay *config,
                                  struct weir_error *error)
{
    const struct weir_config_database *database =
        weir_config_find_database(self->config, config->database);
    struct weir_server_relay *relay = NULL;
    struct weir_server_relay **relays;
    enum weir_status status = weir_server_relay_create(
        self->options.heap, &self->options.log, config, database, &relay, error);

    if (status != WEIR_OK)
        return status;
    weir_lock_acquire(&self->lock);
    relays =
        weir_heap_resize(self->options.heap, self->relays,
                         (self->relay_count + 1) * sizeof(struct weir_server_relay *));
    if (relays != NULL) {
        self->relays = relays;
        relays[self->relay_count++] = relay;
        relay = NULL;
    }
    weir_lock_release(&self->lock);
    if (relay == NULL)
        return WEIR_OK;
    weir_server_relay_destroy(relay);
    return weir_error_set(error, WEIR_NO_MEMORY, "out of memory");
}

/* Take a relay out of the list, so that no reader sees it any more; NULL: none. */
static struct weir_server_relay *take_relay(struct weir_server *self, const char *name)
{
    struct weir_server_relay *relay = NULL;

    weir_lock_acquire(&self->lock);
    for (size_t i = 0; i < self->relay_count; i++) {
        if (name != NULL && strcmp(weir_server_relay_name(self->relays[i]), name) != 0)
            continue;
        relay = self->relays[i];
        self->relays[i] = self->relays[--self->relay_count];
        break;
    }
    weir_lock_release(&self->lock);
    return relay;
}

static bool runs(const struct weir_config *config, enum weir_server_role role)
{
    return (config->server.roles & (uint32_t)role) != 0;
}

static enum weir_status start_relays(struct weir_server *self, struct weir_error *error)
{
    const struct weir_config *config = self->config;
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < config->relay_count && status == WEIR_OK; i++)
        if (runs(config, WEIR_SERVER_RELAY) && config->relays[i].enabled)
            status = add_relay(self, &config->relays[i], error);
    return status;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool same_relay(const struct weir_config_relay *a,
                       const struct weir_config_relay *b)
{
    return same_text(a->database, b->database) && same_text(a->queue, b->queue) &&
           same_text(a->to, b->to) && same_text(a->as, b->as) && a->from == b->from &&
           a->batch == b->batch && a->handlers == b->handlers &&
           a->lease_ns == b->lease_ns && a->grace_ns == b->grace_ns &&
           a->permissions == b->permissions && a->enabled == b->enabled;
}

/* Those that are not in `after` as they were: they deliver no more. */
static void end_changed_relays(struct weir_server *self, const struct weir_config *before,
                               const struct weir_config *after)
{
    for (size_t i = 0; i < before->relay_count; i++) {
        const struct weir_config_relay *old = &before->relays[i];
        const struct weir_config_relay *new = weir_config_find_relay(after, old->name);
        struct weir_server_relay *relay;

        if (!old->enabled || (new != NULL &&same_relay(old, new)))
            continue;
        relay = take_relay(self, old->name);
        if (relay == NULL)
            continue;
        weir_server_relay_stop(relay, old->grace_ns);
        weir_server_relay_destroy(relay);
    }
}

/* The owner is the only one that changes the list, so it reads it without the lock. */
static bool has_relay(const struct weir_server *self, const char *name)
{
    for (size_t i = 0; i < self->relay_count; i++)
        if (strcmp(weir_server_relay_name(self->relays[i]), name) == 0)
            return true;
    return false;
}

/* Those that do not run, also after a reload that failed in the middle. */
static enum weir_status begin_new_relays(struct weir_server *self,
                                         struct weir_error *error)
{
    const struct weir_config *config = self->config;
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < config->relay_count && status == WEIR_OK; i++)
        if (config->relays[i].enabled && !has_relay(self, config->relays[i].name))
            status = add_relay(self, &config->relays[i], error);
    return status;
}

/* ---- what the API asks ------------------------------------------------------------- */

static void each_relay(void *state,
                       void (*emit)(void *to, const struct weir_relay_row *row), void *to)
{
    struct weir_server *self = state;

    weir_lock_acquire(&self->lock);
    for (size_t i = 0; i < self->relay_count; i++)
        weir_server_relay_emit(self->relays[i], emit, to);
    weir_lock_release(&self->lock);
}

static void add_metrics(void *state, struct weir_metrics_text *text)
{
    struct weir_server *self = state;
    struct weir_http_stats stats;

    weir_http_server_read_stats(self->http, &stats);
    weir_process_metrics_add(text, self->started_us);
    weir_process_metrics_add_http(text, &stats);
    weir_lock_acquire(&self->lock);
    for (size_t i = 0; i < self->relay_count; i++)
        weir_server_relay_add_metrics(self->relays[i], text);
    weir_lock_release(&self->lock);
}

/* ---- databases --------------------------------------------------------------------- */

static void set_queue(struct weir_queue_options *options,
                      const struct weir_config_queue *config)
{
    weir_queue_options_init(options);
    options->name = config->name;
    options->partitions = (int32_t)config->partitions;
    options->unread = (enum weir_unread)config->unread;
    options->backlog_max = config->backlog_max;
    options->attempts_max = config->attempts_max;
    options->dead_letter_retention_ns = config->dead_letter_retention_ns;
    options->retain_ns = config->retain_ns;
    options->named = config->named;
}

/* Queues of the configuration are made, or compared. */
static enum weir_status prepare(void *state, struct weir_mount *mount,
                                struct weir_error *error)
{
    const struct place *place = state;
    const struct weir_config *config = place->server->options.config;
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < config->queue_count && status == WEIR_OK; i++) {
        const struct weir_config_queue *queue = &config->queues[i];
        struct weir_queue_options options;

        if (strcmp(queue->database, place->config->name) != 0)
            continue;
        set_queue(&options, queue);
        status = weir_outbox_add_queue(weir_mount_outbox(mount), &options, error);
        if (status == WEIR_EXISTS) /* a try before this one has come so far */
            status = WEIR_OK;
    }
    return status;
}

static enum weir_status create_place(struct weir_server *self, size_t index,
                                     struct weir_error *error)
{
    struct place *place = &self->places[index];
    const struct weir_config_database *config = &self->config->databases[index];
    struct weir_mount_options options;
    enum weir_status status;

    *place = (struct place){.server = self, .config = config};
    weir_mount_options_init(&options);
    options.name = config->name;
    options.url = config->url;
    options.prefix = config->prefix;
    options.heap = self->options.heap;
    options.log = self->options.log;
    options.connections = config->connections;
    options.statement_timeout_ns = config->statement_timeout_ns;
    options.jobs_max = self->config->http.in_flight_max;
    options.engine = config->executions == WEIR_EXECUTIONS_NO ? WEIR_MOUNT_ENGINE_NO
                                                              : WEIR_MOUNT_ENGINE_AUTO;
    options.migrate = config->migrate == WEIR_MIGRATE_YES;
    options.prepare = prepare;
    options.state = place;
    status = weir_mount_create(&options, &place->mount, error);
    if (status != WEIR_OK)
        weir_error_prefix(error, "database '%s'", config->name);
    self->mounts[index] = place->mount;
    return status;
}

static enum weir_status create_places(struct weir_server *self, struct weir_error *error)
{
    const struct weir_heap *heap = self->options.heap;
    size_t count = self->config->database_count;
    enum weir_status status = WEIR_OK;

    self->places = weir_heap_zalloc_array(heap, count, sizeof *self->places);
    self->mounts = weir_heap_zalloc_array(heap, count, sizeof(struct weir_mount *));
    if (self->places == NULL || self->mounts == NULL)
        return weir_error_set(error, WEIR_NO_MEMORY, "out of memory");
    self->place_count = count;
    for (size_t i = 0; i < count && status == WEIR_OK; i++)
        status = create_place(self, i, error);
    return status;
}

/* MariaDB has no engine; elsewhere `auto` looks for its tables, if that is possible. */
static bool wants_supervisor(const struct place *place)
{
    struct weir_mount_status status;

    if (place->config->executions == WEIR_EXECUTIONS_NO ||
        weir_db_engine(weir_mount_db(place->mount)) == WEIR_MARIADB)
        return false;
    weir_mount_read_status(place->mount, &status);
    return place->config->executions == WEIR_EXECUTIONS_YES || status.engine_schema > 0 ||
           status.state != WEIR_MOUNT_READY;
}

static enum weir_status start_supervisors(struct weir_server *self,
                                          struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    if (!runs(self->config, WEIR_SERVER_SUPERVISE))
        return WEIR_OK;
    for (size_t i = 0; i < self->place_count && status == WEIR_OK; i++)
        if (wants_supervisor(&self->places[i]))
            status = weir_server_supervision_create(
                self->options.heap, &self->options.log, &self->config->supervisor,
                self->places[i].config, &self->places[i].supervision, error);
    return status;
}

/* ---- listeners --------------------------------------------------------------------- */

static enum weir_status create_tls(const struct weir_heap *heap,
                                   const struct weir_config_http *config,
                                   struct weir_http_tls **out, struct weir_error *error)
{
    struct weir_http_tls_options options = {
        .certificate = config->tls_certificate.content,
        .key = config->tls_key.content,
        .client_ca = config->tls_client_ca.content,
        .client = (enum weir_http_tls_client)config->tls_client,
        .tls13_only = config->tls_min == WEIR_TLS_MIN_1_3,
    };

    *out = NULL;
    if (config->tls_certificate.path == NULL)
        return WEIR_OK;
    return weir_http_tls_create(heap, &options, out, error);
}

/* A public address has TLS and tokens. */
static enum weir_status check_protected(const struct weir_config *config,
                                        const struct weir_config_listener *listener,
                                        struct weir_error *error)
{
    if (config->http.tls_certificate.path == NULL)
        return weir_error_set(error, WEIR_INVALID,
                              "[http] listen: %s is public and has no TLS; set "
                              "tls_certificate_file and tls_key_file",
                              listener->text);
    if (config->auth.mode != WEIR_AUTH_TOKENS)
        return weir_error_set(error, WEIR_INVALID,
                              "[http] listen: %s is public; [auth] mode must be tokens",
                              listener->text);
    return WEIR_OK;
}

/* A public address without TLS or without tokens needs a word that it is meant. */
static enum weir_status check_public(const struct weir_config *config,
                                     struct weir_error *error)
{
    const struct weir_config_http *http = &config->http;
    enum weir_status status = WEIR_OK;

    if (http->insecure_public)
        return WEIR_OK;
    for (size_t i = 0; i < http->listen.count && status == WEIR_OK; i++)
        if (http->listen.items[i].is_public)
            status = check_protected(config, &http->listen.items[i], error);
    return status;
}

static void set_limits(struct weir_http_limits *limits,
                       const struct weir_config_http *config)
{
    weir_http_limits_init(limits);
    limits->connections_max = config->connections_max;
    limits->connections_per_address = config->connections_per_address;
    limits->header_timeout_ns = config->header_timeout_ns;
    limits->body_timeout_ns = config->body_timeout_ns;
    limits->write_timeout_ns = config->write_timeout_ns;
    limits->idle_timeout_ns = config->idle_timeout_ns;
    limits->header_max = (size_t)config->header_max;
    limits->body_max = (size_t)config->body_max;
    limits->memory_max = (size_t)config->memory_max;
}

/* A socket that systemd has bound may be public without its address saying so. */
static enum weir_status take_socket(struct weir_server *self,
                                    const struct weir_config_listener *config,
                                    struct weir_http_listener_options *out,
                                    struct weir_error *error)
{
    enum weir_status status;

    if (config->kind != WEIR_LISTENER_SYSTEMD)
        return WEIR_OK;
    status =
        weir_systemd_take_socket(self->options.systemd, config->address, &out->fd, error);
    if (status == WEIR_OK && !self->config->http.insecure_public &&
        weir_systemd_is_public(out->fd))
        status = check_protected(self->config, config, error);
    return status;
}

static enum weir_status bind_listeners(struct weir_server *self, struct weir_error *error)
{
    const struct weir_config_http *config = &self->config->http;
    struct weir_http_listener_options listeners[WEIR_HTTP_LISTENERS_MAX];
    struct weir_http_options options = {
        .listeners = listeners,
        .listener_count = (uint32_t)config->listen.count,
        .loop_count = self->config->server.threads,
        .name = self->options.name,
        .handler = weir_front_handler(&self->front),
        .heap = self->options.heap,
        .log = &self->options.log,
    };
    struct weir_http_tls *tls = NULL;
    enum weir_status status;

    if (config->listen.count > WEIR_HTTP_LISTENERS_MAX)
        return weir_error_set(error, WEIR_INVALID, "[http] listen: %d at most",
                              WEIR_HTTP_LISTENERS_MAX);
    status = create_tls(self->options.heap, config, &tls, error);
    if (status != WEIR_OK)
        return status;
    for (size_t i = 0; i < config->listen.count && status == WEIR_OK; i++) {
        listeners[i] = (struct weir_http_listener_options){
            .address = config->listen.items[i].text,
            .fd = -1,
            .unix_mode = config->unix_mode,
            .tls = tls != NULL && config->listen.items[i].kind != WEIR_LISTENER_UNIX,
        };
        status = take_socket(self, &config->listen.items[i], &listeners[i], error);
    }
    options.tls = tls;
    set_limits(&options.limits, config);
    if (status == WEIR_OK)
        status = weir_http_server_create(&options, &self->http, error);
    weir_http_tls_release(tls);
    return status;
}

/* ---- tokens ------------------------------------------------------------------------ */

/* "a, b" of a list; false: it is too long. */
static bool join(const struct weir_config_texts *texts, char *out, size_t size)
{
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0; i < texts->count; i++) {
        size_t length = strlen(texts->items[i]);

        if (used + length + 2 > size)
            return false;
        if (i > 0)
            out[used++] = ',';
        memcpy(out + used, texts->items[i], length + 1);
        used += length;
    }
    return true;
}

static enum weir_status read_token(struct weir_api_token *out,
                                   const struct weir_config_token *config,
                                   struct weir_error *error)
{
    struct weir_grant *grant = &out->grant;
    const struct weir_config_texts *lists[WEIR_RESTRICTION_COUNT] = {
        [WEIR_RESTRICT_DATABASES] = &config->databases,
        [WEIR_RESTRICT_QUEUES] = &config->queues,
        [WEIR_RESTRICT_LANES] = &config->lanes,
        [WEIR_RESTRICT_NAMESPACES] = &config->namespaces,
    };

    memcpy(out->hash, config->sha256, sizeof out->hash);
    weir_text_format(grant->name, sizeof grant->name, "%s", config->name);
    grant->scopes = config->scopes;
    grant->expires_us = config->expires_us;
    for (size_t i = 0; i < WEIR_RESTRICTION_COUNT; i++)
        if (!join(lists[i], grant->globs[i], sizeof grant->globs[i]))
            return weir_error_set(error, WEIR_INVALID, "[token %s] %s: too long",
                                  config->name,
                                  weir_restriction_name((enum weir_restriction)i));
    return WEIR_OK;
}

/* Those of the configuration, and the temporary one. Owes weir_heap_free(). */
static enum weir_status collect_tokens(const struct weir_server *self,
                                       const struct weir_config *config,
                                       struct weir_api_token **out, size_t *count,
                                       struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    *count = 0;
    *out =
        weir_heap_zalloc_array(self->options.heap, config->token_count + 1, sizeof **out);
    if (*out == NULL)
        return weir_error_set(error, WEIR_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < config->token_count && status == WEIR_OK; i++)
        status = read_token(&(*out)[(*count)++], &config->tokens[i], error);
    if (self->options.temporary != NULL)
        (*out)[(*count)++] = *self->options.temporary;
    return status;
}

static enum weir_status create_api(struct weir_server *self, struct weir_error *error)
{
    const struct weir_config *config = self->config;
    struct weir_api_token *tokens = NULL;
    struct weir_api_options options = {
        .heap = self->options.heap,
        .log = self->options.log,
        .server_name = self->options.name,
        .mounts = self->mounts,
        .mount_count = self->place_count,
        .mount_default = self->place_count,
        .cache_ns = config->auth.cache_ns,
        .no_tokens = config->auth.mode == WEIR_AUTH_NONE,
        .metrics_public = config->metrics.is_public,
        .host = {.state = self, .each_relay = each_relay, .add_metrics = add_metrics},
    };
    const struct weir_config_database *fallback = weir_config_default_database(config);
    enum weir_status status =
        collect_tokens(self, config, &tokens, &options.token_count, error);

    if (fallback != NULL)
        options.mount_default = (size_t)(fallback - config->databases);
    options.tokens = tokens;
    if (status == WEIR_OK)
        status = weir_api_create(&options, &self->api, error);
    weir_heap_free(self->options.heap, tokens);
    self->front.api = self->api;
    atomic_store(&self->front.unix_admin, config->auth.unix_admin);
    return status;
}

/* ---- life -------------------------------------------------------------------------- */

enum weir_status weir_server_create(const struct weir_server_options *options,
                                    struct weir_server **out, struct weir_error *error)
{
    struct weir_server *self = weir_heap_zalloc(options->heap, sizeof *self);
    enum weir_status status;

    *out = NULL;
    if (self == NULL)
        return weir_error_set(error, WEIR_NO_MEMORY, "out of memory");
    self->options = *options;
    self->config = options->config;
    self->started_us = weir_clock_wall_us();
    status = weir_lock_init(&self->lock);
    if (status != WEIR_OK) {
        weir_heap_free(options->heap, self);
        return weir_error_set(error, status, "no lock could be made");
    }
    status = check_public(self->config, error);
    if (status == WEIR_OK)
        status = bind_listeners(self, error);
    if (status == WEIR_OK)
        status = create_places(self, error);
    if (status == WEIR_OK)
        status = create_api(self, error);
    if (status != WEIR_OK) {
        weir_server_destroy(self);
        return status;
    }
    *out = self;
    return WEIR_OK;
}

/* The first database that cannot be used as it is, or none. */
static enum weir_status find_unfit(const struct weir_server *self, bool *opening,
                                   struct weir_error *error)
{
    *opening = false;
    for (size_t i = 0; i < self->place_count; i++) {
        struct weir_mount_status status;

        weir_mount_read_status(self->mounts[i], &status);
        *opening = *opening || status.state == WEIR_MOUNT_OPENING;
        if (status.state == WEIR_MOUNT_UNFIT)
            return weir_error_set(error, WEIR_SCHEMA, "database '%s': %s",
                                  weir_mount_name(self->mounts[i]), status.text);
    }
    return WEIR_OK;
}

enum weir_status weir_server_judge(struct weir_server *self, int64_t wait_ns,
                                   struct weir_error *error)
{
    int64_t end_ns = weir_clock_now_ns() + wait_ns;
    bool opening = true;
    enum weir_status status = find_unfit(self, &opening, error);

    while (status == WEIR_OK && opening && weir_clock_now_ns() < end_ns &&
           weir_clock_sleep(JUDGE_STEP_NS))
        status = find_unfit(self, &opening, error);
    return status;
}

enum weir_status weir_server_start(struct weir_server *self, struct weir_error *error)
{
    enum weir_status status = start_relays(self, error);

    if (status == WEIR_OK)
        status = start_supervisors(self, error);
    if (status == WEIR_OK)
        status = weir_http_server_start(self->http, error);
    return status;
}

const char *weir_server_address(const struct weir_server *self, size_t index)
{
    return index < self->config->http.listen.count
               ? weir_http_server_address(self->http, (uint32_t)index)
               : NULL;
}

/* Certificate and tokens of `config`: both of them, or none. */
static enum weir_status reload_secrets(struct weir_server *self,
                                       const struct weir_config *config,
                                       struct weir_error *error)
{
    struct weir_http_tls *tls = NULL;
    struct weir_api_token *tokens = NULL;
    size_t count = 0;
    enum weir_status status = create_tls(self->options.heap, &config->http, &tls, error);

    if (status == WEIR_OK)
        status = collect_tokens(self, config, &tokens, &count, error);
    if (status == WEIR_OK) {
        status = weir_api_set_tokens(self->api, tokens, count, config->auth.cache_ns);
        if (status != WEIR_OK)
            weir_error_set(error, status, "%s", weir_status_text(status));
    }
    if (status == WEIR_OK && tls != NULL)
        weir_http_server_set_tls(self->http, tls);
    weir_heap_free(self->options.heap, tokens);
    weir_http_tls_release(tls);
    return status;
}

enum weir_status weir_server_reload(struct weir_server *self,
                                    const struct weir_config *config,
                                    struct weir_error *error)
{
    const struct weir_config *before = self->config;
    enum weir_status status = reload_secrets(self, config, error);

    if (status != WEIR_OK)
        return status;
    self->config = config;
    atomic_store(&self->front.unix_admin, config->auth.unix_admin);
    if (runs(config, WEIR_SERVER_RELAY)) {
        end_changed_relays(self, before, config);
        status = begin_new_relays(self, error);
    }
    return status;
}

const struct weir_config *weir_server_config(const struct weir_server *self)
{
    return self->config;
}

void weir_server_drain(struct weir_server *self)
{
    weir_api_drain(self->api);
    weir_http_server_drain(self->http);
}

/* What is left of the grace; never below 0. */
static int64_t left_ns(int64_t end_ns)
{
    int64_t left = end_ns - weir_clock_now_ns();

    return left > 0 ? left : 0;
}

size_t weir_server_stop(struct weir_server *self)
{
    int64_t end_ns = weir_clock_now_ns() + self->config->server.grace_ns;
    struct weir_server_relay *relay;
    size_t unfinished;

    weir_server_drain(self);
    unfinished = weir_http_server_stop(self->http, end_ns);
    while ((relay = take_relay(self, NULL)) != NULL) {
        unfinished += weir_server_relay_stop(relay, left_ns(end_ns));
        weir_server_relay_destroy(relay);
    }
    for (size_t i = 0; i < self->place_count; i++) {
        struct place *place = &self->places[i];

        if (place->supervision != NULL)
            unfinished +=
                weir_server_supervision_stop(place->supervision, left_ns(end_ns));
        unfinished += weir_mount_stop(place->mount, left_ns(end_ns));
    }
    return unfinished;
}

void weir_server_destroy(struct weir_server *self)
{
    struct weir_server_relay *relay;

    if (self == NULL)
        return;
    while ((relay = take_relay(self, NULL)) != NULL)
        weir_server_relay_destroy(relay);
    for (size_t i = 0; i < self->place_count; i++) {
        weir_server_supervision_destroy(self->places[i].supervision);
        weir_mount_destroy(self->places[i].mount);
    }
    weir_http_server_destroy(self->http);
    weir_api_destroy(self->api);
    weir_heap_free(self->options.heap, self->places);
    weir_heap_free(self->options.heap, self->mounts);
    weir_heap_free(self->options.heap, self->relays);
    weir_lock_fini(&self->lock);
    weir_heap_free(self->options.heap, self);
}
