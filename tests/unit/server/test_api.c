/*
 * test_api.c - requests from their target to their answer: routes, tokens, scopes,
 * parameters, restrictions and problems.
 */
#include "server/api/api.h"

#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/json_read.h"
#include "base/text.h"
#include "db/clock.h"
#include "kit/outbox/outbox_engines.h"
#include "kit/test.h"
#include "server/api/mount.h"
#include "weir/audit.h"
#include "weir/dead_letter.h"

enum { REPLY_SIZE = 1 << 16, TARGET_SIZE = 512 };
#define WAIT_LIMIT_NS WEIR_SECONDS(60)

static const char MARKER[] = "Quecksilber-7f3a";

struct setup {
    struct fixture *fixture;
    struct weir_mount *mounts[2];
    struct weir_api_options options;
    struct weir_api *api;
};

/* What a client got. */
struct reply {
    unsigned status;
    char type[96];
    char body[REPLY_SIZE];
    unsigned methods;
    int64_t retry_after;
};

struct asked {
    struct weir_api_call call; /* first */
    sem_t ended;
};

static struct reply reply;

/* ---- the server -------------------------------------------------------------------- */

static void await_ready(struct weir_mount *mount)
{
    const struct timespec pause = {.tv_nsec = 2000000};
    int64_t end_ns = weir_clock_now_ns() + WAIT_LIMIT_NS;
    struct weir_mount_status status;

    weir_mount_read_status(mount, &status);
    while (status.state != WEIR_MOUNT_READY && weir_clock_now_ns() < end_ns) {
        nanosleep(&pause, NULL);
        weir_mount_read_status(mount, &status);
    }
    check_str(weir_mount_state_name(status.state), "ready");
}

static struct weir_mount *mount_of(const char *name, const char *url)
{
    struct weir_mount_options options;
    struct weir_mount *mount = NULL;
    struct weir_error error = {0};

    weir_mount_options_init(&options);
    options.name = name;
    options.url = url;
    check_status(weir_mount_create(&options, &mount, &error), WEIR_OK);
    return mount;
}

static void begin(struct setup *self, struct fixture *fixture)
{
    self->fixture = fixture;
    self->mounts[0] = mount_of("shop", fixture->url);
    self->mounts[1] = mount_of("far", "postgresql://weir@127.0.0.1:1/none");
    await_ready(self->mounts[0]);
    self->options = (struct weir_api_options){.heap = weir_heap_system(),
                                              .server_name = "test",
                                              .mounts = self->mounts,
                                              .mount_count = 2,
                                              .mount_default = 0,
                                              .cache_ns = WEIR_HOURS(1)};
    check_status(weir_api_create(&self->options, &self->api, &fixture->error), WEIR_OK);
}

static void finish(struct setup *self)
{
    for (size_t i = 0; i < 2; i++)
        check_int(weir_mount_stop(self->mounts[i], WAIT_LIMIT_NS), 0);
    weir_api_destroy(self->api);
    weir_mount_destroy(self->mounts[0]);
    weir_mount_destroy(self->mounts[1]);
}

/* ---- a client ---------------------------------------------------------------------- */

static void ended(struct weir_api_call *call)
{
    sem_post(&((struct asked *)(void *)call)->ended);
}

static struct weir_str piece(char **at, const char *ends)
{
    struct weir_str out = {*at, strcspn(*at, ends)};

    *at += out.size;
    return out;
}

/* Nothing of it is encoded. */
static void split(struct weir_target *target, const char *text)
{
    char copy[TARGET_SIZE];
    char *at = copy;

    snprintf(copy, sizeof copy, "%s", text);
    while (*at == '/') {
        at++;
        check(weir_target_add_segment(target, piece(&at, "/?")));
    }
    while (*at == '?' || *at == '&') {
        struct weir_str name;

        at++;
        name = piece(&at, "=&");
        if (*at == '=')
            at++;
        check(weir_target_add_parameter(target, name, piece(&at, "&")));
    }
}

struct client {
    const char *token; /* text of a token; NULL: none */
    const char *accept;
    bool admin;
    bool loopback;
};
static const struct client ADMIN = {.admin = true};

