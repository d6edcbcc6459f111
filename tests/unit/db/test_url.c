/*
 * Tests of db/url.c: every form that is accepted, every form that is refused, and that no
 * password is ever shown.
 */
#include "db/url.h"

#include <stdio.h>
#include <string.h>

#include "base/heap.h"
#include "kit/alloc_failures.h"
#include "kit/test.h"

/* What no text for people may show. */
#define SECRET "hunter2"

static struct weir_url parse(const char *text);
static void gone(struct weir_url *url);
static void refuses(const char *text, const char *part);
static void describes(const char *text, const char *want);

/* ---- SQLite ------------------------------------------------------------------------ */

WEIR_TEST(url, of_sqlite_is_a_path)
{
    static const struct {
        const char *text;
        const char *path;
    } CASES[] = {
        {"sqlite:app.db", "app.db"},
        {"sqlite:data/app.db", "data/app.db"},
        {"sqlite:../app.db", "../app.db"},
        {"sqlite:/var/lib/app.db", "/var/lib/app.db"},
        {"sqlite:///var/lib/app.db", "/var/lib/app.db"},
        {"sqlite://app.db", "app.db"},
        {"sqlite::memory:", ":memory:"},
        {"sqlite:my%20app.db", "my app.db"},
        {"sqlite:100%25.db", "100%.db"},
        {"sqlite:what%3f.db", "what?.db"},
        {"sqlite:%C3%A4.db", "\xc3\xa4.db"},
        {"sqlite:file:app.db", "file:app.db"},
        {"sqlite:host=a.db", "host=a.db"},
    };

    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct weir_url url = parse(CASES[i].text);

        check_int(url.engine, WEIR_SQLITE);
        check_str(url.path, CASES[i].path);
        check(url.conninfo == NULL && url.database == NULL && !url.transaction_pooler);
        gone(&url);
    }
}

WEIR_TEST(url, of_sqlite_may_have_the_permissions_of_a_new_file)
{
    struct weir_url url = parse("sqlite:app.db");

    check_int(url.permissions, 0600);
    gone(&url);
    url = parse("sqlite:app.db?permissions=0660");
    check_str(url.path, "app.db");
    check_int(url.permissions, 0660);
    gone(&url);
    refuses("sqlite:app.db?permissions=0400",
            "option permissions must be octal from 0600 to 0666");
    refuses("sqlite:app.db?permissions=", "option permissions");
    refuses("sqlite:app.db?permissions=0640&x=1", "option permissions");
    refuses("sqlite::memory:?permissions=0660", "option");
}

WEIR_TEST(url, of_sqlite_needs_a_path_and_takes_no_other_options)
{
    refuses("sqlite:", "path is empty");
    refuses("sqlite://", "path is empty");
    refuses("sqlite:?mode=ro", "option");
    refuses("sqlite:app.db?", "option");
    refuses("sqlite:app.db?mode=ro", "option");
    refuses("sqlite:app.db?pooler=transaction", "option");
}

/* ---- percent escapes --------------------------------------------------------------- */

WEIR_TEST(url, with_a_bad_percent_escape_is_refused_by_the_name_of_its_part)
{
    refuses("sqlite:a%", "path has a bad percent escape");
    refuses("sqlite:a%2", "path has a bad percent escape");
    refuses("sqlite:a%2g", "path has a bad percent escape");
    refuses("sqlite:a%g2", "path has a bad percent escape");
    refuses("sqlite:a% 2", "path has a bad percent escape");
    refuses("sqlite:a%00b", "path has a bad percent escape");
    refuses("mariadb://a%@h/app", "user has a bad percent escape");
    refuses("mariadb://a:" SECRET "%zz@h/app", "password has a bad percent escape");
    refuses("mariadb://a:" SECRET "@h%/app", "host has a bad percent escape");
    refuses("mariadb://a:" SECRET "@h/app%1", "database name has a bad percent escape");
    refuses("mariadb://a:" SECRET "@h/app?socket=%", "socket has a bad percent escape");
}

