/* Tests of db/postgres/open.c: connecting and what a session is told. */
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kit/alloc_failures.h"
#include "unit/db/postgres_fixture.h"
#include "ward/system.h"

/* Opening must fail. */
static enum weir_status refusal(struct postgres_fixture *postgres_fixture,
                                const char *conninfo)
{
    struct weir_link *link = NULL;
    char text[SERVER_URL_SIZE];
    enum weir_status status;

    snprintf(text, sizeof text, "%s", conninfo);
    postgres_fixture->config.url.conninfo = text;
    status = pg->open(&postgres_fixture->config, &link, &postgres_fixture->error);
    postgres_fixture->config.url.conninfo = postgres_fixture->url;
    check(link == NULL);
    return status;
}

/* ---- the session ---- */

WEIR_TEST(pg_open, gives_the_session_its_settings)
{
    struct postgres_fixture postgres_fixture;
    struct weir_link *link;

    postgres_fixture_open(&postgres_fixture);
    postgres_fixture.config.statement_timeout_ns = WEIR_MILLISECONDS(12345);
    postgres_fixture.config.lock_timeout_ns = 1;
    link = postgres_fixture_link(&postgres_fixture);

    check_str(postgres_fixture_text(&postgres_fixture, link, "SHOW statement_timeout"),
              "12345ms");
    check_str(postgres_fixture_text(&postgres_fixture, link, "SHOW lock_timeout"), "1ms");
    check_str(postgres_fixture_text(&postgres_fixture, link, "SHOW TimeZone"), "UTC");
    check_str(postgres_fixture_text(&postgres_fixture, link,
                                    "SHOW default_transaction_isolation"),
              "read committed");
    check_str(postgres_fixture_text(&postgres_fixture, link,
                                    "SHOW standard_conforming_strings"),
              "on");
    check_str(postgres_fixture_text(&postgres_fixture, link, "SHOW jit"), "off");
    check_str(postgres_fixture_text(&postgres_fixture, link, "SHOW client_encoding"),
              "UTF8");
    check_str(postgres_fixture_text(&postgres_fixture, link, "SHOW application_name"),
              "weir");

    postgres_fixture_unlink(link);
    postgres_fixture_close(&postgres_fixture);
}

WEIR_TEST(pg_open, sets_no_timeout_where_none_is_wanted)
{
    struct postgres_fixture postgres_fixture;
    struct weir_link *link;

    postgres_fixture_open(&postgres_fixture);
    postgres_fixture.config.statement_timeout_ns = 0;
    postgres_fixture.config.lock_timeout_ns = 0;
    link = postgres_fixture_link(&postgres_fixture);

    check_str(postgres_fixture_text(&postgres_fixture, link, "SHOW statement_timeout"),
              "0");
    check_str(postgres_fixture_text(&postgres_fixture, link, "SHOW lock_timeout"), "0");
    check_int(postgres_fixture_inside(link)->silence_ns, 0);

    postgres_fixture_unlink(link);
    postgres_fixture_close(&postgres_fixture);
}

/* What the database's owner made the default does not matter. */
WEIR_TEST(pg_open, overrides_the_defaults_of_the_database)
{
    struct postgres_fixture postgres_fixture;
    struct weir_link *link;
    char text[1024];

    postgres_fixture_open(&postgres_fixture);
    snprintf(text, sizeof text,
             "ALTER DATABASE %s SET default_transaction_isolation = 'serializable';"
             "ALTER DATABASE %s SET TimeZone = 'Asia/Tokyo';"
             "ALTER DATABASE %s SET statement_timeout = '7s'",
             postgres_fixture.database, postgres_fixture.database,
             postgres_fixture.database);
    server_execute(postgres_fixture.server, NULL, text);
    link = postgres_fixture_link(&postgres_fixture);

    check_str(
        postgres_fixture_text(&postgres_fixture, link, "SHOW transaction_isolation"),
        "read committed");
    check_str(postgres_fixture_text(&postgres_fixture, link, "SHOW TimeZone"), "UTC");
    check_str(postgres_fixture_text(&postgres_fixture, link, "SHOW statement_timeout"),
              "30s");

    postgres_fixture_unlink(link);
    postgres_fixture_close(&postgres_fixture);
}

WEIR_TEST(pg_open, leaves_the_application_name_of_the_url)
{
    struct postgres_fixture postgres_fixture;
    struct weir_link *link;
    char url[SERVER_URL_SIZE + 64];

    postgres_fixture_open(&postgres_fixture);
    snprintf(url, sizeof url, "%s%sapplication_name=shop", postgres_fixture.url,
             strchr(postgres_fixture.url, '?') != NULL ? "&" : "?");
    postgres_fixture.config.url.conninfo = url;
    link = postgres_fixture_link(&postgres_fixture);

    check_str(postgres_fixture_text(&postgres_fixture, link, "SHOW application_name"),
              "shop");

    postgres_fixture_unlink(link);
    postgres_fixture_close(&postgres_fixture);
}

POSTGRES_LINK_TEST(pg_open, hands_out_a_connection_in_blocking_mode)
{
    check_int(postgres_fixture_ask(postgres_fixture, link, "SELECT 7"), 7);

    check(!PQisnonblocking(pg->native(link)));
}

