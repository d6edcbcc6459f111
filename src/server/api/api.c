/*
 * api.c - see api.h.
 */
#include "server/api/api.h"

#include <inttypes.h>
#include <openssl/crypto.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/heap.h"
#include "base/log.h"
#include "base/text.h"
#include "db/clock.h"
#include "server/api/mount.h"
#include "server/api/openapi.h"
#include "server/api/request_meter.h"

enum { OPENAPI_SIZE_MAX = 4 << 20, ADMIN_NAME_SIZE = 16 };

struct weir_api {
    struct weir_api_options options;
    struct weir_token_cache cache;
    struct weir_buf openapi;
    struct weir_request_meter *meter;
    atomic_bool draining;
    atomic_uint_fast64_t token_failures;

    struct weir_lock lock;         /* guards all that follows */
    struct weir_api_token *tokens; /* owned; those that are in no database */
    size_t token_count;
};

static void look_up(struct weir_api_call *call);
static void proceed(struct weir_api_call *call);

/* ---- the end of a call ------------------------------------------------------------- */

static void answer_problem(struct weir_api_call *call)
{
    call->status = weir_problem_status(call->problem.code);
    call->type = "application/problem+json";
    weir_buf_reset(&call->body);
    weir_problem_append_json(&call->problem, call->request, &call->body);
}

static void log_fault(const struct weir_api_call *call)
{
    const struct weir_api *self = call->api;
    char code[WEIR_PROBLEM_WORD_SIZE];

    if (call->status != 500)
        return;
    weir_log_event(&self->options.log, WEIR_LOG_ERROR, "api.failed",
                   "request=%s route=%s code=%s", call->request,
                   call->match.endpoint != NULL ? call->match.endpoint->id : "none",
                   weir_problem_code_name(call->problem.code, code));
}

/* What is in the call is its answer. */
static void settle(struct weir_api_call *call)
{
    const struct weir_api *self = call->api;

    if (call->problem.code == WEIR_PROBLEM_NONE &&
        weir_buf_status(&call->body) != WEIR_OK)
        weir_problem_set(&call->problem,
                         weir_buf_status(&call->body) == WEIR_NO_MEMORY
                             ? WEIR_PROBLEM_NO_MEMORY
                             : WEIR_PROBLEM_TOO_LARGE,
                         "the answer is too large; ask for a shorter page");
    if (call->problem.code != WEIR_PROBLEM_NONE)
        answer_problem(call);
    log_fault(call);
    weir_request_meter_count(self->meter, call->match.endpoint, call->status,
                             weir_clock_now_ns() - call->received_ns);
}

static void end(struct weir_api_call *call)
{
    settle(call);
    call->ended(call); /* the call may be gone now */
}

static void refuse(struct weir_api_call *call, const struct weir_error *error)
{
    if (call->problem.code == WEIR_PROBLEM_NONE) {
        weir_problem_set_error(&call->problem, error);
        if (error->status == WEIR_LOST && !call->ran)
            call->problem.code = WEIR_PROBLEM_DATABASE_AWAY;
        if (error->status == WEIR_LOST || error->status == WEIR_BUSY)
            call->problem.retry_after_seconds = 1;
    }
    end(call);
}

/* ---- running ----------------------------------------------------------------------- */

static enum weir_status run(struct weir_api_call *call, struct weir_error *error)
{
    const struct weir_endpoint *endpoint = call->match.endpoint;

    call->ran = true;
    call->status = 200;
    call->type = endpoint->type != NULL ? endpoint->type : "application/json";
    if (endpoint->at == WEIR_AT_ENGINE && weir_mount_executions(call->mount) == NULL) {
        weir_problem_set(&call->problem, WEIR_PROBLEM_NO_ENGINE,
                         "database '%s' has no execution engine",
                         weir_mount_name(call->mount));
        return WEIR_OK;
    }
    return endpoint->run(call, error);
}

static struct weir_api_call *call_of(struct weir_mount_job *job)
{
    return WEIR_CONTAINER_OF(job, struct weir_api_call, job);
}

static enum weir_status run_job(struct weir_mount_job *job, struct weir_mount *mount,
                                struct weir_error *error)
{
    (void)mount;
    return run(call_of(job), error);
}

static void end_job(struct weir_mount_job *job, const struct weir_error *error)
{
    struct weir_api_call *call = call_of(job);

    if (error->status == WEIR_OK)
        end(call);
    else
        refuse(call, error);
}

static void submit(struct weir_api_call *call)
{
    struct weir_error error = {0};

    call->job = (struct weir_mount_job){.run = run_job, .end = end_job};
    weir_list_init(&call->job.link);
    if (weir_mount_submit(call->mount, &call->job, &error) != WEIR_OK)
        refuse(call, &error);
}