static const struct reply *ask_by(struct setup *self, enum weir_http_method method,
                                  const char *target, const struct client *client)
{
    static struct asked asked;
    char header[128] = "";
    struct weir_api_request request = {
        .method = method, .admin = client->admin, .loopback = client->loopback};

    weir_api_call_init(self->api, &asked.call);
    sem_init(&asked.ended, 0, 0);
    asked.call.ended = ended;
    snprintf(asked.call.request, sizeof asked.call.request, "r-1");
    split(&asked.call.target, target);
    if (client->token != NULL) {
        snprintf(header, sizeof header, "Bearer %s", client->token);
        request.authorization = weir_str(header);
    }
    if (client->accept != NULL)
        request.accept = weir_str(client->accept);
    weir_api_begin(self->api, &asked.call, &request);
    sem_wait(&asked.ended);
    reply.status = asked.call.status;
    reply.methods = asked.call.methods;
    reply.retry_after = asked.call.problem.retry_after_seconds;
    snprintf(reply.type, sizeof reply.type, "%s", asked.call.type);
    snprintf(reply.body, sizeof reply.body, "%s", weir_buf_text(&asked.call.body));
    weir_api_call_fini(&asked.call);
    sem_destroy(&asked.ended);
    return &reply;
}

static const struct reply *ask(struct setup *self, const char *target,
                               const struct client *client)
{
    return ask_by(self, WEIR_HTTP_GET, target, client);
}

static bool says(const char *text)
{
    return strstr(reply.body, text) != NULL;
}

/* The text of a new token. */
static const char *token_for(struct setup *self, const char *name, uint32_t scopes,
                             enum weir_restriction restriction, const char *globs)
{
    static struct weir_new_token token;
    struct weir_token_options options = {.name = name, .scopes = scopes};

    options.globs[restriction] = globs;
    check_status(weir_token_create(self->fixture->db, NULL, &options, &token,
                                   &self->fixture->error),
                 WEIR_OK);
    return token.text;
}

static void add_queue(struct setup *self, const char *name)
{
    struct weir_queue_options options;

    weir_queue_options_init(&options);
    options.name = name;
    options.partitions = 2;
    check_status(weir_outbox_add_queue(weir_mount_outbox(self->mounts[0]), &options,
                                       &self->fixture->error),
                 WEIR_OK);
}

/* ---- routes ------------------------------------------------------------------------ */

OUTBOX_SQLITE_TEST(api, answers_404_for_a_route_that_is_none)
{
    struct setup setup;

    begin(&setup, fixture);
    check_int(ask(&setup, "/v1/nothing", &ADMIN)->status, 404);
    check_str(reply.type, "application/problem+json");
    check(says("\"code\":\"no_route\""));
    check(says("\"instance\":\"r-1\""));
    finish(&setup);
}

OUTBOX_SQLITE_TEST(api, answers_405_with_the_methods_of_the_route)
{
    struct setup setup;

    begin(&setup, fixture);
    check_int(ask_by(&setup, WEIR_HTTP_DELETE, "/v1/queues", &ADMIN)->status, 405);
    check(says("\"code\":\"method_not_allowed\""));
    check_int(reply.methods, 1u << WEIR_HTTP_GET);
    finish(&setup);
}

OUTBOX_SQLITE_TEST(api, answers_livez_version_and_openapi_without_a_token)
{
    const struct client stranger = {.token = NULL};
    struct setup setup;

    begin(&setup, fixture);
    check_int(ask(&setup, "/livez", &stranger)->status, 200);
    check_str(reply.type, "text/plain");
    check_int(ask(&setup, "/version", &stranger)->status, 200);
    check(says("\"server\":\"test\""));
    check_int(ask(&setup, "/openapi.json", &stranger)->status, 200);
    check_str(reply.type, "application/json");
    finish(&setup);
}

/* ---- tokens and scopes ------------------------------------------------------------- */

