/*
 * Where a database is: every way to say it, and what is said about a way that leads
 * nowhere.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kit/db/engines.h"

#define SECRET "s3cret-word"

static void check_connects(struct fixture *fixture, const char *url);

/* ---- malformed --------------------------------------------------------------------- */

/* Refused without talking to anybody, and the text names the part. */
WEIR_TEST(url, that_is_malformed_is_refused_and_the_part_named)
{
    static const struct {
        const char *url;
        const char *part;
    } BAD[] = {
        {NULL, "URL"},
        {"", "URL"},
        {"app.db", "scheme"},
        {"oracle://host/app", "scheme"},
        {"sqlite", "scheme"},
        {"Sqlite:app.db", "scheme"},
        {"mysql://user:" SECRET "@host/app", "mysql"},
        {"sqlite:", "path"},
        {"sqlite:app.db?mode=ro", "option"},
        {"sqlite:app%zz.db", "path"},
        {"sqlite:app%0", "path"},
        {"sqlite:app%00.db", "path"},
        {"mariadb://user:" SECRET "@host", "database"},
        {"mariadb://user:" SECRET "@host/", "database"},
        {"mariadb://user:" SECRET "@host:port/app", "port"},
        {"mariadb://user:" SECRET "@host:0/app", "port"},
        {"mariadb://user:" SECRET "@host:65536/app", "port"},
        {"mariadb://user:" SECRET "@host:4294967297/app", "port"},
        {"mariadb://user:" SECRET "@host:-1/app", "port"},
        {"mariadb://user:" SECRET "@host:/app", "port"},
        {"mariadb://user:" SECRET "@[::1/app", "host"},
        {"mariadb://user:" SECRET "%@host/app", "password"},
        {"mariadb://us%er:" SECRET "@host/app", "user"},
        {"mariadb://user:" SECRET "@ho%st/app", "host"},
        {"mariadb://user:" SECRET "@host/a%pp", "database"},
        {"mariadb://user:" SECRET "@host/app?colour=red", "option"},
        {"mariadb://user:" SECRET "@host/app?socket=", "socket"},
        {"mariadb://user:" SECRET "@host/app?socket=%x", "socket"},
        {"mariadb://user:" SECRET "@host/app?signal=x", "signal"},
        {"mariadb://user:" SECRET "@host/app?signal=/nowhere", "signal"},
        {"mariadb://user:" SECRET "@host/app?pooler=transaction", "option"},
        {"postgresql://user:" SECRET "@host/app?pooler=sometimes", "pooler"},
        {"postgresql://user:" SECRET "@host/app?colour=red", "parameter"},
        {"postgresql://user:" SECRET "@[::1/app", ""},
        {"postgresql://user:" SECRET "@host:5432x/app", "port"},
        {"postgresql://user:" SECRET "@host:65536/app", "port"},
        {"postgresql://user:" SECRET "%zz@host/app", ""},
        {"host=localhost dbname=app password=" SECRET " colour=red", "option"},
        {"host=localhost dbname=app password='" SECRET, ""},
        {"host=localhost dbname=app password=" SECRET " port=x", "port"},
    };

    int failures = 0;

    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        struct weir_db_options options;
        struct weir_error error = {.status = WEIR_OK};
        enum weir_status status;
        struct weir_db *db;

        weir_db_options_init(&options);
        options.url = BAD[i].url;
        status = weir_db_create(&options, &db, &error);
        if (status != WEIR_INVALID || db != NULL ||
            strstr(error.text, BAD[i].part) == NULL ||
            strstr(error.text, SECRET) != NULL || strchr(error.text, '\n') != NULL) {
            printf("# \"%s\": %s: %s\n", BAD[i].url, weir_status_name(status),
                   error.text);
            failures++;
        }
        weir_db_destroy(db);
    }
    check_int(failures, 0);
}

/* The scheme decides, not what happens to stand in a password. */
WEIR_TEST(url, of_mariadb_is_one_whatever_its_parts_look_like)
{
    static const char *const URLS[] = {
        "mariadb://user:xhost=y@127.0.0.1:1/app",
        "mariadb://user:dbname=z@127.0.0.1:1/app",
        "mariadb://service=a:b@127.0.0.1:1/app",
    };

    for (size_t i = 0; i < sizeof URLS / sizeof URLS[0]; i++) {
        struct weir_db_options options;
        struct weir_db *db;

        weir_db_options_init(&options);
        options.url = URLS[i];
        check_status(weir_db_create(&options, &db, NULL), WEIR_OK);
        check_int(weir_db_engine(db), WEIR_MARIADB);
        weir_db_destroy(db);
    }
}

