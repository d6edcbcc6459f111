/*
 * pooler.c - see pooler.h.
 *
 * Passwords come from the server (`auth_query`), but for those of the two users that
 * every server has: so a login asks nobody as long as the server is away. The console
 * has a user of its own, named after this program, and is what must answer: on the same
 * port another program's pooler or server may have been quicker.
 */
#include "kit/server/pooler.h"

#include <errno.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <libpq-fe.h>

#include "kit/server/process.h"
#include "kit/server/server.h"
#include "kit/test.h"

static const char PROGRAM[] = "/usr/sbin/pgbouncer";
static const char USER[] = "postgres"; /* it refuses to be root */

enum { ANSWER_MS_MAX = 60000, POLL_MS = 5, PATH_SIZE = SERVER_PATH_SIZE + 32 };

static void make_folder(const char *path);
static void write_settings(const struct pooler_options *options, const char *console);
static void write_passwords(const struct pooler_options *options, const char *console);
static void write_file(const struct pooler_options *options, const char *name,
                       const char *format, ...) __attribute__((format(printf, 3, 4)));
static bool answers(const struct pooler_options *options, const char *console);

pid_t pooler_start(const struct pooler_options *options)
{
    struct process_options process = {.user = USER,
                                      .folder = options->folder,
                                      .death_signal = options->outlives_us ? 0 : SIGKILL};
    char console[32];
    char settings[PATH_SIZE];
    pid_t pid;

    if (access(PROGRAM, X_OK) != 0)
        weir_test_fail(__FILE__, __LINE__, "\"%s\" is not installed (package pgbouncer)",
                       PROGRAM);
    make_folder(options->folder);
    (void)snprintf(console, sizeof console, "console_%d", (int)getpid());
    (void)snprintf(settings, sizeof settings, "%s/pooler.ini", options->folder);
    write_settings(options, console);
    write_passwords(options, console);

    pid = process_start(&process, (const char *[]){PROGRAM, settings, NULL});
    for (int i = 0; !answers(options, console); i++) {
        if (process_has_ended(pid))
            return 0;
        if (i > ANSWER_MS_MAX / POLL_MS) {
            process_print_log(options->folder);
            weir_test_fail(__FILE__, __LINE__, "pgbouncer does not answer");
        }
        nanosleep(&(struct timespec){.tv_nsec = POLL_MS * 1000000}, NULL);
    }
    return pid;
}

static void make_folder(const char *path)
{
    struct passwd *user = geteuid() == 0 ? getpwnam(USER) : NULL;

    if (mkdir(path, 0711) != 0 && errno != EEXIST)
        weir_test_fail(__FILE__, __LINE__, "make \"%s\": %s", path, strerror(errno));
    if (user != NULL)
        check_int(chown(path, user->pw_uid, user->pw_gid), 0);
}

/* The session's settings are not cleaned up between two clients (`server_reset_query`):
 * in transaction mode that is so, and what somebody leaves behind shall be seen. */
static void write_settings(const struct pooler_options *options, const char *console)
{
    write_file(options, "pooler.ini",
               "[databases]\n"
               "* = host=127.0.0.1 port=%d\n"
               "[pgbouncer]\n"
               "listen_addr = 127.0.0.1\n"
               "listen_port = %d\n"
               "unix_socket_dir =\n"
               "auth_type = md5\n"
               "auth_file = %s/passwords\n"
               "auth_user = " SERVER_USER "\n"
               "admin_users = %s\n"
               "pool_mode = transaction\n"
               "default_pool_size = %d\n"
               "max_client_conn = 1000\n"
               "server_round_robin = 1\n"
               "server_login_retry = 0.1\n"
               "log_connections = 0\n"
               "log_disconnections = 0\n",
               options->server_port, options->port, options->folder, console,
               options->pool_size);
}

static void write_passwords(const struct pooler_options *options, const char *console)
{
    write_file(options, "passwords",
               "\"" SERVER_USER "\" \"" SERVER_PASSWORD "\"\n"
               "\"" SERVER_GUEST "\" \"" SERVER_GUEST_PASSWORD "\"\n"
               "\"%s\" \"%s\"\n",
               console, console);
}

static void write_file(const struct pooler_options *options, const char *name,
                       const char *format, ...)
{
    char path[PATH_SIZE];
    va_list arguments;
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/%s", options->folder, name);
    file = fopen(path, "we");
    if (file == NULL)
        weir_test_fail(__FILE__, __LINE__, "write \"%s\": %s", path, strerror(errno));
    va_start(arguments, format);
    check(vfprintf(file, format, arguments) > 0);
    va_end(arguments);
    check_int(fclose(file), 0);
    check_int(chmod(path, 0644), 0);
}

/* Versions that keep no statements anyway refuse the setting. */
static void forget_statements(PGconn *handle)
{
    PQclear(PQexec(handle, "SET max_prepared_statements = 0"));
}

static bool answers(const struct pooler_options *options, const char *console)
{
    char url[256];
    PGconn *handle;
    bool yes;

    (void)snprintf(url, sizeof url,
                   "postgresql://%s:%s@127.0.0.1:%d/pgbouncer?connect_timeout=5", console,
                   console, options->port);
    handle = PQconnectdb(url);
    yes = PQstatus(handle) == CONNECTION_OK;
    if (yes && options->keeps_no_statements)
        forget_statements(handle);
    PQfinish(handle);
    return yes;
}
