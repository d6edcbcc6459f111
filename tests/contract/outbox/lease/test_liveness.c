/*
 * The lock that a process is known to be alive by: who sees it, and when it is gone.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault_point.h"
#include "contract/outbox/lease/lease_fixture.h"
#include "db/db.h"
#include "kit/server/tcp_proxy.h"
#include "outbox/lease/liveness.h"

/* ---- members that are rows --------------------------------------------------------- */

static void write_member(struct fixture *fixture, int64_t number,
                         enum weir_alive_by alive_by)
{
    (void)lease_fixture_ask(
        fixture,
        "INSERT INTO weir_member (process, subscription, name, until_us,"
        " started_us, alive_by, library)"
        " VALUES (%lld, 3, 'a process', 9000000000000000, 1, %d, '1.2.3')",
        (long long)number, (int)alive_by);
}

struct sighting {
    int64_t number; /* whom to look for */
    int seen;
    bool dead;
    int others;
};

static void note(void *state, const struct weir_peer *peer)
{
    struct sighting *self = state;

    self->others++;
    if (peer->number != self->number)
        return;
    self->seen++;
    self->dead = peer->dead;
    check(weir_str_equal(peer->name, weir_str("a process")));
    check(weir_str_equal(peer->library, weir_str("1.2.3")));
}

static struct sighting look(struct fixture *fixture, struct weir_liveness *liveness,
                            int64_t ours, int64_t theirs)
{
    struct weir_connection *connection = fixture_take(fixture);
    struct sighting sighting = {.number = theirs};

    check_db(
        weir_liveness_poll(liveness, connection, ours, note, &sighting, &fixture->error),
        WEIR_OK);
    fixture_give(fixture, connection);
    return sighting;
}

static struct weir_liveness *hold(struct fixture *fixture, int64_t number)
{
    struct weir_liveness *liveness = NULL;

    check_db(weir_liveness_open(fixture->db, number, &liveness, &fixture->error),
             WEIR_OK);
    return liveness;
}

/* ---- claims ------------------------------------------------------------------------ */

OUTBOX_TEST(liveness, lock_is_seen_by_others_until_it_is_given_up)
{
    int64_t anna = weir_liveness_number();
    int64_t bert = weir_liveness_number();
    struct weir_liveness *annas = hold(fixture, anna);
    struct weir_liveness *berts = hold(fixture, bert);

    write_member(fixture, anna, WEIR_ALIVE_BY_LOCK);
    write_member(fixture, bert, WEIR_ALIVE_BY_LOCK);
    check_int(look(fixture, berts, bert, anna).seen, 1);
    check(!look(fixture, berts, bert, anna).dead);
    check(!look(fixture, annas, anna, bert).dead);

    weir_liveness_close(annas);

    check_int(look(fixture, berts, bert, anna).seen, 1);
    wait_until(look(fixture, berts, bert, anna).dead); /* the server may take a moment */
    weir_liveness_close(berts);
}

/* Whoever is known by its lease has no lock, and cannot be missing it. */
OUTBOX_TEST(liveness, lock_is_not_asked_of_who_is_known_by_its_lease)
{
    int64_t anna = weir_liveness_number();
    struct weir_liveness *liveness = hold(fixture, anna);

    write_member(fixture, 77, WEIR_ALIVE_BY_LEASE);

    check_int(look(fixture, liveness, anna, 77).seen, 1);
    check(!look(fixture, liveness, anna, 77).dead);
    weir_liveness_close(liveness);
}

/* A later library may know more ways. */
OUTBOX_TEST(liveness, lock_is_not_asked_of_who_is_known_in_an_unknown_way)
{
    int64_t anna = weir_liveness_number();
    struct weir_liveness *liveness = hold(fixture, anna);

    write_member(fixture, 77, (enum weir_alive_by)2);

    check(!look(fixture, liveness, anna, 77).dead);
    weir_liveness_close(liveness);
}

OUTBOX_TEST(liveness, without_a_lock_judges_nobody)
{
    write_member(fixture, 77, WEIR_ALIVE_BY_LOCK);

    check_int(look(fixture, NULL, 1, 77).seen, 1);
    check(!look(fixture, NULL, 1, 77).dead);
}

