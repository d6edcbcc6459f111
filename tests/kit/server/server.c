/*
 * server.c - starts, ends and finds database servers.
 *
 * The run's folder (temp_dir.h):
 *
 *   postgresql.lock      held while a template or the shared server is made
 *   postgresql.template/ data as initdb left them; every server begins with a copy
 *   postgresql.shared/   the shared server's folder
 *   postgresql.pid       "1234 QUIT": the shared server, and how script/test ends it;
 *                        written as soon as it is started
 *   postgresql.port      its port; written when it answers
 *   pooler.pid, .port    the same of the pooler in front of it, if a program wanted one
 *   pooler.shared/       its folder
 *   1234/                the folder of program 1234: its tests' files, its own servers
 *
 * A server's folder has data/, log and the socket. Ports are taken from below the range
 * that the kernel uses for outgoing connections, so that nobody is given a killed
 * server's port before it comes back.
 */
#include "kit/server/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <libpq-fe.h>
#include <mysql.h>

#include "kit/server/pooler.h"
#include "kit/server/process.h"
#include "kit/temp_dir.h"
#include "kit/test.h"

/* Generous: a loaded machine under a sanitizer. */
enum { ANSWER_MS_MAX = 60000, POLL_MS = 5, PORT_TRIES_MAX = 20 };
enum { PORT_FIRST = 20000, PORT_COUNT = 12000 };
enum { ARGUMENTS_MAX = 48 };

/* Fewer than an outbox has connections, and enough for the transactions of a test that
 * wait for one another. */
enum { POOL_SIZE = 8 };

#define FAIL(...) weir_test_fail(__FILE__, __LINE__, __VA_ARGS__)

/* What differs between the engines, as far as it is data. */
struct kind {
    enum weir_engine engine;
    const char *name;
    const char *user; /* of the operating system */
    int stop_signal;
    int kill_signal;
    const char *kill_name;
    const char *any_database; /* one that is always there */
    const char *settings[SERVER_SETTINGS_MAX];
};

static const struct kind POSTGRESQL = {
    .engine = WEIR_POSTGRESQL,
    .name = "postgresql",
    .user = "postgres",
    .stop_signal = SIGINT,
    /* The immediate shutdown. SIGKILL would leave the backends behind, who then keep the
     * next server from starting. */
    .kill_signal = SIGQUIT,
    .kill_name = "QUIT",
    .any_database = "postgres",
    .settings =
        {
#include "kit/server/postgresql.settings"
        },
};

static const struct kind MARIADB = {
    .engine = WEIR_MARIADB,
    .name = "mariadb",
    .user = "mysql",
    .stop_signal = SIGTERM,
    .kill_signal = SIGKILL,
    .kill_name = "KILL",
    .any_database = "mysql",
    .settings =
        {
#include "kit/server/mariadb.settings"
        },
};

struct server {
    const struct kind *kind;
    bool shared;
    bool filled; /* not from the template */
    pid_t pid;   /* 0: not running */
    uint16_t port;
    pid_t pooler_pid;     /* 0: none */
    uint16_t pooler_port; /* 0: none was wanted */
    char folder[SERVER_PATH_SIZE];
    char socket[SERVER_PATH_SIZE + 32];
    char settings[SERVER_SETTINGS_MAX][128]; /* the test's own */
    struct server *next;
};

/* The words of a command line; what `add` makes lives as long as this. */
struct command {
    const char *words[ARGUMENTS_MAX];
    char made[ARGUMENTS_MAX][SERVER_PATH_SIZE + 64];
    int count;
};

static struct server *servers;