POSTGRES_LINK_TEST(pg_open, logs_notices_at_debug)
{
    postgres_fixture_exec(postgres_fixture, link,
                          "DO $$BEGIN RAISE NOTICE 'mind the gap'; END$$");

    check_int(
        captured_log_count(&postgres_fixture->captured_log, WEIR_LOG_DEBUG, "db.notice"),
        1);
    check_int(captured_log_count(&postgres_fixture->captured_log, WEIR_LOG_DEBUG,
                                 "mind the gap"),
              1);
}

/* ---- refusals ---- */

WEIR_TEST(pg_open, tells_a_wrong_password_by_its_code)
{
    struct postgres_fixture postgres_fixture;
    char url[SERVER_URL_SIZE];

    postgres_fixture_open(&postgres_fixture);
    server_url_as(postgres_fixture.server, SERVER_USER, "not-it",
                  postgres_fixture.database, url, sizeof url);

    check_postgres_fixture(&postgres_fixture, refusal(&postgres_fixture, url),
                           WEIR_DENIED);

    check_str(postgres_fixture.error.sqlstate, "28P01");
    check_str(postgres_fixture.error.text,
              "password authentication failed for user \"" SERVER_USER "\" (28P01)");
    postgres_fixture_close(&postgres_fixture);
}

WEIR_TEST(pg_open, tells_a_missing_database_by_its_code)
{
    struct postgres_fixture postgres_fixture;
    char url[SERVER_URL_SIZE];

    postgres_fixture_open(&postgres_fixture);
    server_url(postgres_fixture.server, "nowhere", url, sizeof url);

    check_postgres_fixture(&postgres_fixture, refusal(&postgres_fixture, url),
                           WEIR_SCHEMA);

    check_str(postgres_fixture.error.sqlstate, "3D000");
    check_str(postgres_fixture.error.text, "database \"nowhere\" does not exist (3D000)");
    postgres_fixture_close(&postgres_fixture);
}

WEIR_TEST(pg_open, is_busy_when_there_are_too_many_connections)
{
    struct postgres_fixture postgres_fixture;
    char text[256];

    postgres_fixture_open(&postgres_fixture);
    snprintf(text, sizeof text, "ALTER DATABASE %s CONNECTION LIMIT 0",
             postgres_fixture.database);
    server_execute(postgres_fixture.server, NULL, text);
    snprintf(text, sizeof text, "GRANT CONNECT ON DATABASE %s TO " SERVER_GUEST,
             postgres_fixture.database);
    server_execute(postgres_fixture.server, NULL, text);
    server_url_as(postgres_fixture.server, SERVER_GUEST, SERVER_GUEST_PASSWORD,
                  postgres_fixture.database, text, sizeof text);

    check_postgres_fixture(&postgres_fixture, refusal(&postgres_fixture, text),
                           WEIR_BUSY);

    check_str(postgres_fixture.error.sqlstate, "53300");
    postgres_fixture_close(&postgres_fixture);
}

WEIR_TEST(pg_open, finds_nobody_behind_a_closed_port)
{
    struct postgres_fixture postgres_fixture;

    postgres_fixture_open(&postgres_fixture);

    check_postgres_fixture(&postgres_fixture,
                           refusal(&postgres_fixture, "host=127.0.0.1 port=1 dbname=app"),
                           WEIR_LOST);
    check_postgres_fixture(&postgres_fixture,
                           refusal(&postgres_fixture, "host=/nowhere dbname=app"),
                           WEIR_LOST);

    check(postgres_fixture.error.text[0] != '\0');
    postgres_fixture_close(&postgres_fixture);
}

WEIR_TEST(pg_open, refuses_a_string_that_libpq_cannot_read)
{
    struct postgres_fixture postgres_fixture;

    postgres_fixture_open(&postgres_fixture);

    check_postgres_fixture(&postgres_fixture,
                           refusal(&postgres_fixture, "host=a flavour=sweet"),
                           WEIR_INVALID);
    check_postgres_fixture(&postgres_fixture,
                           refusal(&postgres_fixture, "host=a port=70000"), WEIR_INVALID);
    postgres_fixture_close(&postgres_fixture);
}

/* ---- servers that do not answer ---- */

