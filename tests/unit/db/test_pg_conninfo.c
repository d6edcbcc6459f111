/* Tests of db/postgres/conninfo.c: connection strings, without a server. */
#include "db/postgres/conninfo.h"

#include <string.h>

#include "kit/test.h"
#include "weir/time.h"

static struct weir_error error;

WEIR_TEST(pg_conninfo, accepts_what_libpq_accepts)
{
    static const char *const good[] = {
        "postgresql://",
        "postgresql://user:p%40ss@host:5432/app?sslmode=disable&connect_timeout=3",
        "postgresql://a,b:5433,c/app?target_session_attrs=read-write",
        "host=a,b port=5432,5433 dbname=app",
        "host=a,b port=,5433",
        "service=app",
        "dbname='a b' password='a\\'b'",
    };

    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        check_status(weir_pg_conninfo_check(good[i], &error), WEIR_OK);
}

WEIR_TEST(pg_conninfo, names_the_kind_of_part_that_is_wrong)
{
    check_status(weir_pg_conninfo_check("postgresql://h/d?flavour=sweet", &error),
                 WEIR_INVALID);
    check_str(error.text,
              "database URL: invalid URI query parameter (in a part that is not "
              "shown; special characters of a password must be escaped)");

    check_status(weir_pg_conninfo_check("host=a flavour=sweet", &error), WEIR_INVALID);
    check(strstr(error.text, "invalid connection option (") != NULL);

    check_status(weir_pg_conninfo_check("host=a port=70000", &error), WEIR_INVALID);
    check_str(error.text, "port must be a number from 1 to 65535");
}

WEIR_TEST(pg_conninfo, refuses_ports_that_are_none)
{
    static const char *const bad[] = {
        "host=a port=0",      "host=a port=65536", "host=a port=http",
        "host=a port=5432,x", "host=a port=-1",    "postgresql://a:99999/d",
    };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        check_status(weir_pg_conninfo_check(bad[i], &error), WEIR_INVALID);
}

/* libpq quotes what it cannot read. */
WEIR_TEST(pg_conninfo, never_shows_a_value)
{
    static const char *const bad[] = {
        "postgresql://user:%zzSECRET1@host/d",
        "postgresql://user:SECRET1@[::1/d",
        "postgresql://user:SECRET1@host/d?sslmode",
        "postgresql://user:SECRET1@[::1]x/d",
        "host=a password=x SECRET1",
        "host=a password='SECRET1",
        "postgresql://user:SECRET1@host/d?a=b=c",
        "postgresql://user:2024/q?secret=1@host/d",
        "host=a password=x secret=1",
        "host=a password=x secret",
    };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        check_status(weir_pg_conninfo_check(bad[i], &error), WEIR_INVALID);
        if (strstr(error.text, "SECRET1") != NULL ||
            strstr(error.text, "secret") != NULL || error.text[0] == '\0')
            weir_test_fail(__FILE__, __LINE__, "%s", error.text);
    }
}

WEIR_TEST(pg_conninfo, tells_where_an_at_sign_leaves_the_password_in_doubt)
{
    static const char *const clear[] = {
        "postgresql://",          "postgresql://h/d",
        "postgresql://u:p?q@h/d", "postgres://u:p%40q@h/d?options=x",
        "host=h password=a@b@c",
    };
    static const char *const unclear[] = {
        "postgresql://u:p@q@h/d",        "postgres://u:p@q@h/d",
        "postgresql://u:p@/q@h/d",       "postgresql://u:1/q@h/d",
        "postgresql://u:p@h/d?user=a@b", "postgresql://h/d?user=a@b",
    };

    for (size_t i = 0; i < sizeof clear / sizeof clear[0]; i++)
        check(weir_pg_conninfo_is_clear(clear[i]));
    for (size_t i = 0; i < sizeof unclear / sizeof unclear[0]; i++)
        check(!weir_pg_conninfo_is_clear(unclear[i]));
}

/* ---- what libpq is given ---- */

static const char *value_of(PGconn *connection, const char *keyword, char out[64])
{
    PQconninfoOption *options = PQconninfo(connection);

    out[0] = '\0';
    for (PQconninfoOption *option = options; option->keyword != NULL; option++) {
        if (strcmp(option->keyword, keyword) == 0 && option->val != NULL)
            (void)strncat(out, option->val, 63);
    }
    PQconninfoFree(options);
    return out;
}

/* The host does not exist: nothing is sent anywhere. */
WEIR_TEST(pg_conninfo, adds_what_the_string_does_not_say)
{
    PGconn *connection =
        weir_pg_conninfo_start("host=/nowhere keepalives_idle=60", WEIR_SECONDS(7));
    char value[64];

    check_str(value_of(connection, "connect_timeout", value), "7");
    check_str(value_of(connection, "keepalives_idle", value), "60");
    check_str(value_of(connection, "keepalives_interval", value), "3");
    check_str(value_of(connection, "tcp_user_timeout", value), "12000");
    check_str(value_of(connection, "fallback_application_name", value), "weir");
    PQfinish(connection);
}

WEIR_TEST(pg_conninfo, insists_on_utf_8)
{
    PGconn *connection =
        weir_pg_conninfo_start("host=/nowhere client_encoding=LATIN1", WEIR_SECONDS(1));
    char value[64];

    check_str(value_of(connection, "client_encoding", value), "UTF8");
    PQfinish(connection);
}

WEIR_TEST(pg_conninfo, knows_how_long_to_try_and_how_many_hosts)
{
    static const struct {
        const char *conninfo;
        int64_t timeout_ns;
        bool several_hosts;
    } known[] = {
        {"host=/nowhere", WEIR_SECONDS(9), false},
        {"host=/nowhere connect_timeout=3", WEIR_SECONDS(3), false},
        {"host=/nowhere connect_timeout=0", WEIR_SECONDS(9), false},
        {"host=/nowhere,/elsewhere", WEIR_SECONDS(9), true},
        {"postgresql://%2Fnowhere,%2Felsewhere/d", WEIR_SECONDS(9), true},
    };

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        PGconn *connection = weir_pg_conninfo_start(known[i].conninfo, WEIR_SECONDS(9));
        struct weir_pg_target target;

        weir_pg_conninfo_read(connection, WEIR_SECONDS(9), &target);
        check_int(target.timeout_ns, known[i].timeout_ns);
        check_int(target.several_hosts, known[i].several_hosts);
        PQfinish(connection);
    }
}
