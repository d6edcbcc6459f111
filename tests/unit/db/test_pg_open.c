/* Tests of db/postgres/open.c: connecting and what a session is told. */
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/sweep.h"
#include "unit/db/stall.h"
#include "ward/system.h"

/* Opening must fail. */
static enum weir_status refusal(struct stall *stall, const char *conninfo)
{
    struct weir_link *link = NULL;
    char text[SERVER_URL_SIZE];
    enum weir_status status;

    snprintf(text, sizeof text, "%s", conninfo);
    stall->config.url.conninfo = text;
    status = pg->open(&stall->config, &link, &stall->error);
    stall->config.url.conninfo = stall->url;
    check(link == NULL);
    return status;
}

/* ---- the session ---- */

WEIR_TEST(pg_open, gives_the_session_its_settings)
{
    struct stall stall;
    struct weir_link *link;

    stall_open(&stall);
    stall.config.statement_timeout_ns = WEIR_MILLISECONDS(12345);
    stall.config.lock_timeout_ns = 1;
    link = stall_link(&stall);

    check_str(stall_text(&stall, link, "SHOW statement_timeout"), "12345ms");
    check_str(stall_text(&stall, link, "SHOW lock_timeout"), "1ms");
    check_str(stall_text(&stall, link, "SHOW TimeZone"), "UTC");
    check_str(stall_text(&stall, link, "SHOW default_transaction_isolation"),
              "read committed");
    check_str(stall_text(&stall, link, "SHOW standard_conforming_strings"), "on");
    check_str(stall_text(&stall, link, "SHOW jit"), "off");
    check_str(stall_text(&stall, link, "SHOW client_encoding"), "UTF8");
    check_str(stall_text(&stall, link, "SHOW application_name"), "weir");

    stall_unlink(link);
    stall_close(&stall);
}

WEIR_TEST(pg_open, sets_no_timeout_where_none_is_wanted)
{
    struct stall stall;
    struct weir_link *link;

    stall_open(&stall);
    stall.config.statement_timeout_ns = 0;
    stall.config.lock_timeout_ns = 0;
    link = stall_link(&stall);

    check_str(stall_text(&stall, link, "SHOW statement_timeout"), "0");
    check_str(stall_text(&stall, link, "SHOW lock_timeout"), "0");
    check_int(stall_inside(link)->silence_ns, 0);

    stall_unlink(link);
    stall_close(&stall);
}

/* What the database's owner made the default does not matter. */
WEIR_TEST(pg_open, overrides_the_defaults_of_the_database)
{
    struct stall stall;
    struct weir_link *link;
    char text[1024];

    stall_open(&stall);
    snprintf(text, sizeof text,
             "ALTER DATABASE %s SET default_transaction_isolation = 'serializable';"
             "ALTER DATABASE %s SET TimeZone = 'Asia/Tokyo';"
             "ALTER DATABASE %s SET statement_timeout = '7s'",
             stall.database, stall.database, stall.database);
    server_execute(stall.server, NULL, text);
    link = stall_link(&stall);

    check_str(stall_text(&stall, link, "SHOW transaction_isolation"), "read committed");
    check_str(stall_text(&stall, link, "SHOW TimeZone"), "UTC");
    check_str(stall_text(&stall, link, "SHOW statement_timeout"), "30s");

    stall_unlink(link);
    stall_close(&stall);
}

WEIR_TEST(pg_open, leaves_the_application_name_of_the_url)
{
    struct stall stall;
    struct weir_link *link;
    char url[SERVER_URL_SIZE + 64];

    stall_open(&stall);
    snprintf(url, sizeof url, "%s%sapplication_name=shop", stall.url,
             strchr(stall.url, '?') != NULL ? "&" : "?");
    stall.config.url.conninfo = url;
    link = stall_link(&stall);

    check_str(stall_text(&stall, link, "SHOW application_name"), "shop");

    stall_unlink(link);
    stall_close(&stall);
}

WEIR_TEST(pg_open, hands_out_a_connection_in_blocking_mode)
{
    struct stall stall;
    struct weir_link *link;

    stall_open(&stall);
    link = stall_link(&stall);

    check_int(stall_ask(&stall, link, "SELECT 7"), 7);

    check(!PQisnonblocking(pg->native(link)));
    stall_unlink(link);
    stall_close(&stall);
}

WEIR_TEST(pg_open, logs_notices_at_debug)
{
    struct stall stall;
    struct weir_link *link;

    stall_open(&stall);
    link = stall_link(&stall);

    stall_exec(&stall, link, "DO $$BEGIN RAISE NOTICE 'mind the gap'; END$$");

    check_int(journal_count(&stall.journal, WEIR_LOG_DEBUG, "db.notice"), 1);
    check_int(journal_count(&stall.journal, WEIR_LOG_DEBUG, "mind the gap"), 1);
    stall_unlink(link);
    stall_close(&stall);
}

/* ---- refusals ---- */

WEIR_TEST(pg_open, tells_a_wrong_password_by_its_code)
{
    struct stall stall;
    char url[SERVER_URL_SIZE];

    stall_open(&stall);
    server_url_as(stall.server, SERVER_USER, "not-it", stall.database, url, sizeof url);

    check_stall(&stall, refusal(&stall, url), WEIR_DENIED);

    check_str(stall.error.sqlstate, "28P01");
    check_str(stall.error.text,
              "password authentication failed for user \"" SERVER_USER "\" (28P01)");
    stall_close(&stall);
}