static const struct kind *kind_of(enum weir_engine engine);
static bool wants_pooler(const struct kind *kind);
static struct server *add_server(const struct kind *kind, const char *folder);
static void find_or_start_shared(struct server *self);
static int lock_run(const struct kind *kind);
static void make_template(const struct kind *kind);
static void make_folder(const struct kind *kind, const char *path);
static void copy_template(struct server *self);
static void fill(struct server *self, server_fill_fn make, void *argument);
static void start(struct server *self);
static bool try_start(struct server *self);
static void find_or_start_pooler(struct server *self);
static void start_pooler(struct server *self, const char *folder, int pool_size);
static bool answers(const struct server *self);
static void end_pooler(struct server *self);
static void end(struct server *self, int signal_number);
static void end_all(void);
static PGconn *connect_postgresql(const struct server *self, const char *database);
static MYSQL *connect_mariadb(const struct server *self, const char *database);

static void format(char *out, size_t size, const char *text, ...)
    __attribute__((format(printf, 3, 4)));
static void write_file(const char *path, const char *text, ...)
    __attribute__((format(printf, 2, 3)));
static void add(struct command *self, const char *text, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- life -------------------------------------------------------------------------- */

struct server *server_shared(enum weir_engine engine)
{
    const struct kind *kind = kind_of(engine);
    char folder[SERVER_PATH_SIZE];
    struct server *self;
    int lock;

    for (self = servers; self != NULL; self = self->next)
        if (self->shared && self->kind == kind)
            break;
    if (self == NULL) {
        format(folder, sizeof folder, "%s/%s.shared", temp_dir_of_run(), kind->name);
        self = add_server(kind, folder);
        self->shared = true;
    }
    if (self->pid == 0) {
        lock = lock_run(kind);
        find_or_start_shared(self);
        if (wants_pooler(kind))
            find_or_start_pooler(self);
        close(lock);
    }
    return self;
}

struct server *server_create(enum weir_engine engine,
                             const struct server_options *options)
{
    static int count;
    static int pooler_count;
    const struct kind *kind = kind_of(engine);
    char folder[SERVER_PATH_SIZE];
    struct server *self;
    int pool_size = 0;
    int lock;

    if (options != NULL && options->folder != NULL)
        format(folder, sizeof folder, "%s", options->folder);
    else
        format(folder, sizeof folder, "%s/%s%d", temp_dir_of_program(), kind->name,
               ++count);
    self = add_server(kind, folder);
    if (options != NULL && options->settings != NULL)
        for (int i = 0; options->settings[i] != NULL; i++) {
            check(i < SERVER_SETTINGS_MAX - 1);
            format(self->settings[i], sizeof self->settings[i], "%s",
                   options->settings[i]);
        }

    if (options != NULL && options->fill != NULL) {
        fill(self, options->fill, options->fill_argument);
    } else {
        lock = lock_run(kind);
        make_template(kind);
        close(lock);
        copy_template(self);
    }
    start(self);
    if (options != NULL && options->pool_size > 0)
        pool_size = options->pool_size;
    else if (wants_pooler(kind))
        pool_size = POOL_SIZE;
    if (pool_size > 0) {
        format(folder, sizeof folder, "%s/pooler%d", temp_dir_of_program(),
               ++pooler_count);
        start_pooler(self, folder, pool_size);
    }
    return self;
}

void server_destroy(struct server *self)
{
    if (self == NULL)
        return;

    check(!self->shared);
    end_pooler(self);
    end(self, self->kind->kill_signal);
    temp_dir_remove(self->folder);
    for (struct server **link = &servers; *link != NULL; link = &(*link)->next)
        if (*link == self) {
            *link = self->next;
            break;
        }
    free(self);
}

void server_stop(struct server *self)
{
    check(!self->shared && self->pid != 0);
    end(self, self->kind->stop_signal);
}

void server_kill(struct server *self)
{
    check(!self->shared && self->pid != 0);
    end(self, self->kind->kill_signal);
}

void server_restart(struct server *self)
{
    check(!self->shared && self->pid == 0);
    if (!try_start(self)) {
        process_print_log(self->folder);
        FAIL("%s does not start again on port %d", self->kind->name, self->port);
    }
}

void server_refill(struct server *self, server_fill_fn make, void *argument)
{
    char data[SERVER_PATH_SIZE + 8];

    check(!self->shared && self->pid == 0);
    format(data, sizeof data, "%s/data", self->folder);
    temp_dir_remove(data);
    fill(self, make, argument);
}

/* ---- reading ----------------------------------------------------------------------- */

enum weir_engine server_engine(const struct server *self)
{
    return self->kind->engine;
}

uint16_t server_port(const struct server *self)
{
    return self->port;
}

uint16_t server_entry(const struct server *self)
{
    return server_is_pooled(self) ? self->pooler_port : self->port;
}

void server_await_hangup(int socket)
{
    struct pollfd end = {.fd = socket, .events = POLLRDHUP};
    int count;

    do
        count = poll(&end, 1, 60000);
    while (count < 0 && errno == EINTR);
    check_int(count, 1);
}

bool server_is_pooled(const struct server *self)
{
    return self->pooler_port != 0;
}

pid_t server_pid(const struct server *self)
{
    return self->pid;
}

const char *server_socket(const struct server *self)
{
    return self->socket;
}

void server_url(const struct server *self, const char *database, char *out, size_t size)
{
    server_url_as(self, SERVER_USER, SERVER_PASSWORD, database, out, size);
}

void server_url_as(const struct server *self, const char *user, const char *password,
                   const char *database, char *out, size_t size)
{
    format(out, size, "%s://%s:%s@127.0.0.1:%d/%s%s", self->kind->name, user, password,
           server_entry(self), database,
           server_is_pooled(self) ? "?pooler=transaction" : "");
}

void server_application_url(const struct server *self, const char *database, char *out,
                            size_t size)
{
    format(out, size, "postgresql://" SERVER_USER ":" SERVER_PASSWORD "@127.0.0.1:%d/%s",
           server_entry(self), database);
}

void server_direct_url(const struct server *self, const char *database, char *out,
                       size_t size)
{
    format(out, size, "postgresql://" SERVER_USER ":" SERVER_PASSWORD "@127.0.0.1:%d/%s",
           self->port, database);
}

const char *server_folder(void)
{
    return temp_dir_of_program();
}

/* ---- statements -------------------------------------------------------------------- */

/* Ends the connection. */
static int64_t ask_postgresql(PGconn *handle, const char *sql)
{
    PGresult *result = PQexec(handle, sql);
    ExecStatusType kind = PQresultStatus(result);
    char text[256] = "";
    int64_t answer = 0;

    if (kind == PGRES_TUPLES_OK && PQntuples(result) > 0)
        answer = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
    else if (kind != PGRES_TUPLES_OK && kind != PGRES_COMMAND_OK)
        snprintf(text, sizeof text, "%s ", PQerrorMessage(handle));
    PQclear(result);
    PQfinish(handle);
    if (text[0] != '\0')
        FAIL("%s: %s", sql, text);
    return answer;
}

static int64_t ask_mariadb(const struct server *self, const char *database,
                           const char *sql)
{
    MYSQL *handle = connect_mariadb(self, database);
    char text[256] = "";
    int64_t answer = 0;

    if (mysql_errno(handle) == 0 && mysql_query(handle, sql) == 0) {
        do {
            MYSQL_RES *result = mysql_store_result(handle);
            MYSQL_ROW row = result != NULL ? mysql_fetch_row(result) : NULL;

            if (row != NULL && row[0] != NULL)
                answer = strtoll(row[0], NULL, 10);
            mysql_free_result(result);
        } while (mysql_next_result(handle) == 0);
    }
    if (mysql_errno(handle) != 0)
        snprintf(text, sizeof text, "%s ", mysql_error(handle));
    mysql_close(handle);
    if (text[0] != '\0')
        FAIL("%s: %s", sql, text);
    return answer;
}

int64_t server_query(const struct server *self, const char *database, const char *sql)
{
    if (self->kind->engine == WEIR_POSTGRESQL)
        return ask_postgresql(connect_postgresql(self, database), sql);
    return ask_mariadb(self, database, sql);
}

void server_execute(const struct server *self, const char *database, const char *sql)
{
    (void)server_query(self, database, sql);
}

void server_create_database(const struct server *self, const char *name)
{
    char sql[256];

    format(sql, sizeof sql, "CREATE DATABASE %s", name);
    server_execute(self, NULL, sql);
}

/* File by file, which is quicker than through the log and before version 15 the only
 * way. */
void server_copy_database(const struct server *self, const char *from, const char *name)
{
    PGconn *handle = connect_postgresql(self, NULL);
    bool has_strategies = PQserverVersion(handle) >= 150000;
    char sql[512];

    check(self->kind->engine == WEIR_POSTGRESQL);
    format(sql, sizeof sql, "CREATE DATABASE %s TEMPLATE %s%s", name, from,
           has_strategies ? " STRATEGY file_copy" : "");
    (void)ask_postgresql(handle, sql);
}

/* A session that ended by itself meanwhile (1094) is as good as one that was ended. */
void server_end_sessions(const struct server *self, const char *database)
{
    char sql[512];

    if (self->kind->engine == WEIR_POSTGRESQL)
        format(sql, sizeof sql,
               "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
               " WHERE datname = '%s'",
               database);
    else
        format(sql, sizeof sql,
               "BEGIN NOT ATOMIC FOR c IN (SELECT id FROM information_schema.processlist "
               "WHERE db = '%s') DO BEGIN DECLARE CONTINUE HANDLER FOR 1094 BEGIN END; "
               "KILL c.id; END; END FOR; END",
               database);
    server_execute(self, NULL, sql);
}

void server_drop_database(const struct server *self, const char *name)
{
    char sql[512];

    if (self->kind->engine == WEIR_POSTGRESQL) {
        format(sql, sizeof sql, "DROP DATABASE IF EXISTS %s WITH (FORCE)", name);
        server_execute(self, NULL, sql);
        return;
    }

    /* A forgotten transaction would keep DROP waiting for its metadata locks. */
    server_end_sessions(self, name);
    format(sql, sizeof sql, "DROP DATABASE IF EXISTS %s", name);
    server_execute(self, NULL, sql);
}

void server_name_database(char *out, size_t size)
{
    static int count;

    format(out, size, "w_%d_%d", (int)getpid(), ++count);
}

/* ---- finding and starting ---------------------------------------------------------- */

static const struct kind *kind_of(enum weir_engine engine)
{
    switch (engine) {
    case WEIR_POSTGRESQL:
        return &POSTGRESQL;
    case WEIR_MARIADB:
        return &MARIADB;
    case WEIR_SQLITE:
        break;
    }
    FAIL("SQLite has no server");
}

static bool wants_pooler(const struct kind *kind)
{
    const char *wish = getenv("WEIR_POOLER");

    return kind->engine == WEIR_POSTGRESQL && wish != NULL && strcmp(wish, "1") == 0;
}

static struct server *add_server(const struct kind *kind, const char *folder)
{
    struct server *self = calloc(1, sizeof *self);

    check(self != NULL);
    self->kind = kind;
    format(self->folder, sizeof self->folder, "%s", folder);
    if (kind->engine == WEIR_POSTGRESQL)
        format(self->socket, sizeof self->socket, "%s", folder);
    else
        format(self->socket, sizeof self->socket, "%s/socket", folder);
    self->next = servers;
    servers = self;
    temp_dir_before_end(end_all);
    return self;
}

/* Under the lock. */
static void find_or_start_shared(struct server *self)
{
    char path[SERVER_PATH_SIZE];
    int port, pid;
    FILE *file;

    format(path, sizeof path, "%s/%s.port", temp_dir_of_run(), self->kind->name);
    file = fopen(path, "re");
    if (file == NULL) {
        make_template(self->kind);
        copy_template(self);
        start(self);
        write_file(path, "%d %d\n", self->port, (int)self->pid);
        return;
    }

    if (fscanf(file, "%d %d", &port, &pid) != 2)
        FAIL("\"%s\" has no port", path);
    fclose(file);
    self->port = (uint16_t)port;
    self->pid = pid;
    if (!answers(self)) {
        process_print_log(self->folder);
        FAIL("the run's %s server has died", self->kind->name);
    }
}

/* Under the lock. */
static void find_or_start_pooler(struct server *self)
{
    char path[SERVER_PATH_SIZE], folder[SERVER_PATH_SIZE];
    int port;
    FILE *file;

    format(path, sizeof path, "%s/pooler.port", temp_dir_of_run());
    file = fopen(path, "re");
    if (file == NULL) {
        format(folder, sizeof folder, "%s/pooler.shared", temp_dir_of_run());
        start_pooler(self, folder, POOL_SIZE);
        write_file(path, "%d\n", self->pooler_port);
        return;
    }

    if (fscanf(file, "%d", &port) != 1)
        FAIL("\"%s\" has no port", path);
    fclose(file);
    self->pooler_port = (uint16_t)port;
}

/* Closing the file gives it back. */
static int lock_run(const struct kind *kind)
{
    char path[SERVER_PATH_SIZE];
    int lock;

    format(path, sizeof path, "%s/%s.lock", temp_dir_of_run(), kind->name);
    lock = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    if (lock < 0 || flock(lock, LOCK_EX) != 0)
        FAIL("lock \"%s\": %s", path, strerror(errno));
    return lock;
}

/* The newest version that is installed. */
static void find_postgresql(char *out, size_t size, const char *program)
{
    static const char FOLDERS[] = "/usr/lib/postgresql/";
    int best_version = 0;
    glob_t found;

    if (glob("/usr/lib/postgresql/*/bin", 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++) {
            int version = atoi(found.gl_pathv[i] + strlen(FOLDERS));

            best_version = version > best_version ? version : best_version;
        }
        globfree(&found);
    }
    format(out, size, "%s%d/bin/%s", FOLDERS, best_version, program);
    if (access(out, X_OK) != 0)
        FAIL("PostgreSQL's \"%s\" is not installed (package postgresql)", program);
}

static void find_mariadb(char *out, size_t size, const char *program)
{
    static const char *const FOLDERS[] = {"/usr/sbin", "/usr/bin", "/usr/local/sbin",
                                          "/usr/local/bin"};

    for (size_t i = 0; i < sizeof FOLDERS / sizeof FOLDERS[0]; i++) {
        format(out, size, "%s/%s", FOLDERS[i], program);
        if (access(out, X_OK) == 0)
            return;
    }
    FAIL("MariaDB's \"%s\" is not installed (package mariadb-server)", program);
}

/* Make a folder if need be, and give it to the user who runs the server. */
static void make_folder(const struct kind *kind, const char *path)
{
    struct passwd *user = geteuid() == 0 ? getpwnam(kind->user) : NULL;

    if (mkdir(path, 0711) != 0 && errno != EEXIST)
        FAIL("make folder \"%s\": %s", path, strerror(errno));
    if (geteuid() != 0)
        return;
    if (user == NULL)
        FAIL("no user \"%s\" to run %s as", kind->user, kind->name);
    if (chown(path, user->pw_uid, user->pw_gid) != 0 || chmod(path, 0711) != 0)
        FAIL("chown \"%s\": %s", path, strerror(errno));
}

static void make_postgresql_data(const struct process_options *options)
{
    struct command command = {.count = 0};
    char program[SERVER_PATH_SIZE], secret[SERVER_PATH_SIZE];

    format(secret, sizeof secret, "%s/secret", options->folder);
    write_file(secret, "%s\n", SERVER_PASSWORD);
    find_postgresql(program, sizeof program, "initdb");
    add(&command, "%s", program);
    add(&command, "--pgdata=%s/data", options->folder);
    add(&command, "--username=%s", SERVER_USER);
    add(&command, "--pwfile=%s", secret);
    add(&command, "--auth=md5"); /* quicker than SCRAM */
    add(&command, "--locale=C");
    add(&command, "--encoding=UTF8");
    add(&command, "--no-sync");
    process_run(options, command.words);
}

static void make_mariadb_data(const struct process_options *options)
{
    struct command command = {.count = 0};
    char program[SERVER_PATH_SIZE], users[SERVER_PATH_SIZE];

    find_mariadb(program, sizeof program, "mariadb-install-db");
    add(&command, "%s", program);
    add(&command, "--no-defaults");
    add(&command, "--datadir=%s/data", options->folder);
    add(&command, "--auth-root-authentication-method=normal");
    add(&command, "--skip-test-db");
    add(&command, "--innodb-log-file-size=4M");
    /* Not a folder of others: each server removes what it takes for its own leftovers. */
    add(&command, "--tmpdir=%s", options->folder);
    process_run(options, command.words);

    /* Read at every start. A user without name would stand in front of ours. */
    format(users, sizeof users, "%s/users.sql", options->folder);
    write_file(users, "DELETE FROM mysql.global_priv WHERE user = '';\n"
                      "FLUSH PRIVILEGES;\n"
                      "CREATE USER IF NOT EXISTS " SERVER_USER
                      "@'%%' IDENTIFIED BY '" SERVER_PASSWORD "';\n"
                      "GRANT ALL ON *.* TO " SERVER_USER "@'%%' WITH GRANT OPTION;\n"
                      "CREATE USER IF NOT EXISTS " SERVER_GUEST
                      "@'%%' IDENTIFIED BY '" SERVER_GUEST_PASSWORD "';\n");
}

/* Under the lock. What a killed program left of one is thrown away. */
static void make_template(const struct kind *kind)
{
    char done[SERVER_PATH_SIZE], made[SERVER_PATH_SIZE];
    struct process_options options = {
        .user = kind->user, .folder = made, .death_signal = SIGKILL};

    format(done, sizeof done, "%s/%s.template", temp_dir_of_run(), kind->name);
    if (access(done, F_OK) == 0)
        return;
    format(made, sizeof made, "%s/%s.making", temp_dir_of_run(), kind->name);
    temp_dir_remove(made);
    make_folder(kind, made);
    if (kind->engine == WEIR_POSTGRESQL)
        make_postgresql_data(&options);
    else
        make_mariadb_data(&options);
    if (rename(made, done) != 0)
        FAIL("rename \"%s\": %s", made, strerror(errno));
}

static void copy_template(struct server *self)
{
    struct process_options options = {
        .user = self->kind->user, .folder = self->folder, .death_signal = SIGKILL};
    char from[SERVER_PATH_SIZE];

    make_folder(self->kind, self->folder);
    format(from, sizeof from, "%s/%s.template/.", temp_dir_of_run(), self->kind->name);
    process_run(&options, (const char *[]){"/bin/cp", "-R", "--preserve=mode", from,
                                           self->folder, NULL});
}

static void fill(struct server *self, server_fill_fn make, void *argument)
{
    struct process_options place = {
        .user = self->kind->user, .folder = self->folder, .death_signal = SIGKILL};

    make_folder(self->kind, self->folder);
    make(&place, argument);
    self->filled = true;
}

void server_fill_anew(const struct process_options *place, void *argument)
{
    (void)argument;
    make_postgresql_data(place);
}

void server_program(enum weir_engine engine, const char *name, char *out, size_t size)
{
    if (engine == WEIR_POSTGRESQL)
        find_postgresql(out, size, name);
    else
        find_mariadb(out, size, name);
}

static uint16_t find_port(void)
{
    static unsigned step;

    if (step == 0)
        step = (unsigned)getpid() * 7919U;
    for (int i = 0; i < PORT_COUNT; i++) {
        uint16_t port = (uint16_t)(PORT_FIRST + (step += 31) % PORT_COUNT);
        struct sockaddr_in address = {.sin_family = AF_INET,
                                      .sin_port = htons(port),
                                      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        int failed = bind(probe, (struct sockaddr *)&address, sizeof address);

        close(probe);
        if (failed == 0)
            return port;
    }
    FAIL("no free port");
}

/* On a port that is free; another program may take the same one in the same moment. */
static void start(struct server *self)
{
    for (int i = 0; i < PORT_TRIES_MAX; i++) {
        self->port = find_port();
        if (!try_start(self))
            continue;
        if (self->kind->engine == WEIR_POSTGRESQL && !self->filled)
            server_execute(self, NULL,
                           "CREATE ROLE " SERVER_GUEST
                           " LOGIN PASSWORD '" SERVER_GUEST_PASSWORD "'");
        return;
    }
    process_print_log(self->folder);
    FAIL("%s does not start", self->kind->name);
}

static void add_own_words(struct command *command, const struct server *self)
{
    char program[SERVER_PATH_SIZE];

    if (self->kind->engine == WEIR_POSTGRESQL) {
        find_postgresql(program, sizeof program, "postgres");
        add(command, "%s", program);
        add(command, "-D%s/data", self->folder);
        add(command, "-k%s", self->folder);
    } else {
        find_mariadb(program, sizeof program, "mariadbd");
        add(command, "%s", program);
        add(command, "--no-defaults");
        add(command, "--datadir=%s/data", self->folder);
        add(command, "--socket=%s", self->socket);
        add(command, "--init-file=%s/users.sql", self->folder);
        add(command, "--pid-file=%s/pid", self->folder);
        add(command, "--tmpdir=%s", self->folder);
    }
    add(command, "--port=%d", self->port);
}

/* False when it ended by itself before it answered. */
static bool try_start(struct server *self)
{
    bool outlives_us = self->shared && !temp_dir_is_ours();
    struct process_options options = {.user = self->kind->user,
                                      .folder = self->folder,
                                      .death_signal =
                                          outlives_us ? 0 : self->kind->kill_signal};
    struct command command = {.count = 0};
    char path[SERVER_PATH_SIZE];

    add_own_words(&command, self);
    for (int i = 0; self->kind->settings[i] != NULL; i++)
        add(&command, "--%s", self->kind->settings[i]);
    for (int i = 0; self->settings[i][0] != '\0'; i++)
        add(&command, "--%s", self->settings[i]);
    self->pid = process_start(&options, command.words);
    if (self->shared) {
        format(path, sizeof path, "%s/%s.pid", temp_dir_of_run(), self->kind->name);
        write_file(path, "%d %s\n", (int)self->pid, self->kind->kill_name);
    }

    for (int i = 0; !answers(self); i++) {
        if (process_has_ended(self->pid)) {
            self->pid = 0;
            return false;
        }
        if (i > ANSWER_MS_MAX / POLL_MS) {
            process_print_log(self->folder);
            FAIL("%s does not answer", self->kind->name);
        }
        nanosleep(&(struct timespec){.tv_nsec = POLL_MS * 1000000}, NULL);
    }
    return true;
}

static void start_pooler(struct server *self, const char *folder, int pool_size)
{
    struct pooler_options options = {.server_port = self->port,
                                     .pool_size = pool_size,
                                     .folder = folder,
                                     .outlives_us = self->shared && !temp_dir_is_ours()};
    char path[SERVER_PATH_SIZE];

    for (int i = 0; i < PORT_TRIES_MAX && self->pooler_pid == 0; i++) {
        options.port = find_port();
        self->pooler_pid = pooler_start(&options);
    }
    if (self->pooler_pid == 0) {
        process_print_log(folder);
        FAIL("pgbouncer does not start");
    }
    self->pooler_port = options.port;
    if (self->shared) {
        format(path, sizeof path, "%s/pooler.pid", temp_dir_of_run());
        write_file(path, "%d TERM\n", (int)self->pooler_pid);
    }
}

static void end_pooler(struct server *self)
{
    if (self->pooler_pid == 0)
        return;
    (void)process_end(self->pooler_pid, SIGTERM);
    self->pooler_pid = 0;
}

/* Over its socket: on its port another program's server may have been quicker. */
static bool answers(const struct server *self)
{
    bool yes;

    if (self->kind->engine == WEIR_POSTGRESQL) {
        PGconn *handle = connect_postgresql(self, NULL);

        yes = PQstatus(handle) == CONNECTION_OK;
        PQfinish(handle);
    } else {
        MYSQL *handle = connect_mariadb(self, NULL);

        yes = mysql_errno(handle) == 0;
        mysql_close(handle);
    }
    return yes;
}

static void end(struct server *self, int signal_number)
{
    if (self->pid == 0)
        return;
    (void)process_end(self->pid, signal_number);
    self->pid = 0;
}

static void end_all(void)
{
    while (servers != NULL) {
        struct server *next = servers->next;

        if (!servers->shared || temp_dir_is_ours()) {
            end_pooler(servers);
            end(servers, servers->kind->kill_signal);
        }
        free(servers);
        servers = next;
    }
}

/* Owes PQfinish(), also when it is not connected. */
static PGconn *connect_postgresql(const struct server *self, const char *database)
{
    const char *const keys[] = {
        "host", "port", "user", "password", "dbname", "connect_timeout", NULL};
    char port[16];
    const char *values[] = {
        self->socket, port, SERVER_USER, SERVER_PASSWORD, self->kind->any_database,
        "20",         NULL};

    format(port, sizeof port, "%d", self->port);
    if (database != NULL)
        values[4] = database;
    return PQconnectdbParams(keys, values, 0);
}

/* Owes mysql_close(), also when it is not connected. */
static MYSQL *connect_mariadb(const struct server *self, const char *database)
{
    MYSQL *handle = mysql_init(NULL);
    unsigned timeout_s = 20;

    check(handle != NULL);
    mysql_options(handle, MYSQL_OPT_CONNECT_TIMEOUT, &timeout_s);
    (void)mysql_real_connect(handle, "localhost", SERVER_USER, SERVER_PASSWORD,
                             database != NULL ? database : self->kind->any_database, 0,
                             self->socket, CLIENT_MULTI_STATEMENTS);
    return handle;
}

/* ---- texts ------------------------------------------------------------------------- */

/* printf() into a fixed place; what does not fit fails the test. */
static void format(char *out, size_t size, const char *text, ...)
{
    va_list arguments;
    int length;

    va_start(arguments, text);
    length = vsnprintf(out, size, text, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= size)
        FAIL("\"%s\" is too long", out);
}

static void write_file(const char *path, const char *text, ...)
{
    FILE *file = fopen(path, "we");
    va_list arguments;
    int length = -1;

    if (file != NULL) {
        va_start(arguments, text);
        length = vfprintf(file, text, arguments);
        va_end(arguments);
        if (fclose(file) != 0)
            length = -1;
    }
    if (length < 0)
        FAIL("write \"%s\": %s", path, strerror(errno));
}

static void add(struct command *self, const char *text, ...)
{
    char *made = self->made[self->count];
    va_list arguments;
    int length;

    check(self->count < ARGUMENTS_MAX - 1);
    va_start(arguments, text);
    length = vsnprintf(made, sizeof self->made[0], text, arguments);
    va_end(arguments);
    check(length > 0 && (size_t)length < sizeof self->made[0]);
    self->words[self->count++] = made;
    self->words[self->count] = NULL;
}