/* ---- PostgreSQL -------------------------------------------------------------------- */

/* libpq knows its own strings best: nothing of them is decoded or checked here. */
WEIR_TEST(url, of_postgresql_goes_to_libpq_as_it_was_written)
{
    static const char *const TEXTS[] = {
        "postgresql://",
        "postgresql:///app",
        "postgresql://user@host:5432/app",
        "postgresql://user:pa%20ss@[::1]:5432/app?application_name=x&sslmode=disable",
        "postgresql://a:1,b:2/app?target_session_attrs=read-write",
        "postgres://user@host/app",
        "host=localhost dbname=app",
        "dbname=app",
        "service=app",
        "user=me password='a b\\'c' host=/run/postgresql",
        "hostaddr=127.0.0.1 user=me",
        "dbname = app",
        "  host=localhost",
    };

    for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++) {
        struct weir_url url = parse(TEXTS[i]);

        check_int(url.engine, WEIR_POSTGRESQL);
        check_str(url.conninfo, TEXTS[i]);
        check(url.path == NULL && url.database == NULL && !url.transaction_pooler);
        gone(&url);
    }
}

WEIR_TEST(url, of_postgresql_loses_the_pooler_option_wherever_it_stands)
{
    static const struct {
        const char *text;
        const char *conninfo;
    } CASES[] = {
        {"postgresql://h/app?pooler=transaction", "postgresql://h/app"},
        {"postgresql://h/app?pooler=transaction&sslmode=disable",
         "postgresql://h/app?sslmode=disable"},
        {"postgresql://h/app?sslmode=disable&pooler=transaction",
         "postgresql://h/app?sslmode=disable"},
        {"postgresql://h/app?sslmode=disable&pooler=transaction&user=d",
         "postgresql://h/app?sslmode=disable&user=d"},
        {"postgres://h?pooler=transaction", "postgres://h"},
        {"postgresql://?pooler=transaction", "postgresql://"},
        {"postgresql://h/app?pooler=transaction&pooler=transaction",
         "postgresql://h/app"},
        {"pooler=transaction host=h", "host=h"},
        {"host=h pooler=transaction", "host=h"},
        {"host=h pooler=transaction dbname=app", "host=h dbname=app"},
        {"host=h pooler='transaction' dbname=app", "host=h dbname=app"},
        {"host=h pooler = transaction dbname=app", "host=h dbname=app"},
        {"host=h\tpooler=transaction\tdbname=app", "host=h\tdbname=app"},
    };

    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct weir_url url = parse(CASES[i].text);

        check_int(url.engine, WEIR_POSTGRESQL);
        check_str(url.conninfo, CASES[i].conninfo);
        check(url.transaction_pooler);
        gone(&url);
    }
}

WEIR_TEST(url, of_postgresql_may_say_that_the_pooler_keeps_sessions)
{
    struct weir_url url = parse("postgresql://h/app?pooler=session&sslmode=disable");

    check_str(url.conninfo, "postgresql://h/app?sslmode=disable");
    check(!url.transaction_pooler);
    gone(&url);
}

/* Only an option is one: not a part of a name, of a password or of another value. */
WEIR_TEST(url, of_postgresql_keeps_what_only_looks_like_the_pooler_option)
{
    static const char *const TEXTS[] = {
        "postgresql://h/app?application_name=pooler%3Dtransaction",
        "postgresql://u:a&pooler=transaction@h/app",
        "postgresql://u:a?pooler=transaction@h/app",
        "postgresql://h/pooler=transaction",
        "host=h options='-c pooler=transaction'",
        "host=h password='x\\' pooler=transaction'",
        "host=h password=x\\ pooler=transaction",
    };

    for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++) {
        struct weir_url url = parse(TEXTS[i]);

        check_str(url.conninfo, TEXTS[i]);
        check(!url.transaction_pooler);
        gone(&url);
    }
}

