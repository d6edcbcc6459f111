/*
 * serve.c - `weir serve`: relay, supervisor, API, metrics and health in one process.
 *
 *   configuration --> signals blocked --> listeners bound, databases begun
 *        --> judged --> relays, supervisors, requests --> READY --> signals --> stopped
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/serve/serve_log.h"
#include "cli/serve/serve_signals.h"
#include "cli/serve/serve_token.h"
#include "db/clock.h"
#include "server/config/load.h"
#include "server/config/print.h"
#include "server/process/server.h"
#include "weir/heap.h"
#include "weir/time.h"

extern char **environ;

enum { SETS_MAX = 64, PAGE_SIZE_MAX = 1 << 22, NAME_SIZE = 96 };

/* How long a database may take until the server goes on without it. */
#define JUDGE_NS WEIR_SECONDS(3)

static int run(const struct weir_command *self, int argc, char **argv);

struct serve_call {
    const char *file;
    const char *sets[SETS_MAX];
    size_t set_count;
    bool check;
    bool print;
};

static const struct weir_command_option OPTIONS[] = {
    WEIR_OPTION('c', "config", "FILE", "default $WEIR_CONFIG, else /etc/weir/weir.ini",
                WEIR_AS_TEXT(struct serve_call, file)),
    WEIR_OPTION(0, "set", "SECTION.KEY=VALUE", "wins over the file; may be repeated",
                WEIR_AS_TEXT(struct serve_call, sets[0]),
                WEIR_IN_LIST(struct serve_call, sets, set_count, "settings")),
    WEIR_OPTION(0, "check", NULL, "only read the configuration, and name all mistakes",
                WEIR_AS_FLAG(struct serve_call, check)),
    WEIR_OPTION(0, "print-config", NULL, "print every key, its value and its origin",
                WEIR_AS_FLAG(struct serve_call, print)),
};

const struct weir_command weir_cli_serve = {
    .name = "serve",
    .summary = "serve the HTTP API, relays, supervisors and metrics in one process",
    .usage = "[-c FILE] [--set SECTION.KEY=VALUE]... [--db URL]",
    .details =
        "Runs in the foreground and logs to standard error. Without a file it serves\n"
        "the database of --db on 127.0.0.1:9347, with a token for the life of the\n"
        "process. The keys of the file are in docs/configuration.md, the routes in\n"
        "/openapi.json.\n"
        "\n"
        "SIGTERM and Ctrl-C stop it in good order; a second one ends it at once, with\n"
        "1. SIGHUP reads the file again, all or nothing. Ends with 2 when the\n"
        "configuration has mistakes, an address is in use, or the tables of a\n"
        "database do not fit; a database that is away is waited for.\n"
        "\n"
        "  weir serve --db sqlite:shop.db\n"
        "  curl -H \"Authorization: Bearer $token\" http://127.0.0.1:9347/v1/queues\n",
    WEIR_OPTIONS(OPTIONS),
    .uses_db = true,
    .run = run,
};

/* What one run of the server has. */
struct serve {
    const struct weir_command *command;
    const struct serve_call *call;
    const char *file;          /* NULL: there is none */
    struct weir_config *first; /* the server keeps pointing to it */
    struct weir_config *config;
    struct weir_serve_log log_state;
    struct weir_log log;
    char name[NAME_SIZE];
    struct weir_api_token temporary;
    struct weir_systemd systemd;
    struct weir_server *server;
    bool left_behind; /* its threads still use it, and the process ends */
};

/* ---- configuration ----------------------------------------------------------------- */

static void print_line(void *state, const char *line)
{
    (void)state;
    fprintf(stderr, "%s\n", line);
}

static const char *find_file(const struct serve_call *call)
{
    const char *named = getenv("WEIR_CONFIG");

    if (call->file != NULL)
        return call->file;
    return named != NULL && named[0] != '\0' ? named : NULL;
}