/* A port that takes connections and says nothing. */
static int open_silence(uint16_t *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    check(listener >= 0);
    check_int(bind(listener, (struct sockaddr *)&address, size), 0);
    check_int(listen(listener, 8), 0);
    check_int(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    *port = ntohs(address.sin_port);
    return listener;
}

WEIR_TEST(pg_open, gives_up_on_a_server_that_says_nothing)
{
    struct postgres_fixture postgres_fixture;
    int64_t begin_ns = weir_system_now_ns();
    uint16_t port;
    int listener = open_silence(&port);
    char text[128];

    postgres_fixture_open(&postgres_fixture);
    postgres_fixture.config.connect_timeout_ns = WEIR_SECONDS(1);
    snprintf(text, sizeof text, "host=127.0.0.1 port=%u dbname=app", port);

    check_postgres_fixture(&postgres_fixture, refusal(&postgres_fixture, text),
                           WEIR_LOST);

    check_in_range(weir_system_now_ns() - begin_ns, WEIR_SECONDS(1), WEIR_SECONDS(9));
    check_str(postgres_fixture.error.text, "no answer for 1 s");
    close(listener);
    postgres_fixture_close(&postgres_fixture);
}

WEIR_TEST(pg_open, goes_on_to_the_next_host_when_one_says_nothing)
{
    struct postgres_fixture postgres_fixture;
    struct weir_link *link;
    uint16_t port;
    int listener = open_silence(&port);
    char text[512];

    postgres_fixture_open(&postgres_fixture);
    postgres_fixture.config.connect_timeout_ns = WEIR_SECONDS(1);
    snprintf(text, sizeof text,
             "host=127.0.0.1,127.0.0.1 port=%u,%u dbname=%s user=%s password=%s", port,
             server_port(postgres_fixture.server), postgres_fixture.database, SERVER_USER,
             SERVER_PASSWORD);
    postgres_fixture.config.url.conninfo = text;

    link = postgres_fixture_link(&postgres_fixture);

    check_int(postgres_fixture_ask(&postgres_fixture, link, "SELECT 7"), 7);
    postgres_fixture_unlink(link);
    close(listener);
    postgres_fixture_close(&postgres_fixture);
}

WEIR_TEST(pg_open, passes_over_hosts_that_refuse)
{
    struct postgres_fixture postgres_fixture;
    struct weir_link *link;
    char text[512];

    postgres_fixture_open(&postgres_fixture);
    snprintf(text, sizeof text,
             "host=127.0.0.1,127.0.0.1 port=1,%u dbname=%s user=%s password=%s "
             "target_session_attrs=read-write",
             server_port(postgres_fixture.server), postgres_fixture.database, SERVER_USER,
             SERVER_PASSWORD);
    postgres_fixture.config.url.conninfo = text;

    link = postgres_fixture_link(&postgres_fixture);

    check_int(postgres_fixture_ask(&postgres_fixture, link, "SELECT 7"), 7);
    postgres_fixture_unlink(link);
    postgres_fixture_close(&postgres_fixture);
}

/* A standby is not what was asked for, and later it may be. */
WEIR_TEST(pg_open, is_lost_when_no_host_is_of_the_wanted_kind)
{
    struct postgres_fixture postgres_fixture;
    char text[512];

    postgres_fixture_open(&postgres_fixture);
    snprintf(text, sizeof text,
             "host=127.0.0.1 port=%u dbname=%s user=%s password=%s "
             "target_session_attrs=standby",
             server_port(postgres_fixture.server), postgres_fixture.database, SERVER_USER,
             SERVER_PASSWORD);

    check_postgres_fixture(&postgres_fixture, refusal(&postgres_fixture, text),
                           WEIR_LOST);
    postgres_fixture_close(&postgres_fixture);
}

/* ---- faults ---- */

static struct postgres_fixture *swept;

static enum weir_status open_and_close(const struct weir_heap *heap)
{
    const struct weir_heap *kept = swept->config.heap;
    const struct weir_value values[] = {weir_integer(1), weir_text(weir_str("a"))};
    struct weir_link *link = NULL;
    struct weir_cursor cursor;
    void *prepared = NULL;
    enum weir_status status;

    swept->config.heap = heap;
    status = pg->open(&swept->config, &link, &swept->error);
    if (status == WEIR_OK) {
        status = pg->prepare(link, "SELECT $1, $2", "it", &prepared, &swept->error);
        if (status == WEIR_OK)
            status = pg->run(link, prepared, values, &cursor, &swept->error);
        if (status == WEIR_OK)
            pg->finish(link, &cursor);
        if (prepared != NULL)
            pg->unprepare(link, prepared);
        pg->close(link);
    }
    swept->config.heap = kept;
    return status;
}

WEIR_TEST(pg_open, survives_any_failing_allocation)
{
    struct postgres_fixture postgres_fixture;

    postgres_fixture_open(&postgres_fixture);
    swept = &postgres_fixture;

    check_alloc_failures(open_and_close);
    postgres_fixture_close(&postgres_fixture);
}

WEIR_TEST(pg_open, leaves_nothing_behind_at_any_fault)
{
    static const struct {
        const char *point;
        enum weir_status status;
    } faults[] = {{"db.lose", WEIR_LOST}, {"db.fail", WEIR_FAILED}};
    struct postgres_fixture postgres_fixture;

    postgres_fixture_open(&postgres_fixture);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        for (uint64_t nth = 1; nth <= 2; nth++) { /* connecting, setting the session */
            struct weir_link *link = NULL;

            weir_fault_points_init(&postgres_fixture.points);
            weir_fault_points_arm(&postgres_fixture.points, faults[i].point, nth);
            check_postgres_fixture(
                &postgres_fixture,
                pg->open(&postgres_fixture.config, &link, &postgres_fixture.error),
                faults[i].status);
            check(link == NULL);
        }
    }
    weir_fault_points_init(&postgres_fixture.points);
    postgres_fixture_close(&postgres_fixture);
}