OUTBOX_TEST(api, asks_for_a_token_and_refuses_a_wrong_one)
{
    struct client client = {.token = NULL};
    char wrong[WEIR_API_TOKEN_SIZE + 1];
    struct setup setup;

    begin(&setup, fixture);
    check_int(ask(&setup, "/v1/queues", &client)->status, 401);
    check(says("\"code\":\"no_token\""));
    client.token = "weir_nonsense";
    check_int(ask(&setup, "/v1/queues", &client)->status, 401);
    check(says("\"code\":\"bad_token\""));

    /* of another database: well formed, and not there */
    snprintf(wrong, sizeof wrong, "%s",
             token_for(&setup, "a", WEIR_SCOPE_READ, WEIR_RESTRICT_QUEUES, NULL));
    check_status(weir_token_revoke(fixture->db, NULL, "a", &(size_t){0}, &fixture->error),
                 WEIR_OK);
    client.token = wrong;
    check_int(ask(&setup, "/v1/queues", &client)->status, 401);
    check(says("\"code\":\"bad_token\""));
    finish(&setup);
}

OUTBOX_TEST(api, takes_a_token_of_the_database)
{
    struct client client = {.token = NULL};
    struct setup setup;

    begin(&setup, fixture);
    add_queue(&setup, "orders");
    client.token = token_for(&setup, "a", WEIR_SCOPE_READ, WEIR_RESTRICT_QUEUES, NULL);

    check_int(ask(&setup, "/v1/queues", &client)->status, 200);
    check(says("\"name\":\"orders\""));
    finish(&setup);
}

/* Until its time in the cache is over, no statement asks for it again. */
OUTBOX_SQLITE_TEST(api, keeps_a_token_that_it_has_found)
{
    struct client client = {.token = NULL};
    struct setup setup;

    begin(&setup, fixture);
    client.token = token_for(&setup, "a", WEIR_SCOPE_READ, WEIR_RESTRICT_QUEUES, NULL);
    check_int(ask(&setup, "/v1/queues", &client)->status, 200);
    check_status(weir_token_revoke(fixture->db, NULL, "a", &(size_t){0}, &fixture->error),
                 WEIR_OK);

    check_int(ask(&setup, "/v1/queues", &client)->status, 200);
    finish(&setup);
}

OUTBOX_SQLITE_TEST(api, refuses_a_revoked_token_once_the_cache_has_forgotten_it)
{
    struct client client = {.token = NULL};
    struct setup setup;

    begin(&setup, fixture);
    weir_api_destroy(setup.api);
    setup.options.cache_ns = 0;
    check_status(weir_api_create(&setup.options, &setup.api, &fixture->error), WEIR_OK);
    client.token = token_for(&setup, "a", WEIR_SCOPE_READ, WEIR_RESTRICT_QUEUES, NULL);
    check_int(ask(&setup, "/v1/queues", &client)->status, 200);
    check_status(weir_token_revoke(fixture->db, NULL, "a", &(size_t){0}, &fixture->error),
                 WEIR_OK);

    check_int(ask(&setup, "/v1/queues", &client)->status, 401);
    finish(&setup);
}

/* The hour of the cache does not extend the second of the token. */
OUTBOX_SQLITE_TEST(api, refuses_a_token_that_expires_in_the_cache)
{
    const struct weir_token_options options = {
        .name = "a", .scopes = WEIR_SCOPE_READ, .lifetime_ns = WEIR_SECONDS(2)};
    const struct timespec pause = {.tv_nsec = 20000000};
    int64_t end_ns = weir_clock_now_ns() + WAIT_LIMIT_NS;
    struct weir_new_token token;
    struct setup setup;

    begin(&setup, fixture);
    check_status(weir_token_create(fixture->db, NULL, &options, &token, &fixture->error),
                 WEIR_OK);
    const struct client client = {.token = token.text};
    while (ask(&setup, "/v1/queues", &client)->status == 200 &&
           weir_clock_now_ns() < end_ns)
        nanosleep(&pause, NULL);
    check_int(reply.status, 401);
    finish(&setup);
}

/* As the table says: with one scope, each route that it does not open is 403, and each
 * other one is not. */