/* At the server: nothing of it blocks. */
static void run_here(struct weir_api_call *call)
{
    struct weir_error error = {0};
    enum weir_status status = run(call, &error);

    error.status = status;
    if (status == WEIR_OK)
        end(call);
    else
        refuse(call, &error);
}

/* ---- scope, database --------------------------------------------------------------- */

static bool allows(const struct weir_grant *grant, uint32_t scopes)
{
    if (scopes == 0)
        return true;
    for (uint32_t bit = 1; bit < WEIR_SCOPE_ALL; bit <<= 1)
        if ((scopes & bit) != 0 && weir_grant_allows(grant, (enum weir_scope)bit))
            return true;
    return false;
}

static bool check_scope(struct weir_api_call *call)
{
    const struct weir_endpoint *endpoint = call->match.endpoint;
    const char *first = "";

    if (allows(&call->grant, endpoint->scopes))
        return true;
    for (uint32_t bit = WEIR_SCOPE_ADMIN; bit > 0; bit >>= 1)
        if ((endpoint->scopes & bit) != 0)
            first = weir_scope_name((enum weir_scope)bit);
    weir_problem_set(&call->problem, WEIR_PROBLEM_SCOPE,
                     "the token needs the scope '%s' for this", first);
    return false;
}

/* The number of a mount by its name; mount_count: there is none. */
static size_t find_mount(const struct weir_api *self, const char *name)
{
    size_t i = 0;

    if (name == NULL)
        return self->options.mount_default;
    while (i < self->options.mount_count &&
           strcmp(weir_mount_name(self->options.mounts[i]), name) != 0)
        i++;
    return i;
}

static bool check_database(struct weir_api_call *call)
{
    const struct weir_api *self = call->api;
    const char *name = call->match.database;
    size_t index = find_mount(self, name);

    if (index < self->options.mount_count) {
        call->mount = self->options.mounts[index];
        name = weir_mount_name(call->mount);
        if (weir_grant_covers(&call->grant, WEIR_RESTRICT_DATABASES, name))
            return true;
    }
    if (name == NULL)
        weir_problem_set(&call->problem, WEIR_PROBLEM_NO_DATABASE,
                         "no database is the default one; name one: /db/NAME%s",
                         call->match.endpoint->path);
    else
        weir_problem_set(&call->problem, WEIR_PROBLEM_NO_DATABASE,
                         "there is no database '%s'", name);
    return false;
}

/* The caller is known. */
static void proceed(struct weir_api_call *call)
{
    bool here = call->match.endpoint->at == WEIR_AT_SERVER;

    if (!check_scope(call) || (!here && !check_database(call)) ||
        !weir_call_check_parameters(call))
        end(call);
    else if (here)
        run_here(call);
    else
        submit(call);
}

/* ---- tokens ------------------------------------------------------------------------ */

static void grant_all(struct weir_grant *grant)
{
    *grant = (struct weir_grant){.scopes = WEIR_SCOPE_ALL};
    weir_text_format(grant->name, sizeof grant->name, "local");
}

static void refuse_token(struct weir_api_call *call)
{
    atomic_fetch_add(&call->api->token_failures, 1);
    weir_problem_set(&call->problem, WEIR_PROBLEM_BAD_TOKEN,
                     "the token is not valid; make one with 'weir token create'");
    end(call);
}

/* All are compared, so the time says nothing of their places. */
static bool find_configured(struct weir_api *self,
                            const uint8_t hash[WEIR_TOKEN_HASH_SIZE],
                            struct weir_grant *out)
{
    bool found = false;

    weir_lock_acquire(&self->lock);
    for (size_t i = 0; i < self->token_count; i++) {
        const struct weir_api_token *token = &self->tokens[i];

        if (CRYPTO_memcmp(token->hash, hash, sizeof token->hash) != 0)
            continue;
        *out = token->grant;
        found = weir_grant_is_valid(out, weir_clock_wall_us());
    }
    weir_lock_release(&self->lock);
    return found;
}

static enum weir_status find_token(struct weir_mount_job *job, struct weir_mount *mount,
                                   struct weir_error *error)
{
    struct weir_api_call *call = call_of(job);

    return weir_token_find(weir_mount_db(mount), call->key.hash, &call->grant, error);
}

static void end_find(struct weir_mount_job *job, const struct weir_error *error)
{
    struct weir_api_call *call = call_of(job);

    if (error->status == WEIR_OK) {
        weir_token_cache_put(&call->api->cache, &call->key, weir_clock_now_ns(),
                             &call->grant);
        proceed(call);
    } else if (error->status == WEIR_NOT_FOUND) {
        call->place++;
        look_up(call);
    } else {
        refuse(call, error);
    }
}