WEIR_TEST(url, of_postgresql_takes_no_other_pooler)
{
    refuses("postgresql://u:" SECRET "@h/app?pooler=statement", "option pooler");
    refuses("postgresql://u:" SECRET "@h/app?pooler=", "option pooler");
    refuses("postgresql://u:" SECRET "@h/app?pooler=transactions&sslmode=disable",
            "option pooler");
    refuses("host=h password=" SECRET " pooler=none", "option pooler");
}

/* ---- MariaDB ----------------------------------------------------------------------- */

WEIR_TEST(url, of_mariadb_is_taken_apart)
{
    static const struct {
        const char *text;
        const char *user, *password, *host;
        int port;
        const char *database, *socket;
    } CASES[] = {
        {"mariadb://u:p@h:3306/app", "u", "p", "h", 3306, "app", NULL},
        {"mariadb://u@h/app", "u", NULL, "h", 0, "app", NULL},
        {"mariadb://u:@h/app", "u", "", "h", 0, "app", NULL},
        {"mariadb:///app", NULL, NULL, NULL, 0, "app", NULL},
        {"mariadb://h/app", NULL, NULL, "h", 0, "app", NULL},
        {"mariadb://:7/app", NULL, NULL, NULL, 7, "app", NULL},
        {"mariadb://@h/app", "", NULL, "h", 0, "app", NULL},
        {"mariadb://u:p:q@h/app", "u", "p:q", "h", 0, "app", NULL},
        {"mariadb://u:p?q@h/app", "u", "p?q", "h", 0, "app", NULL},
        {"mariadb://[::1]/app", NULL, NULL, "::1", 0, "app", NULL},
        {"mariadb://u@[fe80::1%25eth0]:65535/app", "u", NULL, "fe80::1%eth0", 65535,
         "app", NULL},
        {"mariadb://h:1/app", NULL, NULL, "h", 1, "app", NULL},
        {"mariadb://u%40x:p%40%2f%3a%3f@h/a%2Fb", "u@x", "p@/:?", "h", 0, "a/b", NULL},
        {"mariadb://u@/app?socket=/run/m.sock", "u", NULL, NULL, 0, "app", "/run/m.sock"},
        {"mariadb://u@/app?socket=%2frun%2Fm%26.sock", "u", NULL, NULL, 0, "app",
         "/run/m&.sock"},
        {"mariadb://u@h/app?", "u", NULL, "h", 0, "app", NULL},
        /* the marks of a libpq string mean nothing here */
        {"mariadb://u:host=x@h/app", "u", "host=x", "h", 0, "app", NULL},
        {"mariadb://u:p@h/dbname=app", "u", "p", "h", 0, "dbname=app", NULL},
        {"mariadb://u@/app?socket=/run/service=1", "u", NULL, NULL, 0, "app",
         "/run/service=1"},
    };

    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct weir_url url = parse(CASES[i].text);

        check_int(url.engine, WEIR_MARIADB);
        check_str(url.user, CASES[i].user);
        check_str(url.password, CASES[i].password);
        check_str(url.host, CASES[i].host);
        check_int(url.port, CASES[i].port);
        check_str(url.database, CASES[i].database);
        check_str(url.socket, CASES[i].socket);
        check(url.signal == NULL);
        gone(&url);
    }
}

WEIR_TEST(url, of_mariadb_may_name_a_folder_for_signals)
{
    struct weir_url url = parse("mariadb://u@h/app?signal=/run/my%20weir&socket=/run/m");

    check_str(url.signal, "/run/my weir");
    check_str(url.socket, "/run/m");
    gone(&url);
}

