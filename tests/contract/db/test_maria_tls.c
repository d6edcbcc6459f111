/*
 * TLS to MariaDB: a server whose certificate is for 127.0.0.1 and of an authority made
 * for the test.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <mysql.h>

#include "kit/db/engines.h"
#include "kit/temp_dir.h"

/* An address of this machine that is not known for one: it takes what any other host
 * takes. */
#define FOREIGN "[::ffff:127.0.0.1]"

/* The authority of the server, and another one. */
#define MAKE_AUTHORITY                                                                   \
    "openssl req -x509 -newkey rsa:2048 -nodes -days 30 -keyout %s.key -out %s.pem"      \
    " -subj /CN=%s"
#define MAKE_SERVER                                                                      \
    "openssl req -newkey rsa:2048 -nodes -keyout server.key -out server.csr"             \
    " -subj /CN=weir && echo subjectAltName=IP:127.0.0.1 >server.ext &&"                 \
    " openssl x509 -req -days 30 -in server.csr -CA good.pem -CAkey good.key"            \
    " -CAcreateserial -extfile server.ext -out server.pem && chmod 644 server.key"

struct env {
    char folder[SERVER_PATH_SIZE];
    struct server *server;
};

static void run_in(const char *folder, const char *command)
{
    char text[1024];

    snprintf(text, sizeof text, "cd '%s' && { %s; } >>openssl.log 2>&1", folder, command);
    if (system(text) != 0)
        weir_test_fail(__FILE__, __LINE__, "%s", text);
}

static void make_authority(const char *folder, const char *name)
{
    char text[512];

    snprintf(text, sizeof text, MAKE_AUTHORITY, name, name, name);
    run_in(folder, text);
}

static void env_open(struct env *self)
{
    char settings[3][SERVER_PATH_SIZE + 32];
    const char *words[] = {settings[0], settings[1], settings[2], "ssl", NULL};
    struct server_options options = {.settings = words};

    snprintf(self->folder, sizeof self->folder, "%s/tls", server_folder());
    check_int(mkdir(self->folder, 0755), 0);
    make_authority(self->folder, "good");
    make_authority(self->folder, "other");
    run_in(self->folder, MAKE_SERVER);
    snprintf(settings[0], sizeof settings[0], "ssl-ca=%s/good.pem", self->folder);
    snprintf(settings[1], sizeof settings[1], "ssl-cert=%s/server.pem", self->folder);
    snprintf(settings[2], sizeof settings[2], "ssl-key=%s/server.key", self->folder);
    self->server = server_create(WEIR_MARIADB, &options);
    server_create_database(self->server, "app");
}

/* Connects, or says why not; *encrypted: what the server says of it. */
static enum weir_status try_connect(struct fixture *fixture, int port, const char *host,
                                    const char *options, bool *encrypted)
{
    static const struct weir_sql SQL_IS_ENCRYPTED = {
        .name = "is it encrypted",
        .text = "SELECT VARIABLE_VALUE <> '' FROM information_schema.SESSION_STATUS"
                " WHERE VARIABLE_NAME = 'Ssl_cipher'",
    };
    struct weir_db_options db_options = fixture_options(fixture);
    struct weir_connection *connection = NULL;
    char url[SERVER_URL_SIZE * 2];
    struct weir_db *db;
    int64_t answer = 0;
    enum weir_status status;

    snprintf(url, sizeof url,
             "mariadb://" SERVER_USER ":" SERVER_PASSWORD "@%s:%d/mysql%s", host, port,
             options);
    db_options.url = url;
    db = fixture_open(fixture, &db_options);
    status = weir_db_acquire(db, &connection, &fixture->error);
    if (status == WEIR_OK)
        status = weir_connection_query_integer(connection, &SQL_IS_ENCRYPTED, NO_VALUES,
                                               &answer, &fixture->error);
    *encrypted = answer == 1;
    weir_db_release(db, connection);
    weir_db_destroy(db);
    return status;
}

static void check_refused(struct fixture *fixture, int port, const char *host,
                          const char *options)
{
    bool encrypted;

    check_db(try_connect(fixture, port, host, options, &encrypted), WEIR_LOST);
    check(strstr(fixture->error.text, "TLS") != NULL);
    check(strstr(fixture->error.text, SERVER_PASSWORD) == NULL);
}

static void check_connects(struct fixture *fixture, int port, const char *host,
                           const char *options, bool encrypted)
{
    bool is_encrypted;

    check_db(try_connect(fixture, port, host, options, &is_encrypted), WEIR_OK);
    check_int(is_encrypted, encrypted);
}

/* The run's server has no certificate. */
MARIADB_TEST(tls, is_needed_for_another_host_unless_it_is_turned_off)
{
    int port = server_port(fixture->server);

    check_refused(fixture, port, FOREIGN, "");
    check_refused(fixture, port, "127.0.0.1", "?tls=require");
    check_refused(fixture, port, "127.0.0.1", "?tls=verify");

    check_connects(fixture, port, FOREIGN, "?tls=off", false);
    check_connects(fixture, port, "127.0.0.1", "", false);
}

/*
 * From 3.4 on the client library takes a certificate of no authority too, unless one is
 * given, if the server proves over it that it knows the account's password.
 */
static bool takes_password_for_authority(void)
{
    return MARIADB_PACKAGE_VERSION_ID >= 30400;
}

static void check_refused_or_proven(struct fixture *fixture, int port, const char *host,
                                    const char *options)
{
    if (takes_password_for_authority())
        check_connects(fixture, port, host, options, true);
    else
        check_refused(fixture, port, host, options);
}

/* One server for all of it: its start is what takes time. */
MARIADB_TEST(tls, takes_only_the_right_authority_and_the_right_name)
{
    char good[SERVER_PATH_SIZE + 32], other[SERVER_PATH_SIZE + 32];
    struct env env;
    int port;

    env_open(&env);
    port = server_port(env.server);
    snprintf(good, sizeof good, "?ca=%s/good.pem", env.folder);
    snprintf(other, sizeof other, "?ca=%s/other.pem", env.folder);

    check_connects(fixture, port, "127.0.0.1", good, true);
    check_refused(fixture, port, "127.0.0.1", other); /* another authority */
    check_refused(fixture, port, "localhost", good);  /* another name */
    check_refused_or_proven(fixture, port, "127.0.0.1", "?tls=verify"); /* the system's */
    check_refused_or_proven(fixture, port, FOREIGN, ""); /* the default elsewhere */
    check_connects(fixture, port, "localhost", "?tls=require", true);
    check_connects(fixture, port, "127.0.0.1", "", false);

    server_destroy(env.server);
}