OUTBOX_TEST(liveness, sees_each_process_once_and_not_itself_nor_the_dead)
{
    int64_t anna = weir_liveness_number();
    struct weir_liveness *liveness = hold(fixture, anna);

    write_member(fixture, anna, WEIR_ALIVE_BY_LOCK);
    write_member(fixture, 77, WEIR_ALIVE_BY_LEASE);
    (void)lease_fixture_ask(fixture,
                            "INSERT INTO weir_member (process, subscription, name,"
                            " until_us, started_us, library) VALUES"
                            " (77, 4, 'a process', 9000000000000000, 1, '1.2.3')");
    write_member(fixture, 78, WEIR_ALIVE_BY_LOCK);
    (void)lease_fixture_ask(fixture,
                            "UPDATE weir_member SET until_us = 5 WHERE process = 78");

    check_int(look(fixture, liveness, anna, 77).seen, 1);
    check_int(look(fixture, liveness, anna, 77).others, 1);
    weir_liveness_close(liveness);
}

OUTBOX_TEST(liveness, lock_is_held_by_one_session)
{
    struct weir_liveness *one = hold(fixture, 5);
    struct weir_liveness *two = NULL;

    check(weir_liveness_open(fixture->db, 5, &two, &fixture->error) != WEIR_OK);

    check(two == NULL);
    check(weir_liveness_is_held(one));
    weir_liveness_close(one);
}

/* The largest number there is, and the smallest. */
OUTBOX_TEST(liveness, lock_can_be_had_of_every_number)
{
    static const int64_t NUMBERS[] = {1, INT64_MAX / 2 + 1, INT64_C(1) << 32};

    for (int i = 0; i < 3; i++) {
        int64_t anna = weir_liveness_number();
        struct weir_liveness *annas = hold(fixture, anna);
        struct weir_liveness *theirs = hold(fixture, NUMBERS[i]);

        write_member(fixture, NUMBERS[i], WEIR_ALIVE_BY_LOCK);
        check(!look(fixture, annas, anna, NUMBERS[i]).dead);
        weir_liveness_close(theirs);
        wait_until(look(fixture, annas, anna, NUMBERS[i]).dead);
        weir_liveness_close(annas);
    }
}

OUTBOX_SERVER_TEST(liveness, lock_is_known_to_be_lost_when_the_server_ends_its_session)
{
    struct weir_liveness *liveness = hold(fixture, weir_liveness_number());

    check(weir_liveness_is_held(liveness));
    server_end_sessions(fixture->server, fixture->database);

    wait_until(!weir_liveness_is_held(liveness));
    weir_liveness_close(liveness);
}

OUTBOX_SERVER_TEST(liveness, lock_is_known_to_be_lost_after_a_look_that_failed)
{
    struct weir_liveness *liveness = hold(fixture, weir_liveness_number());
    struct sighting sighting = {.number = 0};

    server_end_sessions(fixture->server, fixture->database);
    wait_until(weir_liveness_poll(liveness, NULL, 1, note, &sighting, &fixture->error) ==
               WEIR_LOST);

    check(!weir_liveness_is_held(liveness));
    weir_liveness_close(liveness);
}

/* ---- a session that was left behind ------------------------------------------------ */

/* A database behind a wire, and a lock that was taken there. */
struct wired {
    struct tcp_proxy *tcp_proxy;
    struct weir_db *db;
    struct weir_liveness *liveness;
};

static struct wired hold_over_a_tcp_proxy(struct fixture *fixture)
{
    struct weir_db_options options = fixture_options(fixture);
    struct wired self = {.tcp_proxy = tcp_proxy_open(server_port(fixture->server))};
    char url[SERVER_URL_SIZE];

    (void)snprintf(url, sizeof url,
                   "%s://" SERVER_USER ":" SERVER_PASSWORD "@127.0.0.1:%d/%s",
                   weir_engine_name(fixture->engine), tcp_proxy_port(self.tcp_proxy),
                   fixture->database);
    options.url = url;
    options.statement_timeout_ns = 0; /* a server that is silent is waited for for ever */
    self.db = fixture_open(fixture, &options);
    check_db(weir_liveness_open(self.db, weir_liveness_number(), &self.liveness,
                                &fixture->error),
             WEIR_OK);
    return self;
}

static void close_wired(struct wired *self)
{
    weir_liveness_close(self->liveness);
    weir_db_destroy(self->db);
    tcp_proxy_close(self->tcp_proxy);
}

/* From another connection each time, unless one is free. */
static void confirm(struct fixture *fixture, struct wired *wired)
{
    struct weir_connection *connection;

    check_db(weir_db_acquire(wired->db, &connection, &fixture->error), WEIR_OK);
    check_db(weir_liveness_confirm(wired->liveness, connection, &fixture->error),
             WEIR_OK);
    weir_db_release(wired->db, connection);
}