/* NULL, and the mistakes are printed. */
static struct weir_config *load(const struct serve *self, struct weir_error *error)
{
    static const char *const FOREIGN[] = {"WEIR_DB",     "WEIR_PREFIX", "WEIR_CONFIG",
                                          "WEIR_SERVER", "WEIR_TOKEN",  NULL};
    static struct weir_mistakes mistakes, warnings;
    const struct weir_command_shared shared = weir_command_shared();
    const char *file = find_file(self->call);
    struct weir_config *config = NULL;
    struct weir_config_sources sources = {
        .heap = weir_heap_system(),
        .file = file != NULL ? file : "/etc/weir/weir.ini",
        .file_may_be_absent = file == NULL,
        .environment = (const char *const *)environ,
        .foreign = FOREIGN,
        .sets = self->call->sets,
        .set_count = self->call->set_count,
        .db = shared.db_given ? shared.db : NULL,
        .db_without_file = shared.db,
        .prefix = shared.prefix,
    };
    enum weir_status status =
        weir_config_load(&sources, &config, &mistakes, &warnings, error);

    if (status == WEIR_INVALID)
        weir_mistakes_each(&mistakes, "mistake", "mistakes", print_line, NULL);
    else if (status != WEIR_OK)
        fprintf(stderr, "weir serve: %s\n", error->text);
    weir_mistakes_each(&warnings, "warning", "warnings", print_line, NULL);
    return status == WEIR_OK ? config : NULL;
}

static int print_config(const struct serve *self)
{
    struct weir_buf text;
    int code;

    weir_buf_init(&text, weir_heap_system(), PAGE_SIZE_MAX);
    weir_config_print(self->config, &text);
    code = weir_output_lines(self->command, &text);
    weir_buf_fini(&text);
    return code;
}

/* ---- running ----------------------------------------------------------------------- */

/* A notification that failed is logged; nothing depends on it. */
static void tell_systemd(const struct serve *self, enum weir_status status,
                         const struct weir_error *error)
{
    if (status != WEIR_OK)
        weir_log_event(&self->log, WEIR_LOG_WARNING, "server.notification_failed",
                       "error=\"%s\"", error->text);
}

/* NULL: it may not replace the one before, and why is printed. */
static struct weir_config *load_again(const struct serve *self)
{
    static struct weir_mistakes mistakes;
    struct weir_error error = {0};
    struct weir_config *config = load(self, &error);

    if (config == NULL || weir_config_check_reload(self->config, config, &mistakes))
        return config;
    weir_mistakes_each(&mistakes, "mistake", "mistakes", print_line, NULL);
    weir_config_destroy(config);
    return NULL;
}

static void reload(struct serve *self)
{
    struct weir_error error = {0};
    struct weir_config *config = load_again(self);
    struct weir_config *unused = self->config;

    if (config == NULL) {
        weir_log_event(&self->log, WEIR_LOG_ERROR, "server.reload_refused", NULL);
        return;
    }
    if (weir_server_reload(self->server, config, &error) != WEIR_OK)
        weir_log_event(&self->log, WEIR_LOG_ERROR, "server.reload_failed", "error=\"%s\"",
                       error.text);
    else
        weir_log_event(&self->log, WEIR_LOG_INFO, "server.reloaded", NULL);
    if (weir_server_config(self->server) == config)
        self->config = config;
    else
        unused = config;
    if (unused != self->first)
        weir_config_destroy(unused);
}

static void reload_for_systemd(struct serve *self)
{
    struct weir_error error = {0};

    tell_systemd(
        self,
        weir_systemd_notify_reloading(&self->systemd, weir_clock_now_ns() / 1000, &error),
        &error);
    reload(self);
    tell_systemd(self, weir_systemd_notify_ready(&self->systemd, NULL, &error), &error);
}

static void tell_ready(const struct serve *self)
{
    struct weir_error error = {0};
    const char *address;

    for (size_t i = 0; (address = weir_server_address(self->server, i)) != NULL; i++)
        weir_log_event(&self->log, WEIR_LOG_INFO, "server.ready", "address=%s", address);
    tell_systemd(self, weir_systemd_notify_ready(&self->systemd, NULL, &error), &error);
}

/* Until a signal asks to stop. */
static void wait_for_the_end(struct serve *self)
{
    int64_t watchdog_ns = weir_systemd_watchdog_ns(&self->systemd);
    enum weir_serve_asked asked = WEIR_SERVE_NOTHING;
    struct weir_error error = {0};

    while (asked != WEIR_SERVE_STOP) {
        asked = weir_serve_signals_wait(watchdog_ns > 0 ? watchdog_ns : WEIR_SECONDS(60));
        if (asked == WEIR_SERVE_RELOAD)
            reload_for_systemd(self);
        if (watchdog_ns > 0)
            tell_systemd(self, weir_systemd_notify_watchdog(&self->systemd, &error),
                         &error);
    }
}