WEIR_TEST(url, of_mariadb_is_in_clear_only_on_this_machine_or_if_asked_for)
{
    static const struct {
        const char *text;
        enum weir_tls tls;
        const char *ca;
    } CASES[] = {
        {"mariadb:///app", WEIR_TLS_OFF, NULL},
        {"mariadb://localhost:1/app", WEIR_TLS_OFF, NULL},
        {"mariadb://127.0.0.2/app", WEIR_TLS_OFF, NULL},
        {"mariadb://[::1]/app", WEIR_TLS_OFF, NULL},
        {"mariadb://h/app?socket=/run/m", WEIR_TLS_OFF, NULL},
        {"mariadb://h/app", WEIR_TLS_VERIFY, NULL},
        {"mariadb://127.example/app", WEIR_TLS_VERIFY, NULL},
        {"mariadb://localhost.example/app", WEIR_TLS_VERIFY, NULL},
        {"mariadb://10.0.0.1/app", WEIR_TLS_VERIFY, NULL},
        {"mariadb://h/app?tls=off", WEIR_TLS_OFF, NULL},
        {"mariadb://h/app?tls=require", WEIR_TLS_REQUIRE, NULL},
        {"mariadb://localhost/app?tls=verify", WEIR_TLS_VERIFY, NULL},
        {"mariadb://localhost/app?ca=/etc/my%20ca.pem", WEIR_TLS_VERIFY,
         "/etc/my ca.pem"},
        {"mariadb://h/app?ca=/x&tls=verify", WEIR_TLS_VERIFY, "/x"},
    };

    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct weir_url url = parse(CASES[i].text);

        check_int(url.tls, CASES[i].tls);
        check_str(url.ca, CASES[i].ca);
        gone(&url);
    }
}

WEIR_TEST(url, of_mariadb_is_refused_by_the_name_of_its_bad_part)
{
    refuses("mariadb://", "database name is missing");
    refuses("mariadb://u:" SECRET "@h", "database name is missing");
    refuses("mariadb://u:" SECRET "@h/", "database name is missing");
    refuses("mariadb://u:" SECRET "@h/?socket=/x", "database name is missing");
    refuses("mariadb://u:" SECRET "@h:/app", "port must be");
    refuses("mariadb://u:" SECRET "@h:0/app", "port must be");
    refuses("mariadb://u:" SECRET "@h:65536/app", "port must be");
    refuses("mariadb://u:" SECRET "@h:99999999999999999999/app", "port must be");
    refuses("mariadb://u:" SECRET "@h:-1/app", "port must be");
    refuses("mariadb://u:" SECRET "@h:33o6/app", "port must be");
    refuses("mariadb://u:" SECRET "@h:1:2/app", "port must be");
    refuses("mariadb://u:" SECRET "@[::1/app", "host has a bracket");
    refuses("mariadb://u:" SECRET "@[::1]x/app", "host has a bracket");
    refuses("mariadb://u:" SECRET "@h/app?ssl=1", "option is unknown");
    refuses("mariadb://u:" SECRET "@h/app?socket", "option socket is empty");
    refuses("mariadb://u:" SECRET "@h/app?socket=", "option socket is empty");
    refuses("mariadb://u:" SECRET "@h/app?socket=/a&x=1", "option is unknown");
    refuses("mariadb://u:" SECRET "@h/app?tls", "option tls must be");
    refuses("mariadb://u:" SECRET "@h/app?tls=on", "option tls must be");
    refuses("mariadb://u:" SECRET "@h/app?ca=", "option ca is empty");
    refuses("mariadb://u:" SECRET "@h/app?ca=%", "option ca has a bad percent");
    refuses("mariadb://u:" SECRET "@h/app?ca=/x&tls=off", "option ca is only");
    refuses("mariadb://u:" SECRET "@h/app?ca=/x&tls=require", "option ca is only");
    refuses("mariadb://u:" SECRET "@h/app?socket=/x&tls=verify", "not for a socket");
    refuses("mariadb://u:" SECRET "@h/app?signal", "option signal must be an absolute");
    refuses("mariadb://u:" SECRET "@h/app?signal=", "option signal must be an absolute");
    refuses("mariadb://u:" SECRET "@h/app?signal=a", "option signal must be an absolute");
    refuses("mariadb://u:" SECRET "@h/app?signal=/%", "option signal has a bad percent");
    refuses("mariadb://u:" SECRET "@h/app?pooler=transaction", "option is unknown");
}