/* The session is there, and its server too. But everybody else is with the new one. */
OUTBOX_SERVER_TEST(liveness, lock_is_known_to_be_lost_when_connections_lead_elsewhere)
{
    struct wired wired = hold_over_a_tcp_proxy(fixture);
    struct server *other = server_create(fixture->engine, NULL);

    server_create_database(other, fixture->database);
    tcp_proxy_lead_to(wired.tcp_proxy, server_port(other));
    check(weir_liveness_is_held(wired.liveness));
    confirm(fixture, &wired);

    check(!weir_liveness_is_held(wired.liveness));
    close_wired(&wired);
    server_destroy(other);
}

#if defined(WEIR_POINTS)

OUTBOX_SERVER_TEST(liveness, lock_is_looked_for_once_from_each_connection)
{
    struct wired wired = hold_over_a_tcp_proxy(fixture);
    struct weir_fault_points points;
    struct weir_connection *other;

    weir_fault_points_init(&points);
    weir_fault_points_arm(&points, "see the liveness lock", UINT64_MAX);
    weir_db_set_fault_points(wired.db, &points);
    for (int i = 0; i < 3; i++)
        confirm(fixture, &wired);
    check_int(atomic_load(&points.armed[0].passed), 1);

    check_db(weir_db_acquire(wired.db, &other, &fixture->error), WEIR_OK);
    confirm(fixture, &wired); /* on another one */
    weir_db_release(wired.db, other);

    check_int(atomic_load(&points.armed[0].passed), 2);
    check(weir_liveness_is_held(wired.liveness));
    weir_db_set_fault_points(wired.db, NULL);
    close_wired(&wired);
}

#endif

/* Nobody waits for it any longer than it was told to. */
OUTBOX_SERVER_TEST(liveness, lock_is_known_to_be_lost_when_its_server_is_silent)
{
    struct wired wired = hold_over_a_tcp_proxy(fixture);

    weir_liveness_probe(wired.liveness, WEIR_SECONDS(60));
    check(weir_liveness_is_held(wired.liveness));
    tcp_proxy_set_mode(wired.tcp_proxy, TCP_PROXY_SWALLOWS);
    weir_liveness_probe(wired.liveness, WEIR_MILLISECONDS(50));

    check(!weir_liveness_is_held(wired.liveness));
    close_wired(&wired);
}

static void set_read_only(struct fixture *fixture)
{
    if (fixture->engine == WEIR_MARIADB) {
        server_execute(fixture->server, NULL, "SET GLOBAL read_only = 1");
        return;
    }
    server_execute(fixture->server, NULL,
                   "ALTER SYSTEM SET default_transaction_read_only = on");
    server_execute(fixture->server, NULL, "SELECT pg_reload_conf()");
}

static bool is_doubted(struct weir_liveness *liveness)
{
    weir_liveness_probe(liveness, WEIR_SECONDS(60));
    return !weir_liveness_is_held(liveness);
}

static void doubt_what_is_read_only(struct fixture *fixture)
{
    struct weir_liveness *liveness = hold(fixture, weir_liveness_number());

    check(!is_doubted(liveness));
    set_read_only(fixture);

    wait_until(is_doubted(liveness)); /* the server may take a moment */
    weir_liveness_close(liveness);
}

WEIR_TEST(liveness, lock_on_a_server_that_takes_no_writes_is_doubted_on_postgresql)
{
    outbox_fixture_run_own(WEIR_POSTGRESQL, NULL, doubt_what_is_read_only);
}

WEIR_TEST(liveness, lock_on_a_server_that_takes_no_writes_is_doubted_on_mariadb)
{
    outbox_fixture_run_own(WEIR_MARIADB, NULL, doubt_what_is_read_only);
}

/* ---- whose lock it is -------------------------------------------------------------- */

/* Two databases of one server, and two prefixes, are apart by their numbers. */
OUTBOX_POSTGRESQL_TEST(liveness, lock_is_none_of_the_application_s)
{
    struct weir_connection *connection = fixture_take(fixture);
    int64_t anna = weir_liveness_number();
    struct weir_liveness *liveness = hold(fixture, anna);

    write_member(fixture, 77, WEIR_ALIVE_BY_LOCK);
    fixture_execute(fixture, connection, "SELECT pg_advisory_lock(0, 77)");

    check(look(fixture, liveness, anna, 77).dead);

    fixture_execute(fixture, connection, "SELECT pg_advisory_unlock(0, 77)");
    weir_liveness_close(liveness);
    fixture_give(fixture, connection);
}