OUTBOX_SQLITE_TEST(api, opens_to_each_scope_the_routes_of_the_table)
{
    static const uint32_t READERS =
        WEIR_SCOPE_READ | WEIR_SCOPE_CONTENT | WEIR_SCOPE_OPERATOR | WEIR_SCOPE_ADMIN;
    static const uint32_t CONTENT_READERS = WEIR_SCOPE_CONTENT | WEIR_SCOPE_ADMIN;
    struct setup setup;

    begin(&setup, fixture);
    for (uint32_t bit = 1; bit < WEIR_SCOPE_ALL; bit <<= 1) {
        struct client client = {
            .token = token_for(&setup, "a", bit, WEIR_RESTRICT_QUEUES, NULL)};

        for (size_t i = 0; i < weir_endpoint_count; i++) {
            const struct weir_endpoint *row = &weir_endpoints[i];
            uint32_t open = row->scopes == WEIR_SCOPE_ADMIN     ? WEIR_SCOPE_ADMIN
                            : row->scopes == WEIR_SCOPE_CONTENT ? CONTENT_READERS
                                                                : READERS;
            bool opens = row->scopes == 0 || (open & bit) != 0;

            ask_by(&setup, row->method, row->path, &client);
            check(opens == (reply.status != 403));
            check(opens != says("\"code\":\"scope\""));
        }
    }
    finish(&setup);
}

/* ---- databases --------------------------------------------------------------------- */

OUTBOX_TEST(api, reaches_a_database_by_its_name)
{
    struct setup setup;

    begin(&setup, fixture);
    add_queue(&setup, "orders");
    check_int(ask(&setup, "/db/shop/v1/queues/orders", &ADMIN)->status, 200);
    check(says("\"name\":\"orders\""));
    check_int(ask(&setup, "/db/shops/v1/queues/orders", &ADMIN)->status, 404);
    check(says("\"code\":\"no_database\""));
    finish(&setup);
}

OUTBOX_SQLITE_TEST(api, answers_503_for_a_database_that_is_away_and_serves_the_other)
{
    struct setup setup;

    begin(&setup, fixture);
    check_int(ask(&setup, "/db/far/v1/queues", &ADMIN)->status, 503);
    check(says("\"code\":\"database_away\""));
    check_int(reply.retry_after, 1);
    check_int(ask(&setup, "/db/shop/v1/queues", &ADMIN)->status, 200);
    finish(&setup);
}

OUTBOX_SQLITE_TEST(api, hides_databases_outside_of_a_token)
{
    struct client client = {.token = NULL};
    struct setup setup;

    begin(&setup, fixture);
    client.token =
        token_for(&setup, "a", WEIR_SCOPE_READ, WEIR_RESTRICT_DATABASES, "other*");

    check_int(ask(&setup, "/v1/queues", &client)->status, 404);
    check(says("\"code\":\"no_database\""));
    finish(&setup);
}

OUTBOX_MARIADB_TEST(api, answers_501_for_the_engine_on_mariadb)
{
    struct setup setup;

    begin(&setup, fixture);
    check_int(ask(&setup, "/v1/executions", &ADMIN)->status, 501);
    check(says("\"code\":\"no_engine\""));
    check_int(ask(&setup, "/v1/budgets", &ADMIN)->status, 501);
    finish(&setup);
}

/* ---- restrictions ------------------------------------------------------------------ */

OUTBOX_TEST(api, hides_queues_outside_of_a_token)
{
    struct client client = {.token = NULL};
    struct setup setup;

    begin(&setup, fixture);
    add_queue(&setup, "orders");
    add_queue(&setup, "mail");
    client.token = token_for(&setup, "a", WEIR_SCOPE_READ, WEIR_RESTRICT_QUEUES, "ord*");

    check_int(ask(&setup, "/v1/queues", &client)->status, 200);
    check(says("\"name\":\"orders\"") && !says("mail"));
    check_int(ask(&setup, "/v1/status", &client)->status, 200);
    check(says("\"name\":\"orders\"") && !says("mail"));
    check_int(ask(&setup, "/v1/queues/mail", &client)->status, 404);
    check_int(ask(&setup, "/v1/queues/mail/partitions", &client)->status, 404);
    check_int(ask(&setup, "/v1/queues/mail/subscriptions", &client)->status, 404);
    check_int(ask(&setup, "/v1/dead-letters?queue=mail", &client)->status, 404);
    check_int(ask(&setup, "/v1/queues/orders", &client)->status, 200);
    finish(&setup);
}