/* In the next place that was not looked in yet. */
static void look_up(struct weir_api_call *call)
{
    struct weir_api *self = call->api;
    struct weir_error error = {0};
    size_t index;

    call->grant = (struct weir_grant){.scopes = 0};
    if (call->place == call->place_count) {
        refuse_token(call);
        return;
    }
    index = call->places[call->place];
    call->key.place = (uint32_t)index;
    if (weir_token_cache_find(&self->cache, &call->key, weir_clock_now_ns(),
                              &call->grant) &&
        weir_grant_is_valid(&call->grant, weir_clock_wall_us())) {
        proceed(call);
        return;
    }
    call->job = (struct weir_mount_job){.run = find_token, .end = end_find};
    weir_list_init(&call->job.link);
    if (weir_mount_submit(self->options.mounts[index], &call->job, &error) != WEIR_OK)
        refuse(call, &error);
}

/* The database of the request, and the default one. Without a default one, tokens of a
 * database are for that database only, and routes of the server need another token. */
static void choose_places(struct weir_api_call *call)
{
    const struct weir_api_options *options = &call->api->options;
    size_t own = options->mount_count;
    size_t fallback = options->mount_default;

    if (call->match.endpoint->at != WEIR_AT_SERVER)
        own = find_mount(call->api, call->match.database);
    call->place = 0;
    call->place_count = 0;
    if (own < options->mount_count)
        call->places[call->place_count++] = own;
    if (fallback < options->mount_count && own != fallback)
        call->places[call->place_count++] = fallback;
}

/* The text behind "Bearer "; no data: there is none. */
static struct weir_str bearer_of(struct weir_str header)
{
    static const char SCHEME[] = "Bearer ";
    size_t size = sizeof SCHEME - 1;

    if (header.data == NULL || header.size < size ||
        strncasecmp(header.data, SCHEME, size) != 0)
        return (struct weir_str){NULL, 0};
    return (struct weir_str){header.data + size, header.size - size};
}

static void authenticate(struct weir_api_call *call, struct weir_str header)
{
    struct weir_str token = bearer_of(header);

    if (token.data == NULL) {
        weir_problem_set(&call->problem, WEIR_PROBLEM_NO_TOKEN,
                         "send a token: Authorization: Bearer weir_...");
        end(call);
    } else if (weir_token_hash(token.data, token.size, call->key.hash, NULL) != WEIR_OK) {
        refuse_token(call);
    } else if (find_configured(call->api, call->key.hash, &call->grant)) {
        proceed(call);
    } else {
        choose_places(call);
        look_up(call);
    }
}

/* ---- beginning --------------------------------------------------------------------- */

static bool contains(struct weir_str text, const char *word)
{
    size_t size = strlen(word);

    for (size_t i = 0; text.data != NULL && i + size <= text.size; i++)
        if (strncasecmp(text.data + i, word, size) == 0)
            return true;
    return false;
}

static bool find_route(struct weir_api_call *call, const struct weir_api_request *request)
{
    weir_endpoint_find(weir_endpoints, weir_endpoint_count, &call->target,
                       request->method, &call->match);
    call->methods = call->match.methods;
    if (call->methods == 0)
        weir_problem_set(&call->problem, WEIR_PROBLEM_NO_ROUTE,
                         "there is no such route; /openapi.json lists all");
    else if (call->match.endpoint == NULL)
        weir_problem_set(&call->problem, WEIR_PROBLEM_METHOD_NOT_ALLOWED,
                         "this route has other methods; see the header Allow");
    return call->problem.code == WEIR_PROBLEM_NONE;
}

void weir_api_call_init(struct weir_api *self, struct weir_api_call *call)
{
    memset(call, 0, sizeof *call);
    call->api = self;
    call->received_ns = weir_clock_now_ns();
    weir_target_init(&call->target);
    weir_problem_init(&call->problem);
    weir_buf_init(&call->body, self->options.heap, WEIR_API_BODY_MAX);
}

void weir_api_call_fini(struct weir_api_call *call)
{
    weir_buf_fini(&call->body);
}

void weir_api_refuse(struct weir_api *self, struct weir_api_call *call)
{
    (void)self;
    end(call);
}

/* Does this caller need a token here, or has it sent one that says more? */
static bool wants_token(const struct weir_api_call *call,
                        const struct weir_api_request *request)
{
    const struct weir_endpoint *endpoint = call->match.endpoint;

    if (endpoint->scopes == 0)
        return endpoint->token_optional && request->authorization.data != NULL;
    return !(endpoint->open_on_loopback &&
             (request->loopback || call->api->options.metrics_public));
}