/* ---- the file of SQLite ------------------------------------------------------------ */

static const char *file_of(struct fixture *fixture)
{
    static char path[SERVER_PATH_SIZE + 8];

    (void)snprintf(path, sizeof path, "%s-weir", fixture->database);
    return path;
}

OUTBOX_SQLITE_TEST(liveness, lock_is_known_to_be_lost_when_its_file_was_removed)
{
    struct weir_liveness *one = hold(fixture, 5);
    struct weir_liveness *two;

    check(weir_liveness_is_held(one));
    check_int(unlink(file_of(fixture)), 0);
    check(!weir_liveness_is_held(one));

    two = hold(fixture, 6); /* makes another file */
    check(!weir_liveness_is_held(one));
    check(weir_liveness_is_held(two));
    weir_liveness_close(one);
    weir_liveness_close(two);
}

OUTBOX_SQLITE_TEST(liveness, file_may_be_used_by_who_may_use_the_database)
{
    struct stat file;

    check_int(chmod(fixture->database, 0660), 0);

    weir_liveness_close(hold(fixture, 5));

    check_int(stat(file_of(fixture), &file), 0);
    check_int(file.st_mode & 0777, 0660);
    check_int(file.st_size, 0);
}

/* Locks of a process would be dropped when any descriptor of the file is closed. */
OUTBOX_SQLITE_TEST(liveness, lock_outlives_other_descriptors_of_its_file)
{
    int64_t anna = weir_liveness_number();
    struct weir_liveness *annas = hold(fixture, anna);
    struct weir_liveness *berts = hold(fixture, 5);
    int file = open(file_of(fixture), O_RDWR | O_CLOEXEC);

    write_member(fixture, 5, WEIR_ALIVE_BY_LOCK);
    check(file >= 0);
    check_int(close(file), 0);

    check(!look(fixture, annas, anna, 5).dead);
    weir_liveness_close(annas);
    weir_liveness_close(berts);
}

OUTBOX_SQLITE_TEST(liveness, lock_is_seen_through_a_symbolic_link)
{
    struct weir_db_options options = fixture_options(fixture);
    int64_t anna = weir_liveness_number();
    struct weir_liveness *annas = NULL;
    struct weir_liveness *berts = hold(fixture, 5);
    char link[SERVER_PATH_SIZE + 8];
    char url[SERVER_URL_SIZE + 16];
    struct weir_db *db;

    write_member(fixture, 5, WEIR_ALIVE_BY_LOCK);
    (void)snprintf(link, sizeof link, "%s.link", fixture->database);
    (void)snprintf(url, sizeof url, "sqlite:%s", link);
    check_int(symlink(fixture->database, link), 0);
    options.url = url;
    db = fixture_open(fixture, &options);
    check_db(weir_liveness_open(db, anna, &annas, &fixture->error), WEIR_OK);

    check(!look(fixture, annas, anna, 5).dead);

    weir_liveness_close(annas);
    weir_liveness_close(berts);
    weir_db_destroy(db);
    check_int(unlink(link), 0);
}

OUTBOX_SQLITE_TEST(liveness, lock_whose_file_cannot_be_made_says_so)
{
    struct weir_liveness *liveness = NULL;

    check_int(mkdir(file_of(fixture), 0700), 0);

    check_db(weir_liveness_open(fixture->db, 5, &liveness, &fixture->error), WEIR_SYSTEM);

    check(strstr(fixture->error.text, "-weir") != NULL);
    check(liveness == NULL);
    check_int(rmdir(file_of(fixture)), 0);
}

/* ---- where there is none ----------------------------------------------------------- */

static bool is_possible(const char *url)
{
    struct weir_db_options options;
    struct weir_error error;
    struct weir_db *db = NULL;
    bool possible;

    weir_db_options_init(&options);
    options.url = url;
    check_status(weir_db_create(&options, &db, &error), WEIR_OK);
    possible = weir_liveness_is_possible(db);
    weir_db_destroy(db);
    return possible;
}

WEIR_TEST(liveness, lock_needs_a_session_or_a_file)
{
    check(is_possible("postgresql://localhost/shop"));
    check(is_possible("mariadb://localhost/shop"));
    check(is_possible("sqlite:shop.db"));
    check(!is_possible("sqlite::memory:"));
    check(!is_possible("postgresql://localhost/shop?pooler=transaction"));
}