WEIR_TEST(pg_open, tells_a_missing_database_by_its_code)
{
    struct stall stall;
    char url[SERVER_URL_SIZE];

    stall_open(&stall);
    server_url(stall.server, "nowhere", url, sizeof url);

    check_stall(&stall, refusal(&stall, url), WEIR_SCHEMA);

    check_str(stall.error.sqlstate, "3D000");
    check_str(stall.error.text, "database \"nowhere\" does not exist (3D000)");
    stall_close(&stall);
}

WEIR_TEST(pg_open, is_busy_when_there_are_too_many_connections)
{
    struct stall stall;
    char text[256];

    stall_open(&stall);
    snprintf(text, sizeof text, "ALTER DATABASE %s CONNECTION LIMIT 0", stall.database);
    server_execute(stall.server, NULL, text);
    snprintf(text, sizeof text, "GRANT CONNECT ON DATABASE %s TO " SERVER_GUEST,
             stall.database);
    server_execute(stall.server, NULL, text);
    server_url_as(stall.server, SERVER_GUEST, SERVER_GUEST_PASSWORD, stall.database, text,
                  sizeof text);

    check_stall(&stall, refusal(&stall, text), WEIR_BUSY);

    check_str(stall.error.sqlstate, "53300");
    stall_close(&stall);
}

WEIR_TEST(pg_open, finds_nobody_behind_a_closed_port)
{
    struct stall stall;

    stall_open(&stall);

    check_stall(&stall, refusal(&stall, "host=127.0.0.1 port=1 dbname=app"), WEIR_LOST);
    check_stall(&stall, refusal(&stall, "host=/nowhere dbname=app"), WEIR_LOST);

    check(stall.error.text[0] != '\0');
    stall_close(&stall);
}

WEIR_TEST(pg_open, refuses_a_string_that_libpq_cannot_read)
{
    struct stall stall;

    stall_open(&stall);

    check_stall(&stall, refusal(&stall, "host=a flavour=sweet"), WEIR_INVALID);
    check_stall(&stall, refusal(&stall, "host=a port=70000"), WEIR_INVALID);
    stall_close(&stall);
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
    struct stall stall;
    int64_t begin_ns = weir_system_now_ns();
    uint16_t port;
    int listener = open_silence(&port);
    char text[128];

    stall_open(&stall);
    stall.config.connect_timeout_ns = WEIR_SECONDS(1);
    snprintf(text, sizeof text, "host=127.0.0.1 port=%u dbname=app", port);

    check_stall(&stall, refusal(&stall, text), WEIR_LOST);

    check_in_range(weir_system_now_ns() - begin_ns, WEIR_SECONDS(1), WEIR_SECONDS(9));
    check_str(stall.error.text, "no answer for 1 s");
    close(listener);
    stall_close(&stall);
}

WEIR_TEST(pg_open, goes_on_to_the_next_host_when_one_says_nothing)
{
    struct stall stall;
    struct weir_link *link;
    uint16_t port;
    int listener = open_silence(&port);
    char text[512];

    stall_open(&stall);
    stall.config.connect_timeout_ns = WEIR_SECONDS(1);
    snprintf(text, sizeof text,
             "host=127.0.0.1,127.0.0.1 port=%u,%u dbname=%s user=%s password=%s", port,
             server_port(stall.server), stall.database, SERVER_USER, SERVER_PASSWORD);
    stall.config.url.conninfo = text;

    link = stall_link(&stall);

    check_int(stall_ask(&stall, link, "SELECT 7"), 7);
    stall_unlink(link);
    close(listener);
    stall_close(&stall);
}

WEIR_TEST(pg_open, passes_over_hosts_that_refuse)
{
    struct stall stall;
    struct weir_link *link;
    char text[512];

    stall_open(&stall);
    snprintf(text, sizeof text,
             "host=127.0.0.1,127.0.0.1 port=1,%u dbname=%s user=%s password=%s "
             "target_session_attrs=read-write",
             server_port(stall.server), stall.database, SERVER_USER, SERVER_PASSWORD);
    stall.config.url.conninfo = text;

    link = stall_link(&stall);

    check_int(stall_ask(&stall, link, "SELECT 7"), 7);
    stall_unlink(link);
    stall_close(&stall);
}

/* A standby is not what was asked for, and later it may be. */
WEIR_TEST(pg_open, is_lost_when_no_host_is_of_the_wanted_kind)
{
    struct stall stall;
    char text[512];

    stall_open(&stall);
    snprintf(text, sizeof text,
             "host=127.0.0.1 port=%u dbname=%s user=%s password=%s "
             "target_session_attrs=standby",
             server_port(stall.server), stall.database, SERVER_USER, SERVER_PASSWORD);

    check_stall(&stall, refusal(&stall, text), WEIR_LOST);
    stall_close(&stall);
}

/* ---- faults ---- */

static struct stall *swept;

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
    struct stall stall;

    stall_open(&stall);
    swept = &stall;

    check_sweep(open_and_close);
    stall_close(&stall);
}

WEIR_TEST(pg_open, leaves_nothing_behind_at_any_fault)
{
    static const struct {
        const char *point;
        enum weir_status status;
    } faults[] = {{"db.lose", WEIR_LOST}, {"db.fail", WEIR_FAILED}};
    struct stall stall;

    stall_open(&stall);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        for (uint64_t nth = 1; nth <= 2; nth++) { /* connecting, setting the session */
            struct weir_link *link = NULL;

            weir_fault_points_init(&stall.points);
            weir_fault_points_arm(&stall.points, faults[i].point, nth);
            check_stall(&stall, pg->open(&stall.config, &link, &stall.error),
                        faults[i].status);
            check(link == NULL);
        }
    }
    weir_fault_points_init(&stall.points);
    stall_close(&stall);
}
