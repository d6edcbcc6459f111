/*
 * link.h - one connection to MariaDB: how it is made, its errors, its transaction.
 *
 * What all operations of the driver stand on. Each of them goes the same way:
 *
 *   enter()    refuses when the transaction is gone; forgets earlier calls of cancel()
 *   fault()    a failure that a test ordered
 *   a call of the client library
 *   fail()     makes the error, marks a lost link, finds out what became of the
 *              transaction
 *
 * The server rolls a transaction back by itself when it is the victim of a deadlock.
 * The next statement would then commit on its own. So a transaction that begin() began
 * and the server ended is *failed*, as on PostgreSQL: everything but commit and
 * rollback is refused, with the status that broke it.
 *
 *           begin            commit, rollback
 *   none -----------> open --------------------> none
 *                      |                          ^
 *                      | ended by the server      |
 *                      +-----------> failed ------+
 *
 * On an adopted connection there is no begin(): it is open or it is none, as the server
 * says.
 *
 * Threads  One flow of control, except cancel(). It may move from thread to thread; the
 *          client library keeps nothing per thread.
 */
#ifndef WEIR_DB_MARIADB_LINK_H
#define WEIR_DB_MARIADB_LINK_H

#include <mysql.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db/driver.h"

/*
 * With innodb_snapshot_isolation, the default from MariaDB 11.6 on, a transaction that
 * has a read view may not lock a row that was committed after it: error 1020.
 * Statements of the library decide by what was committed last, so the setting is off
 * for them: for the whole session on connections of the library's own, for one
 * statement (SET STATEMENT) on the application's. The comment is executed by servers
 * that have the setting.
 */
#define WEIR_MARIA_SNAPSHOT_ISOLATION_OFF(before, after)                                 \
    "/*M!101108 " before "innodb_snapshot_isolation = 0" after " */"

/* A name of 128 characters at most, each of which may be doubled. */
enum { WEIR_MARIA_ROLE_SIZE = 400, WEIR_MARIA_SETTINGS_SIZE = 1024 };

struct weir_maria_link {
    struct weir_link link;  /* first */
    MYSQL *mysql;           /* owned, or the application's */
    unsigned long id;       /* of the connection, for KILL; never changes */
    size_t packet_size_max; /* the server's max_allowed_packet; 0: not asked yet */
    bool begun;             /* by begin(), and neither committed nor rolled back */
    bool guarded;           /* begun to be lent */
    char role[WEIR_MARIA_ROLE_SIZE]; /* of a new session, quoted, or NONE */
    bool unbounded; /* the session may be idle in a transaction as the server has it */
    enum weir_status broken; /* why the server ended it, while failed; else WEIR_OK */

    /*
     * Calls of cancel(), for ever. Which statement a KILL hits is known only
     * afterwards: a call that has begun before a statement and ends during it may be
     * the one. So a statement remembers how many had ended when it began.
     */
    _Atomic uint32_t cancels_begun;
    _Atomic uint32_t cancels_ended;
    uint32_t cancels_before; /* ended before the current operation began */
};

struct weir_maria_link *weir_maria_link(struct weir_link *link);

/* ---- life: slots of struct weir_driver ---- */

WEIR_CHECKED enum weir_status weir_maria_open(const struct weir_link_config *config,
                                              struct weir_link **out,
                                              struct weir_error *error);
WEIR_CHECKED enum weir_status weir_maria_adopt(const struct weir_link_config *config,
                                               void *native, struct weir_link **out,
                                               struct weir_error *error);
void weir_maria_close(struct weir_link *link);

/* Give the session its settings; and those of them that hold in every transaction, as
 * SET SESSION takes them. */
WEIR_CHECKED enum weir_status weir_maria_set_session(struct weir_maria_link *self,
                                                     struct weir_error *error);
void weir_maria_print_settings(const struct weir_maria_link *self,
                               char out[WEIR_MARIA_SETTINGS_SIZE]);

/*
 * A connection as the server gives it, without our settings. An answer is waited for for
 * `reply_timeout_s`, 0: without end. *out is NULL on failure, else owes a mysql_close().
 */
WEIR_CHECKED enum weir_status weir_maria_connect(const struct weir_link_config *config,
                                                 unsigned reply_timeout_s, MYSQL **out,
                                                 struct weir_error *error);

/* ---- steps ---- */

/* The beginning of an operation. Refuses in a failed transaction; an earlier cancel()
 * does not count any more. */
WEIR_CHECKED enum weir_status weir_maria_enter(struct weir_maria_link *self,
                                               struct weir_error *error);

/* Did a cancel() reach, or may it still reach, the current operation? */
bool weir_maria_was_cancelled(struct weir_maria_link *self);

/* A failure that a test ordered, in front of a call that talks to the server; WEIR_OK:
 * none. */
WEIR_CHECKED enum weir_status weir_maria_fault(struct weir_maria_link *self,
                                               const char *what,
                                               struct weir_error *error);

/* Make the error of the call that just failed, on the connection or on a statement of it;
 * returns its status. `what` may be NULL. */
enum weir_status weir_maria_fail(struct weir_maria_link *self, const char *what,
                                 struct weir_error *error);
enum weir_status weir_maria_fail_statement(struct weir_maria_link *self, const char *what,
                                           MYSQL_STMT *stmt, struct weir_error *error);

/* Is an idle link still there? Without a round trip; one that is not is lost. A slot. */
bool weir_maria_is_alive(struct weir_link *link);

/* From now on there is no connection. A server that is still there learns of it at
 * once, and rolls back. */
void weir_maria_lose(struct weir_maria_link *self);

/* Run a text and drop its rows, if any. */
WEIR_CHECKED enum weir_status weir_maria_run_text(struct weir_maria_link *self,
                                                  const char *text,
                                                  struct weir_error *error);

/* Run a query and fetch all its rows, as texts. *out owes a mysql_free_result(); NULL on
 * failure. */
WEIR_CHECKED enum weir_status weir_maria_query(struct weir_maria_link *self,
                                               const char *text, MYSQL_RES **out,
                                               struct weir_error *error);

/* The one integer that a query gives. */
WEIR_CHECKED enum weir_status weir_maria_ask(struct weir_maria_link *self,
                                             const char *text, int64_t *out,
                                             struct weir_error *error);

/* The same, if it comes within this time; if not, the connection is given up. */
WEIR_CHECKED enum weir_status weir_maria_ask_within(struct weir_maria_link *self,
                                                    const char *text,
                                                    int64_t wait_limit_ns, int64_t *out,
                                                    struct weir_error *error);

/* ---- the transaction: slots of struct weir_driver ---- */

WEIR_CHECKED enum weir_status weir_maria_begin(struct weir_link *link,
                                               enum weir_access access,
                                               struct weir_error *error);
WEIR_CHECKED enum weir_status weir_maria_commit(struct weir_link *link,
                                                struct weir_error *error);
void weir_maria_rollback(struct weir_link *link);
WEIR_CHECKED enum weir_status weir_maria_examine(struct weir_link *link,
                                                 struct weir_error *error);
enum weir_transaction_state weir_maria_transaction(struct weir_link *link);

#endif