/* ---- well formed ------------------------------------------------------------------- */

POSTGRESQL_TEST(url, may_be_written_in_many_ways)
{
    const struct server *server = fixture->server;
    const char *database = fixture->database;
    char url[SERVER_URL_SIZE];
    int port = server_port(server);

    snprintf(url, sizeof url,
             "postgres://" SERVER_USER ":" SERVER_PASSWORD "@127.0.0.1:%d/%s", port,
             database);
    check_connects(fixture, url);
    snprintf(url, sizeof url,
             "postgresql://" SERVER_USER ":cork%%2Dand%%2Dlead@127.0.0.1:%d/%s"
             "?application_name=weir%%20test&connect_timeout=9",
             port, database);
    check_connects(fixture, url);
    snprintf(url, sizeof url,
             "postgresql:///%s?host=%s&port=%d&user=" SERVER_USER
             "&password=" SERVER_PASSWORD,
             database, server_socket(server), port);
    check_connects(fixture, url);
    snprintf(url, sizeof url,
             "host=127.0.0.1 port=%d dbname=%s user=" SERVER_USER
             " password='" SERVER_PASSWORD "'",
             port, database);
    check_connects(fixture, url);
    snprintf(url, sizeof url,
             "user=" SERVER_USER " password=" SERVER_PASSWORD
             " port=%d host=%s dbname=%s",
             port, server_socket(server), database);
    check_connects(fixture, url);
    /* The first of several hosts that answers. */
    snprintf(url, sizeof url,
             "postgresql://" SERVER_USER ":" SERVER_PASSWORD
             "@127.0.0.1:1,127.0.0.1:%d/%s",
             port, database);
    check_connects(fixture, url);
}

/* What a pooler needs works without one just as well. */
POSTGRESQL_TEST(url, may_ask_for_the_manners_of_a_pooler)
{
    static const char *const OPTIONS[] = {
        "?pooler=transaction", "?pooler=session", "?pooler=transaction&sslmode=prefer",
        "?sslmode=prefer&pooler=transaction",
        "?sslmode=prefer&pooler=transaction&connect_timeout=9"};

    for (size_t i = 0; i < sizeof OPTIONS / sizeof OPTIONS[0]; i++) {
        char url[SERVER_URL_SIZE + 100];

        snprintf(url, sizeof url, "%s%s", fixture->url, OPTIONS[i]);
        check_connects(fixture, url);
    }
}

MARIADB_TEST(url, may_be_written_in_many_ways)
{
    const struct server *server = fixture->server;
    const char *database = fixture->database;
    char url[SERVER_URL_SIZE];
    int port = server_port(server);

    snprintf(url, sizeof url,
             "mariadb://" SERVER_USER ":cork%%2dand%%2Dlead@127.0.0.1:%d/%s", port,
             database);
    check_connects(fixture, url);
    snprintf(url, sizeof url,
             "mariadb://" SERVER_USER ":" SERVER_PASSWORD "@/%s?socket=%s", database,
             server_socket(server));
    check_connects(fixture, url);
    snprintf(url, sizeof url,
             "mariadb://" SERVER_USER ":" SERVER_PASSWORD "@localhost/%s?socket=%s",
             database, server_socket(server));
    check_connects(fixture, url);
}

SQLITE_TEST(url, may_be_written_in_many_ways)
{
    char url[SERVER_PATH_SIZE * 2];
    const char *name = strrchr(fixture->database, '/') + 1;

    snprintf(url, sizeof url, "sqlite://%s", fixture->database);
    check_connects(fixture, url);
    snprintf(url, sizeof url, "sqlite:%s/%%77%s", server_folder(), name + 1);
    check_connects(fixture, url);
    snprintf(url, sizeof url, "sqlite:%s/with space %%3F%%25.db", server_folder());
    check_connects(fixture, url);
    snprintf(url, sizeof url, "%s/with space ?%%.db", server_folder());
    check_int(access(url, F_OK), 0);
    check_connects(fixture, "sqlite::memory:");
}