static int stop(struct serve *self)
{
    struct weir_error error = {0};
    size_t unfinished;

    tell_systemd(self, weir_systemd_notify_stopping(&self->systemd, NULL, &error),
                 &error);
    weir_log_event(&self->log, WEIR_LOG_INFO, "server.stopping", NULL);
    weir_server_drain(self->server);
    if (self->config->server.drain_delay_ns > 0)
        weir_clock_sleep(self->config->server.drain_delay_ns);
    unfinished = weir_server_stop(self->server);
    weir_log_event(&self->log, WEIR_LOG_INFO, "server.stopped", "unfinished=%zu",
                   unfinished);
    if (unfinished == 0)
        return WEIR_EXIT_DONE;
    self->left_behind = true;
    return WEIR_EXIT_FAILED;
}

static int fail(const struct serve *self, const struct weir_error *error, int code)
{
    fprintf(stderr, "weir %s: %s\n", self->command->name, error->text);
    return code;
}

/* 2: what an operator has to repair before a start can work. */
static int code_of(enum weir_status status)
{
    return status == WEIR_NO_MEMORY ? WEIR_EXIT_FAILED : WEIR_EXIT_MISUSE;
}

static int serve(struct serve *self)
{
    struct weir_error error = {0};
    enum weir_status status = weir_server_judge(self->server, JUDGE_NS, &error);

    if (status == WEIR_OK)
        status = weir_server_start(self->server, &error);
    if (status != WEIR_OK)
        return fail(self, &error, code_of(status));
    tell_ready(self);
    wait_for_the_end(self);
    return stop(self);
}

/* Without any token a server with tokens could not be used. */
static bool wants_token(const struct serve *self)
{
    return find_file(self->call) == NULL && access("/etc/weir/weir.ini", F_OK) != 0 &&
           self->config->token_count == 0 && self->config->auth.mode == WEIR_AUTH_TOKENS;
}

static enum weir_status create(struct serve *self, struct weir_error *error)
{
    struct weir_server_options options = {.config = self->config,
                                          .heap = weir_heap_system(),
                                          .log = self->log,
                                          .name = self->name,
                                          .systemd = &self->systemd};
    struct weir_systemd_options systemd = {.environment = (const char *const *)environ,
                                           .pid = getpid()};
    enum weir_status status = weir_systemd_open(&self->systemd, &systemd, error);

    if (status == WEIR_OK && wants_token(self)) {
        status = weir_serve_token_make(&self->temporary, error);
        options.temporary = &self->temporary;
    }
    return status == WEIR_OK ? weir_server_create(&options, &self->server, error)
                             : status;
}

static void name_server(struct serve *self)
{
    char host[64] = "localhost";

    if (self->config->server.name != NULL) {
        weir_text_format(self->name, sizeof self->name, "%s", self->config->server.name);
        return;
    }
    if (gethostname(host, sizeof host - 1) != 0)
        weir_text_format(host, sizeof host, "localhost");
    weir_text_format(self->name, sizeof self->name, "%s:%ld", host, (long)getpid());
}

static int start(struct serve *self)
{
    struct weir_error error = {0};
    enum weir_status status;
    int code;

    weir_serve_log_init(&self->log_state, &self->config->server, &self->log);
    name_server(self);
    weir_serve_signals_block();
    status = create(self, &error);
    code = status == WEIR_OK ? serve(self) : fail(self, &error, code_of(status));
    if (!self->left_behind)
        weir_server_destroy(self->server);
    weir_systemd_close(&self->systemd);
    return code;
}

static int run(const struct weir_command *self, int argc, char **argv)
{
    static struct serve_call call;
    static struct serve state;
    struct weir_error error = {0};
    int code = weir_command_parse(self, argc, argv, &call, sizeof call);

    if (code >= 0)
        return code;
    state = (struct serve){.command = self, .call = &call};
    state.config = load(&state, &error);
    if (state.config == NULL)
        return WEIR_EXIT_MISUSE;
    state.first = state.config;
    code = WEIR_EXIT_DONE;
    if (call.print)
        code = print_config(&state);
    else if (!call.check)
        code = start(&state);
    if (state.left_behind)
        return code;
    if (state.config != state.first)
        weir_config_destroy(state.config);
    weir_config_destroy(state.first);
    return code;
}