/* ---- dead letters ------------------------------------------------------------------ */

static enum weir_outcome reject(struct weir_context *context, void *state,
                                const struct weir_message *message,
                                struct weir_reason *reason)
{
    (void)context;
    (void)message;
    sem_post(state);
    return weir_reject(reason, "no such street");
}

/* A message with a marker in payload and header, rejected by a handler. */
static void make_dead_letter(struct setup *self)
{
    const struct timespec pause = {.tv_nsec = 2000000};
    struct weir_header header = {.name = "note", .value = MARKER};
    struct weir_draft draft = {.type = "letter",
                               .payload = MARKER,
                               .payload_size = sizeof MARKER - 1,
                               .headers = &header,
                               .header_count = 1};
    struct weir_outbox_options options;
    struct weir_handler_options handler;
    struct weir_dead_letter_scope scope;
    struct weir_outbox *outbox = NULL;
    struct weir_error *error = &self->fixture->error;
    int64_t count = 0;
    sem_t called;

    add_queue(self, "letters");
    sem_init(&called, 0, 0);
    weir_outbox_options_init(&options);
    options.db = self->fixture->db;
    weir_handler_options_init(&handler);
    handler.queue = "letters";
    handler.on_message = reject;
    handler.state = &called;
    check_status(weir_outbox_create(&options, &outbox, error), WEIR_OK);
    check_status(weir_outbox_add_handler(outbox, &handler, error), WEIR_OK);
    check_status(weir_outbox_start(outbox, error), WEIR_OK);
    check_status(weir_enqueue(outbox, NULL, "letters", &draft, NULL, error), WEIR_OK);
    sem_wait(&called);
    weir_dead_letter_scope_init(&scope);
    while (count == 0) {
        nanosleep(&pause, NULL);
        check_status(weir_dead_letter_count(outbox, NULL, &scope,
                                            WEIR_DEAD_LETTER_PENDING, &count, error),
                     WEIR_OK);
    }
    check_int(weir_outbox_stop(outbox, WAIT_LIMIT_NS), 0);
    weir_outbox_destroy(outbox);
    sem_destroy(&called);
}

OUTBOX_TEST(api, shows_payload_and_headers_to_the_scope_content)
{
    struct client client = {.token = NULL};
    struct setup setup;

    begin(&setup, fixture);
    make_dead_letter(&setup);
    client.token = token_for(&setup, "a", WEIR_SCOPE_CONTENT, WEIR_RESTRICT_QUEUES, NULL);

    check_int(ask(&setup, "/v1/dead-letters/1", &client)->status, 200);
    check(says("\"payload\":\"Quecksilber-7f3a\""));
    check(says("\"note\":\"Quecksilber-7f3a\""));
    finish(&setup);
}

/* On no route that `read` opens is the marker to be found. */
OUTBOX_TEST(api, shows_no_payload_and_no_header_to_the_scope_read)
{
    struct client client = {.token = NULL};
    struct setup setup;

    begin(&setup, fixture);
    make_dead_letter(&setup);
    client.token = token_for(&setup, "a", WEIR_SCOPE_READ, WEIR_RESTRICT_QUEUES, NULL);

    for (size_t i = 0; i < weir_endpoint_count; i++) {
        ask_by(&setup, weir_endpoints[i].method, weir_endpoints[i].path, &client);
        check(!says(MARKER));
    }
    check_int(ask(&setup, "/v1/dead-letters", &client)->status, 200);
    check(says("\"reason\":\"no such street\"") && !says(MARKER));
    check_int(ask(&setup, "/v1/dead-letters/1", &client)->status, 200);
    check(says("\"id\":1,") && !says(MARKER));
    finish(&setup);
}