/* Otherwise half of it would be taken for the host, or the database, and be shown. */
WEIR_TEST(url, of_mariadb_with_a_password_that_is_not_escaped_is_refused)
{
    refuses("mariadb://u:p@" SECRET "@h/app", "host");
    refuses("mariadb://u:p/" SECRET "@h/app", "port");
    refuses("mariadb://u:12/" SECRET "@h/app", "database name");
    refuses("mariadb://u:" SECRET "@h/app/b", "database name");
}

/* Behind a password that is not escaped any word may stand where a name is expected, so
 * none is shown. */
WEIR_TEST(url, that_is_refused_is_not_shown)
{
    refuses("mariadb://u:2024/q?" SECRET "@h/app", "option is unknown");
    refuses("mariadb://u:2024/q?" SECRET "=1@h/app", "option is unknown");
    refuses("mariadb://u:2024/q?" SECRET, "option is unknown");
    refuses("mariadb://u:2024/q?socket=/x&" SECRET "@h/app", "option is unknown");
    refuses("postgresql://u:2024/q?" SECRET "@h/app", "separator");
    refuses("postgresql://u:2024/q?" SECRET "=1@h/app", "parameter");
    refuses("postgresql://u:p/" SECRET "@h/app", "port");
    refuses("host=h password=p " SECRET " dbname=app", "missing");
    refuses("host=h password=p " SECRET "=q dbname=app", "option");
}

/* ---- none of these ----------------------------------------------------------------- */

WEIR_TEST(url, without_a_known_scheme_is_refused)
{
    refuses(NULL, "is empty");
    refuses("", "is empty");
    refuses("app.db", "scheme");
    refuses("/var/lib/app.db", "scheme");
    refuses("SQLITE:app.db", "scheme");
    refuses("sqlite3:app.db", "scheme");
    refuses("postgresql:app", "scheme");
    refuses("mariadb:app", "scheme");
    refuses("=", "scheme");
    refuses("mysql://u:" SECRET "@h/app", "mysql");
    refuses("oracle://u:" SECRET "@h/app", "scheme");
    refuses("mysql://u:" SECRET "@h/app?host=x", "mysql");
    refuses("http://u:" SECRET "@h/app?dbname=x", "scheme");
}

/* ---- for people -------------------------------------------------------------------- */

WEIR_TEST(url, knows_whether_it_has_a_password)
{
    static const struct {
        const char *text;
        bool has;
    } CASES[] = {
        {"sqlite:app.db", false},
        {"mariadb://u@h/app", false},
        {"mariadb://u:" SECRET "@h/app", true},
        {"postgresql://u@h/app", false},
        {"postgresql://u:" SECRET "@h/app", true},
        {"postgresql://h/app?user=u&password=" SECRET, true},
        {"postgresql://h/app?sslpassword=" SECRET, true},
        {"postgresql://h/app?password=a@" SECRET, true},
        {"host=h dbname=app user=password", false},
        {"host=h dbname=app password=" SECRET, true},
        {"host=h dbname=app password=''", false},
    };

    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct weir_url url;

        check_status(weir_url_parse(weir_heap_system(), CASES[i].text, &url, NULL),
                     WEIR_OK);
        check_int(weir_url_has_password(&url), CASES[i].has);
        weir_url_fini(weir_heap_system(), &url);
    }
}

WEIR_TEST(url, is_described_without_password)
{
    describes("sqlite:/var/app.db", "sqlite:/var/app.db");
    describes("mariadb://u:" SECRET "@h:1/app?socket=/x", "mariadb://h/app");
    describes("mariadb:///app", "mariadb://localhost/app");
    describes("postgresql://u:" SECRET "@h:1/app", "postgresql://h:1/app");
    describes("postgresql://h/app?user=u&password=" SECRET, "postgresql://h/app");
    describes("postgresql://h/app?password=a@" SECRET, "postgresql");
    describes("postgresql://u:a@" SECRET "@h/app", "postgresql://h/app");
    describes("host=h dbname=app password=" SECRET, "postgresql");
    describes("host=h password='x://" SECRET "'", "postgresql");
}