/* Passwords with every character that means something elsewhere. */
SERVER_TEST(url, may_have_any_password)
{
    static const char PASSWORD[] = "a b:c/d?e#f[g]@h%i&j=k+l";
    static const char ESCAPED[] = "a%20b%3Ac%2Fd%3Fe%23f%5Bg%5D%40h%25i%26j%3Dk%2Bl";
    char sql[SERVER_URL_SIZE * 2], user[SERVER_PATH_SIZE + 8], url[SERVER_URL_SIZE];

    snprintf(user, sizeof user, "u%s", fixture->database);
    if (fixture->engine == WEIR_POSTGRESQL)
        snprintf(sql, sizeof sql, "CREATE ROLE %s LOGIN PASSWORD '%s'", user, PASSWORD);
    else
        snprintf(sql, sizeof sql, "GRANT ALL ON %s.* TO %s IDENTIFIED BY '%s'",
                 fixture->database, user, PASSWORD);
    server_execute(fixture->server, NULL, sql);

    server_url_as(fixture->server, user, ESCAPED, fixture->database, url, sizeof url);
    check_connects(fixture, url);
    server_url_as(fixture->server, user, ESCAPED, "w_missing", url, sizeof url);
    check(fixture_try_url(fixture, url) != WEIR_OK);
    check(strstr(fixture->error.text, PASSWORD) == NULL);
    check(strstr(fixture->error.text, ESCAPED) == NULL);

    snprintf(sql, sizeof sql, "DROP %s %s",
             fixture->engine == WEIR_POSTGRESQL ? "ROLE" : "USER", user);
    server_execute(fixture->server, NULL, sql);
}

/* libpq takes some that a strict reader would not; they are not told either. */
WEIR_TEST(url, is_told_without_its_password_however_that_is_written)
{
    static const char *const URLS[] = {
        "postgresql://user:s3?cret@127.0.0.1:1/app",
        "postgresql://user:s3#cret@127.0.0.1:1/app",
        "postgresql://user:s3:cret@127.0.0.1:1/app",
        "postgresql://user:s3&cret@127.0.0.1:1/app",
        "postgresql://user@127.0.0.1:1/app?password=s3cret",
        "postgresql://127.0.0.1:1/app?user=me&password=s3%23cret",
        "host=127.0.0.1 port=1 password=s3cret dbname=app",
        "host=127.0.0.1 port=1 dbname=app password='s3 cret'",
        "mariadb://user:s3?cret@127.0.0.1:1/app",
        "mariadb://user:s3:cret@127.0.0.1:1/app",
        "mariadb://user:s3%40cret@127.0.0.1:1/app",
        "mariadb://user:s3@cret@127.0.0.1:1/app",
        "mariadb://user:2024/q?s3cret@127.0.0.1:1/app",
        "postgresql://user:p@s3cret@127.0.0.1:1/app",
        "postgresql://user:p@s3cret/x@127.0.0.1:1/app?host=127.0.0.1&port=1",
        "postgresql://user:p@/s3cret@127.0.0.1:1/app",
        "postgresql://user:2024/q?s3cret=1@127.0.0.1:1/app",
    };
    int failures = 0;

    for (size_t i = 0; i < sizeof URLS / sizeof URLS[0]; i++) {
        struct weir_connection *connection = NULL;
        struct weir_db_options options;
        struct weir_error error;
        struct weir_db *db;

        weir_db_options_init(&options);
        options.url = URLS[i];
        if (weir_db_create(&options, &db, &error) == WEIR_OK)
            check(weir_db_acquire(db, &connection, &error) != WEIR_OK);
        weir_db_destroy(db);
        if (strstr(error.text, "s3") != NULL || strstr(error.text, "cret") != NULL) {
            printf("# \"%s\" is told: %s\n", URLS[i], error.text);
            failures++;
        }
    }
    check_int(failures, 0);
}

/* ---- nobody there ------------------------------------------------------------------ */

/* A port that nobody listens on, and that nobody will be given meanwhile. */
static int hold_port(uint16_t *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int held = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    check(held >= 0);
    check_int(bind(held, (struct sockaddr *)&address, size), 0);
    check_int(getsockname(held, (struct sockaddr *)&address, &size), 0);
    *port = ntohs(address.sin_port);
    return held;
}