OUTBOX_TEST(api, hides_dead_letters_of_queues_outside_of_a_token)
{
    struct client client = {.token = NULL};
    struct setup setup;

    begin(&setup, fixture);
    make_dead_letter(&setup);
    client.token =
        token_for(&setup, "a", WEIR_SCOPE_CONTENT, WEIR_RESTRICT_QUEUES, "orders");

    check_int(ask(&setup, "/v1/dead-letters/1", &client)->status, 404);
    check(!says(MARKER));
    check_int(ask(&setup, "/v1/dead-letters", &client)->status, 200);
    check(says("\"dead_letters\":[]"));
    finish(&setup);
}

/* ---- parameters -------------------------------------------------------------------- */

OUTBOX_SQLITE_TEST(api, refuses_parameters_that_the_route_does_not_have)
{
    struct setup setup;

    begin(&setup, fixture);
    check_int(ask(&setup, "/v1/dead-letters?limt=3", &ADMIN)->status, 400);
    check(says("\"code\":\"bad_request\""));
    check(says("\"field\":\"limt\",\"nearest\":\"limit\""));
    check_int(ask(&setup, "/v1/queues?limit=3", &ADMIN)->status, 400);
    check_int(ask(&setup, "/v1/dead-letters?key=a&key=b", &ADMIN)->status, 400);
    check(says("is given twice"));
    finish(&setup);
}

OUTBOX_SQLITE_TEST(api, takes_numbers_up_to_their_limits_and_none_beyond)
{
    struct setup setup;

    begin(&setup, fixture);
    check_int(ask(&setup, "/v1/dead-letters?limit=1", &ADMIN)->status, 200);
    check_int(ask(&setup, "/v1/dead-letters?limit=1000", &ADMIN)->status, 200);
    check_int(ask(&setup, "/v1/dead-letters?limit=0", &ADMIN)->status, 400);
    check(says("\"code\":\"out_of_range\"") && says("\"limit\":1"));
    check_int(ask(&setup, "/v1/dead-letters?limit=1001", &ADMIN)->status, 400);
    check(says("\"code\":\"out_of_range\"") && says("\"limit\":1000"));
    check_int(ask(&setup, "/v1/dead-letters?limit=9999999999999999999", &ADMIN)->status,
              400);
    check_int(ask(&setup, "/v1/dead-letters?limit=1x", &ADMIN)->status, 400);
    check_int(ask(&setup, "/v1/dead-letters?limit=", &ADMIN)->status, 400);
    finish(&setup);
}

OUTBOX_SQLITE_TEST(api, takes_words_of_the_list_and_names_the_nearest)
{
    struct setup setup;

    begin(&setup, fixture);
    check_int(ask(&setup, "/v1/dead-letters?status=any", &ADMIN)->status, 200);
    check_int(ask(&setup, "/v1/dead-letters?status=pendin", &ADMIN)->status, 400);
    check(says("\"nearest\":\"pending\""));
    check_int(ask(&setup, "/v1/executions?state=failed,xx", &ADMIN)->status, 400);
    check_int(ask(&setup, "/v1/executions?state=failed,", &ADMIN)->status, 400);
    finish(&setup);
}

OUTBOX_SQLITE_TEST(api, takes_times_of_rfc_3339)
{
    struct setup setup;

    begin(&setup, fixture);
    make_dead_letter(&setup);
    check_int(ask(&setup, "/v1/dead-letters?since=2020-01-01T00:00:00Z", &ADMIN)->status,
              200);
    check(says("\"id\":1,"));
    check_int(ask(&setup, "/v1/dead-letters?before=2020-01-01T00:00:00Z", &ADMIN)->status,
              200);
    check(says("\"dead_letters\":[]"));
    check_int(ask(&setup, "/v1/dead-letters?since=yesterday", &ADMIN)->status, 400);
    check(says("\"field\":\"since\""));
    finish(&setup);
}

/* ---- audit and tokens -------------------------------------------------------------- */