/* libpq accepts it. */
WEIR_TEST(url, is_described_without_a_password_that_is_not_escaped)
{
    describes("postgresql://u:" SECRET "?x@h/app", "postgresql://h/app");
    describes("postgresql://u:1/" SECRET "?user=x@h/app", "postgresql");
}

WEIR_TEST(url, of_postgresql_is_refused_when_libpq_cannot_read_it)
{
    refuses("postgresql://u:" SECRET "/x@h/app", "port");
    refuses("postgresql://u:" SECRET "@h/app?nonsense=1", "invalid");
    refuses("postgresql://u:" SECRET "@h/app?sslmode", "separator");
    refuses("postgresql://u:" SECRET "@[::1/app", "matching");
    refuses("postgresql://u:" SECRET "@h:x/app", "port");
    refuses("postgresql://u:" SECRET "@h:65536/app", "port");
    refuses("host=h nonsense=1 password=" SECRET, "invalid");
    refuses("host=h password='" SECRET, "quoted");
    refuses("host=h password", "missing");
}

WEIR_TEST(url, is_cut_when_described_in_too_little_space)
{
    struct weir_url url = parse("sqlite:/var/lib/app.db");
    char out[8];

    weir_url_describe(&url, out, sizeof out);

    check_str(out, "sqlite:");
    gone(&url);
}

/* ---- memory ------------------------------------------------------------------------ */

static enum weir_status parse_each(const struct weir_heap *heap)
{
    static const char *const TEXTS[] = {
        "sqlite:app.db",
        "postgresql://h/app?pooler=transaction&user=b",
        "mariadb://u:p@h:1/app?signal=/x&signal=/y&ca=/x&ca=/y",
    };
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < 3 && status == WEIR_OK; i++) {
        struct weir_url url;
        struct weir_error error;

        status = weir_url_parse(heap, TEXTS[i], &url, &error);
        weir_url_fini(heap, &url);
    }
    return status;
}

WEIR_TEST(url, survives_any_failing_allocation)
{
    check_alloc_failures(parse_each);
}

/* A part that was read before the bad one is given back. */
WEIR_TEST(url, that_is_refused_leaves_nothing_behind)
{
    struct weir_faulty_heap heap;
    struct weir_url url;
    struct weir_error error;

    weir_faulty_heap_init(&heap);

    check_status(
        weir_url_parse(&heap.heap, "mariadb://u:p@h:1/app?socket=%", &url, &error),
        WEIR_INVALID);

    check_int(atomic_load(&heap.outstanding), 0);
    weir_url_fini(&heap.heap, &url);
}

/* ---- helpers ----------------------------------------------------------------------- */

static struct weir_url parse(const char *text)
{
    struct weir_url url;
    struct weir_error error;
    enum weir_status status = weir_url_parse(weir_heap_system(), text, &url, &error);

    if (status != WEIR_OK)
        weir_test_fail(__FILE__, __LINE__, "\"%s\" is refused: %s", text, error.text);
    return url;
}

static void gone(struct weir_url *url)
{
    weir_url_fini(weir_heap_system(), url);
}

/* WEIR_INVALID, the part is named, and nothing is shown that may be a password. */
static void refuses(const char *text, const char *part)
{
    struct weir_url url;
    struct weir_error error;
    enum weir_status status = weir_url_parse(weir_heap_system(), text, &url, &error);

    if (status != WEIR_INVALID)
        weir_test_fail(__FILE__, __LINE__, "\"%s\": %s", text != NULL ? text : "(null)",
                       weir_status_name(status));
    if (strstr(error.text, part) == NULL)
        weir_test_fail(__FILE__, __LINE__, "\"%s\" is refused without naming \"%s\": %s",
                       text != NULL ? text : "(null)", part, error.text);
    check(strstr(error.text, SECRET) == NULL);
    check(url.path == NULL && url.conninfo == NULL && url.database == NULL);
    gone(&url);
}

static void describes(const char *text, const char *want)
{
    struct weir_url url = parse(text);
    char out[128];

    weir_url_describe(&url, out, sizeof out);
    check_str(out, want);
    gone(&url);
}