SERVER_TEST(url, to_a_port_where_nobody_listens_is_lost)
{
    char url[SERVER_URL_SIZE];
    uint16_t port;
    int held = hold_port(&port);

    snprintf(url, sizeof url, "%s://user:" SECRET "@127.0.0.1:%d/app",
             weir_engine_name(fixture->engine), port);
    check_db(fixture_try_url(fixture, url), WEIR_LOST);

    check(strstr(fixture->error.text, "127.0.0.1") != NULL);
    check(strstr(fixture->error.text, SECRET) == NULL);
    close(held);
}

/* Somebody takes the call and says nothing: the connect timeout ends it. */
SERVER_TEST(url, to_a_port_where_nobody_speaks_is_lost_in_time)
{
    struct weir_db_options options = fixture_options(fixture);
    struct weir_connection *connection;
    char url[SERVER_URL_SIZE];
    struct weir_db *db;
    uint16_t port;
    int held = hold_port(&port);

    check_int(listen(held, 5), 0);
    snprintf(url, sizeof url, "%s://user:" SECRET "@127.0.0.1:%d/app",
             weir_engine_name(fixture->engine), port);
    options.url = url;
    options.connect_timeout_ns = WEIR_SECONDS(1);
    db = fixture_open(fixture, &options);
    check_db(weir_db_acquire(db, &connection, &fixture->error), WEIR_LOST);

    check(strstr(fixture->error.text, SECRET) == NULL);
    weir_db_destroy(db);
    close(held);
}

SERVER_TEST(url, to_a_host_without_an_address_is_lost)
{
    char url[SERVER_URL_SIZE];

    snprintf(url, sizeof url, "%s://user:" SECRET "@no-such-host.invalid/app",
             weir_engine_name(fixture->engine));
    check_db(fixture_try_url(fixture, url), WEIR_LOST);

    check(strstr(fixture->error.text, "no-such-host.invalid") != NULL);
    check(strstr(fixture->error.text, SECRET) == NULL);
}

SERVER_TEST(url, to_a_socket_that_is_not_there_is_lost)
{
    char url[SERVER_URL_SIZE];

    if (fixture->engine == WEIR_POSTGRESQL)
        snprintf(url, sizeof url, "host=%s/nowhere dbname=app password=" SECRET,
                 server_folder());
    else
        snprintf(url, sizeof url, "mariadb://user:" SECRET "@/app?socket=%s/nowhere",
                 server_folder());
    check_db(fixture_try_url(fixture, url), WEIR_LOST);
    check(strstr(fixture->error.text, SECRET) == NULL);
}

/* While nobody answers, those who come in between are told so at once. */
SERVER_TEST(url, that_leads_nowhere_is_not_tried_at_every_call)
{
    struct weir_db_options options = fixture_options(fixture);
    struct weir_connection *connection;
    char url[SERVER_URL_SIZE];
    struct weir_db *db;
    uint16_t port;
    int held = hold_port(&port);

    snprintf(url, sizeof url, "%s://user:" SECRET "@127.0.0.1:%d/app",
             weir_engine_name(fixture->engine), port);
    options.url = url;
    db = fixture_open(fixture, &options);
    for (int i = 0; i < 2000; i++) {
        check_db(weir_db_acquire(db, &connection, &fixture->error), WEIR_LOST);
        check(connection == NULL);
    }
    weir_db_destroy(db);
    close(held);
}

/* ---- helpers ----------------------------------------------------------------------- */

static void check_connects(struct fixture *fixture, const char *url)
{
    static const struct weir_sql SQL_ONE = {.name = "one", .text = "SELECT 1"};
    struct weir_db_options options = fixture_options(fixture);
    struct weir_connection *connection;
    struct weir_db *db;
    int64_t answer = 0;

    options.url = url;
    db = fixture_open(fixture, &options);
    check_int(weir_db_engine(db), fixture->engine);
    check_db(weir_db_acquire(db, &connection, &fixture->error), WEIR_OK);
    for (int i = 0; i < 3; i++) {
        check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
        check_db(weir_connection_query_integer(connection, &SQL_ONE, NO_VALUES, &answer,
                                               &fixture->error),
                 WEIR_OK);
        check_int(answer, 1);
        check_db(weir_connection_commit(connection, &fixture->error), WEIR_OK);
    }
    weir_db_release(db, connection);
    weir_db_destroy(db);
}