static const struct weir_audit_actor OPERATOR = {.name = "anna", .origin = WEIR_FROM_CLI};

OUTBOX_TEST(api, lists_actions_and_tokens_but_never_their_texts)
{
    char text[WEIR_API_TOKEN_SIZE + 1];
    struct setup setup;

    begin(&setup, fixture);
    weir_audit_act_as(&OPERATOR);
    snprintf(text, sizeof text, "%s",
             token_for(&setup, "ci", WEIR_SCOPE_READ, WEIR_RESTRICT_QUEUES, NULL));
    weir_audit_act_as(NULL);

    check_int(ask(&setup, "/v1/tokens", &ADMIN)->status, 200);
    check(says("\"name\":\"ci\"") && !says(text));
    check_int(ask(&setup, "/v1/audit", &ADMIN)->status, 200);
    check(says("\"action\":\"token.create\"") && !says(text));
    check_int(ask(&setup, "/v1/audit?action=queue.*", &ADMIN)->status, 200);
    check(!says("token.create"));
    finish(&setup);
}

OUTBOX_SQLITE_TEST(api, shows_no_actions_to_a_token_with_restrictions)
{
    struct client client = {.token = NULL};
    struct setup setup;

    begin(&setup, fixture);
    weir_audit_act_as(&OPERATOR);
    client.token = token_for(&setup, "a", WEIR_SCOPE_READ, WEIR_RESTRICT_LANES, "mail");
    weir_audit_act_as(NULL);

    check_int(ask(&setup, "/v1/audit", &ADMIN)->status, 200);
    check(says("token.create"));
    check_int(ask(&setup, "/v1/audit", &client)->status, 200);
    check(!says("token.create"));
    finish(&setup);
}

/* ---- the server itself ------------------------------------------------------------- */

OUTBOX_SQLITE_TEST(api, is_ready_while_one_database_is)
{
    const struct client stranger = {.token = NULL};
    struct setup setup;

    begin(&setup, fixture);
    check_int(ask(&setup, "/readyz", &stranger)->status, 200);
    check_str(reply.body, "{\"ready\":true,\"why\":\"\"}");
    check_int(ask(&setup, "/readyz?verbose", &stranger)->status, 200);
    check(!says("checks"));
    check_int(ask(&setup, "/readyz?verbose", &ADMIN)->status, 200);
    check(says("{\"name\":\"database shop\",\"good\":true,\"state\":\"ready\""));
    check(says("{\"name\":\"database far\",\"good\":false"));
    finish(&setup);
}

OUTBOX_SQLITE_TEST(api, is_not_ready_while_it_drains_and_lives_on)
{
    const struct client stranger = {.token = NULL};
    struct setup setup;

    begin(&setup, fixture);
    weir_api_drain(setup.api);

    check_int(ask(&setup, "/readyz", &stranger)->status, 503);
    check(says("\"why\":\"draining\""));
    check_int(ask(&setup, "/livez", &stranger)->status, 200);
    finish(&setup);
}

OUTBOX_SQLITE_TEST(api, gives_metrics_to_this_host_and_to_the_scope_read)
{
    struct client client = {.loopback = true};
    struct setup setup;

    begin(&setup, fixture);
    ask(&setup, "/livez", &client);
    check_int(ask(&setup, "/metrics", &client)->status, 200);
    check_str(reply.type, "text/plain; version=0.0.4; charset=utf-8");
    check(says("weir_db_up{database=\"shop\"} 1\nweir_db_up{database=\"far\"} 0\n"));
    check(says("weir_http_requests_total{route=\"/livez\",method=\"GET\",code=\"200\"} "
               "1\n"));
    check(says("weir_http_request_seconds_count{route=\"/livez\",method=\"GET\"} 1\n"));
    client.accept = "application/openmetrics-text; version=1.0.0";
    ask(&setup, "/metrics", &client);
    check(strcmp(reply.body + strlen(reply.body) - strlen("# EOF\n"), "# EOF\n") == 0);
    client.loopback = false;
    check_int(ask(&setup, "/metrics", &client)->status, 401);
    finish(&setup);
}