void weir_api_begin(struct weir_api *self, struct weir_api_call *call,
                    const struct weir_api_request *request)
{
    call->open_metrics = contains(request->accept, "application/openmetrics-text");
    call->octets = contains(request->accept, "application/octet-stream");
    if (!find_route(call, request)) {
        end(call);
        return;
    }
    if (self->options.no_tokens || request->admin) {
        grant_all(&call->grant);
        proceed(call);
    } else if (wants_token(call, request)) {
        authenticate(call, request->authorization);
    } else {
        call->grant = (struct weir_grant){.scopes = call->match.endpoint->scopes};
        proceed(call);
    }
}

/* ---- life -------------------------------------------------------------------------- */

enum weir_status weir_api_set_tokens(struct weir_api *self,
                                     const struct weir_api_token *tokens, size_t count,
                                     int64_t cache_ns)
{
    const struct weir_heap *heap = self->options.heap;
    struct weir_api_token *before;
    struct weir_api_token *copy =
        weir_heap_zalloc_array(heap, count + 1, sizeof *copy); /* none is fine */

    if (copy == NULL)
        return WEIR_NO_MEMORY;
    if (count > 0)
        memcpy(copy, tokens, count * sizeof *copy);
    weir_lock_acquire(&self->lock);
    before = self->tokens;
    self->tokens = copy;
    self->token_count = count;
    weir_lock_release(&self->lock);
    weir_heap_free(heap, before);
    weir_token_cache_set_keep(&self->cache, cache_ns);
    return WEIR_OK;
}

enum weir_status weir_api_create(const struct weir_api_options *options,
                                 struct weir_api **out, struct weir_error *error)
{
    struct weir_api *self = weir_heap_zalloc(options->heap, sizeof *self);
    enum weir_status status = WEIR_OK;

    *out = NULL;
    if (self == NULL)
        return weir_error_set(error, WEIR_NO_MEMORY, "out of memory");
    self->options = *options;
    weir_buf_init(&self->openapi, options->heap, OPENAPI_SIZE_MAX);
    status = weir_lock_init(&self->lock);
    if (status == WEIR_OK) {
        status = weir_token_cache_init(&self->cache, options->heap, options->cache_ns);
        if (status != WEIR_OK)
            weir_lock_fini(&self->lock);
    }
    if (status != WEIR_OK) {
        weir_heap_free(options->heap, self);
        return weir_error_set(error, status, "no lock could be made");
    }
    weir_openapi_append(weir_endpoints, weir_endpoint_count, &self->openapi);
    status = weir_buf_status(&self->openapi);
    if (status == WEIR_OK)
        status = weir_api_set_tokens(self, options->tokens, options->token_count,
                                     options->cache_ns);
    if (status == WEIR_OK)
        status = weir_request_meter_create(options->heap, &self->meter);
    if (status != WEIR_OK) {
        weir_api_destroy(self);
        return weir_error_set(error, status, "%s", weir_status_text(status));
    }
    *out = self;
    return WEIR_OK;
}

void weir_api_destroy(struct weir_api *self)
{
    if (self == NULL)
        return;
    weir_request_meter_destroy(self->meter);
    weir_token_cache_fini(&self->cache);
    weir_buf_fini(&self->openapi);
    weir_heap_free(self->options.heap, self->tokens);
    weir_lock_fini(&self->lock);
    weir_heap_free(self->options.heap, self);
}

void weir_api_drain(struct weir_api *self)
{
    atomic_store(&self->draining, true);
}

/* ---- for the answers --------------------------------------------------------------- */

bool weir_api_is_draining(const struct weir_api *self)
{
    return atomic_load(&self->draining);
}

const struct weir_api_options *weir_api_options(const struct weir_api *self)
{
    return &self->options;
}

struct weir_str weir_api_openapi(const struct weir_api *self)
{
    return weir_buf_get(&self->openapi);
}

void weir_api_add_metrics(struct weir_api *self, struct weir_metrics_text *text)
{
    weir_request_meter_add(self->meter, text);
    weir_metrics_text_family(text, "weir_token_failures_total",
                             "Requests with a token that was not valid.",
                             WEIR_FAMILY_COUNTER);
    weir_metrics_text_add(text, "", NULL, 0, (double)atomic_load(&self->token_failures));
    weir_metrics_text_family(text, "weir_db_up", "1 if the database can be used.",
                             WEIR_FAMILY_GAUGE);
    for (size_t i = 0; i < self->options.mount_count; i++) {
        struct weir_mount *mount = self->options.mounts[i];
        struct weir_metric_label label = {"database", weir_mount_name(mount)};
        struct weir_mount_status status;

        weir_mount_read_status(mount, &status);
        weir_metrics_text_add(text, "", &label, 1,
                              status.state == WEIR_MOUNT_READY ? 1 : 0);
    }
}
