/*
 * link.c - see mariadb/link.h.
 *
 *   I1  `broken` is set only while `begun` is
 *   I2  a lost link of ours has no socket that the server could still wait on
 *
 * The client library keeps the server's status flags of the last answer, among them
 * whether a transaction is open. An error packet has no flags, though: after a deadlock
 * the library still believes in the transaction that the server has just rolled back.
 * So after an error inside a transaction one cheap statement is sent, whose answer has
 * them. That is a round trip more for each error, and no guessing which errors end a
 * transaction under which settings (innodb_rollback_on_timeout,
 * innodb_snapshot_isolation, Galera, DDL).
 */
#include "db/mariadb/link.h"

#include <errno.h>
#include <limits.h>
#include <mysqld_error.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/assert.h"
#include "base/count.h"
#include "base/fault_point.h"
#include "base/heap.h"
#include "base/no_memory.h"
#include "base/text.h"
#include "db/mariadb/error.h"
#include "db/mariadb/session.h"
#include "db/mariadb/tls.h"

enum {
    /* A server is given this much longer than the statement's own timeout to say that
     * it has run out; after that it is frozen, or something on the way swallows
     * everything. */
    REPLY_GRACE_S = 15,
    WRITE_TIMEOUT_S = 15,

    /* A host that vanished is noticed after 4 + 3 * 3 s, also while a statement without a
     * timeout is waited for. */
    KEEPALIVE_IDLE_S = 4,
    KEEPALIVE_INTERVAL_S = 3,
    KEEPALIVE_COUNT = 3,
    UNACKNOWLEDGED_MS_MAX = 12000,

    /* The longest waits that the server accepts: "none". */
    ROW_LOCK_TIMEOUT_S_MAX = 100000000,
    TABLE_LOCK_TIMEOUT_S_MAX = 31536000,
    IDLE_TIMEOUT_S_MAX = 31536000,

    NANOSECONDS = 1000000000,
};

static const char CHARACTER_SET[] = "utf8mb4";

/* Has an answer with flags and does nothing else; needs no privilege and opens no
 * snapshot. */
static const char SQL_STATUS[] = "DO 0";

/* The variable for it changed its name in 11.1, this statement did not. */
static const char SQL_ISOLATION[] =
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE";

/* Of the next transaction: one that only reads sees one state of the database. */
static const char SQL_SNAPSHOT[] = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ";

/*
 * Modes that make an error out of a silent change of data, and none that changes the
 * language: the same statements run on adopted connections, which have the
 * application's modes.
 */
#define SQL_MODE                                                                         \
    "STRICT_ALL_TABLES,STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ZERO_DATE,"     \
    "NO_ZERO_IN_DATE,NO_ENGINE_SUBSTITUTION"

/*
 * How long a session may be idle inside a transaction, in seconds; 0 is without end. Of
 * the three the one for transactions that have written, or have not, goes first where
 * an administrator has set it.
 */
#define IDLE_LIMITS(limit)                                                               \
    "idle_transaction_timeout = " limit ", idle_write_transaction_timeout = " limit      \
    ", idle_readonly_transaction_timeout = " limit
enum { IDLE_S_MAX = WEIR_IDLE_MS_MAX / 1000 };

static void keep_watch(MYSQL *mysql);
static void look_at_transaction(struct weir_maria_link *self, struct weir_error *error);

struct weir_maria_link *weir_maria_link(struct weir_link *link)
{
    WEIR_ASSERT(link->driver == &weir_driver_mariadb);
    return (struct weir_maria_link *)link;
}

/* ---- life -------------------------------------------------------------------------- */

/* Whole seconds, rounded up, since that is what options and settings take. */
static int64_t seconds(int64_t duration_ns)
{
    return duration_ns / NANOSECONDS + (duration_ns % NANOSECONDS > 0 ? 1 : 0);
}

static struct weir_maria_link *create(const struct weir_link_config *config)
{
    struct weir_maria_link *self = weir_heap_zalloc(config->heap, sizeof *self);

    if (self == NULL)
        return NULL;
    self->link.driver = &weir_driver_mariadb;
    self->link.config = config;
    return self;
}

enum weir_status weir_maria_open(const struct weir_link_config *config,
                                 struct weir_link **out, struct weir_error *error)
{
    struct weir_maria_link *self = create(config);
    int64_t timeout_s = seconds(config->statement_timeout_ns);
    enum weir_status status;

    *out = NULL;
    if (self == NULL)
        return weir_no_memory(error, NULL);

    status = weir_maria_fault(self, NULL, error);
    if (status == WEIR_OK)
        status = weir_maria_connect(
            config, timeout_s > 0 ? (unsigned)timeout_s + REPLY_GRACE_S : 0, &self->mysql,
            error);
    if (status == WEIR_OK) {
        self->id = mysql_thread_id(self->mysql);
        keep_watch(self->mysql);
        status = weir_maria_version_check(mysql_get_server_info(self->mysql), error);
    }
    if (status == WEIR_OK)
        status = weir_maria_set_session(self, error);
    if (status == WEIR_OK)
        status = weir_maria_session_know(self, error);
    if (status != WEIR_OK) {
        weir_maria_close(&self->link);
        return status;
    }
    *out = &self->link;
    return WEIR_OK;
}

/* The handle is looked at and not used: nothing is sent. */
static enum weir_status check_adoptable(MYSQL *mysql, struct weir_error *error)
{
    if (mysql == NULL || mysql_get_socket(mysql) == MARIADB_INVALID_SOCKET)
        return weir_error_set(error, WEIR_INVALID, "the handle is not connected");
    if (mysql->status != MYSQL_STATUS_READY || mysql_more_results(mysql))
        return weir_error_set(error, WEIR_INVALID,
                              "the handle is busy: a result was not read to its end");
    if (strcmp(mysql_character_set_name(mysql), CHARACTER_SET) != 0)
        return weir_error_set(error, WEIR_INVALID,
                              "the connection's character set is \"%s\", must be %s",
                              mysql_character_set_name(mysql), CHARACTER_SET);
    return weir_maria_version_check(mysql_get_server_info(mysql), error);
}

enum weir_status weir_maria_adopt(const struct weir_link_config *config, void *native,
                                  struct weir_link **out, struct weir_error *error)
{
    struct weir_maria_link *self;
    enum weir_status status = check_adoptable(native, error);

    *out = NULL;
    if (status != WEIR_OK)
        return status;
    self = create(config);
    if (self == NULL)
        return weir_no_memory(error, NULL);
    self->link.adopted = true;
    self->mysql = native;
    *out = &self->link;
    return WEIR_OK;
}

void weir_maria_close(struct weir_link *link)
{
    struct weir_maria_link *self = weir_maria_link(link);

    if (!link->adopted)
        mysql_close(self->mysql);
    weir_heap_free(link->config->heap, self);
}

/* ---- connecting -------------------------------------------------------------------- */

static void set_options(MYSQL *mysql, const struct weir_link_config *config,
                        unsigned reply_timeout_s)
{
    const unsigned connect_timeout_s = (unsigned)seconds(config->connect_timeout_ns);
    const unsigned write_timeout_s = WRITE_TIMEOUT_S;
    const unsigned tcp = MYSQL_PROTOCOL_TCP;
    const unsigned off = 0;
    const my_bool no = 0;
    const my_bool yes = 1;

    mysql_options(mysql, MYSQL_OPT_CONNECT_TIMEOUT, &connect_timeout_s);
    mysql_options(mysql, MYSQL_OPT_READ_TIMEOUT, &reply_timeout_s);
    mysql_options(mysql, MYSQL_OPT_WRITE_TIMEOUT, &write_timeout_s);
    mysql_options(mysql, MYSQL_OPT_RECONNECT, &no);
    mysql_options(mysql, MYSQL_OPT_LOCAL_INFILE,
                  &off); /* the server could ask for files */
    mysql_options(mysql, MYSQL_REPORT_DATA_TRUNCATION, &yes);
    mysql_options(mysql, MYSQL_SET_CHARSET_NAME, CHARACTER_SET);

    /* The library takes "localhost" for the default socket and forgets the port. A port
     * that is named is meant. */
    if (config->url.port != 0 && config->url.socket == NULL)
        mysql_options(mysql, MYSQL_OPT_PROTOCOL, &tcp);
}

/* Fill in an error from what the library says. */
static enum weir_status report(struct weir_error *error, const char *what, unsigned code,
                               const char *sqlstate, const char *text)
{
    enum weir_status status = weir_maria_status(code, sqlstate);

    (void)weir_error_set(error, status, "%s%s%s", what != NULL ? what : "",
                         what != NULL ? ": " : "", text);
    error->native_code = (int32_t)code;
    (void)weir_text_format(error->sqlstate, sizeof error->sqlstate, "%.5s", sqlstate);
    return status;
}

enum weir_status weir_maria_connect(const struct weir_link_config *config,
                                    unsigned reply_timeout_s, MYSQL **out,
                                    struct weir_error *error)
{
    const struct weir_url *url = &config->url;
    MYSQL *mysql = mysql_init(NULL);
    enum weir_status status = WEIR_OK;

    *out = NULL;
    if (mysql == NULL)
        return weir_no_memory(error, NULL);

    set_options(mysql, config, reply_timeout_s);
    weir_maria_tls_prepare(mysql, url);
    /* Rows matched count as changed, as on the other engines: a conditional UPDATE that
     * finds its row must see 1, also when it writes what is there already. */
    if (mysql_real_connect(mysql, url->socket != NULL ? NULL : url->host, url->user,
                           url->password, url->database, url->port, url->socket,
                           CLIENT_FOUND_ROWS) == NULL) {
        status = report(error, NULL, mysql_errno(mysql), mysql_sqlstate(mysql),
                        mysql_error(mysql));
        weir_maria_tls_explain(url, error);
        mysql_close(mysql);
        return status;
    }
    status = weir_maria_tls_check(mysql, url, error);
    if (status != WEIR_OK) {
        mysql_close(mysql);
        return status;
    }
    *out = mysql;
    return WEIR_OK;
}

/* Best effort: a socket in the file system has none of these and needs none. */
static void keep_watch(MYSQL *mysql)
{
    static const struct {
        int level;
        int name;
        int value;
    } SETTINGS[] = {
        {SOL_SOCKET, SO_KEEPALIVE, 1},
        {IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S},
        {IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S},
        {IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_COUNT},
        {IPPROTO_TCP, TCP_USER_TIMEOUT, UNACKNOWLEDGED_MS_MAX},
    };

    for (size_t i = 0; i < COUNT_OF(SETTINGS); i++)
        (void)setsockopt(mysql_get_socket(mysql), SETTINGS[i].level, SETTINGS[i].name,
                         &SETTINGS[i].value, sizeof SETTINGS[i].value);
}

void weir_maria_print_settings(const struct weir_maria_link *self,
                               char out[WEIR_MARIA_SETTINGS_SIZE])
{
    const struct weir_link_config *config = self->link.config;
    int64_t lock_s = seconds(config->lock_timeout_ns);

    (void)weir_text_format(
        out, WEIR_MARIA_SETTINGS_SIZE,
        "time_zone = _utf8mb4'+00:00', sql_mode = _utf8mb4'" SQL_MODE "', "
        "foreign_key_checks = 1, unique_checks = 1, check_constraint_checks = 1, "
        "sql_safe_updates = 0, sql_big_selects = 1, "
        "max_join_size = DEFAULT, completion_type = 0, timestamp = DEFAULT, "
        "group_concat_max_len = DEFAULT, auto_increment_increment = DEFAULT, "
        "auto_increment_offset = DEFAULT, max_session_mem_used = DEFAULT, "
        "innodb_lock_wait_timeout = %lld, lock_wait_timeout = %lld, "
        "max_statement_time = %lld.%06lld " WEIR_MARIA_SNAPSHOT_ISOLATION_OFF(", ", ""),
        (long long)(lock_s > 0 ? lock_s : ROW_LOCK_TIMEOUT_S_MAX),
        (long long)(lock_s > 0 ? lock_s : TABLE_LOCK_TIMEOUT_S_MAX),
        (long long)(config->statement_timeout_ns / NANOSECONDS),
        (long long)(config->statement_timeout_ns % NANOSECONDS / 1000));
}

enum weir_status weir_maria_set_session(struct weir_maria_link *self,
                                        struct weir_error *error)
{
    char settings[WEIR_MARIA_SETTINGS_SIZE];
    char text[WEIR_MARIA_SETTINGS_SIZE + 256];
    enum weir_status status;

    weir_maria_print_settings(self, settings);
    (void)weir_text_format(text, sizeof text,
                           "SET SESSION autocommit = 1, " IDLE_LIMITS("%d") ", %s",
                           IDLE_S_MAX, IDLE_S_MAX, IDLE_S_MAX, settings);
    status = weir_maria_run_text(self, text, error);
    if (status == WEIR_OK)
        status = weir_maria_run_text(self, SQL_ISOLATION, error);
    if (status != WEIR_OK)
        weir_error_prefix(error, "set the session up");
    return status;
}

/* ---- steps ------------------------------------------------------------------------- */

enum weir_status weir_maria_enter(struct weir_maria_link *self, struct weir_error *error)
{
    atomic_store(&self->link.cancelled, false);
    self->cancels_before = atomic_load(&self->cancels_ended);
    if (self->broken == WEIR_OK)
        return WEIR_OK;
    return weir_error_set(error, self->broken,
                          "the server has ended the transaction before: %s",
                          weir_status_text(self->broken));
}

bool weir_maria_was_cancelled(struct weir_maria_link *self)
{
    return atomic_load(&self->cancels_begun) != self->cancels_before;
}

enum weir_status weir_maria_fault(struct weir_maria_link *self, const char *what,
                                  struct weir_error *error)
{
    const char *colon = what != NULL ? ": " : "";

    if (what == NULL)
        what = "";
    switch (weir_driver_fault(&self->link)) {
    case WEIR_FAULT_LOSE:
        weir_maria_lose(self);
        return weir_error_set(error, WEIR_LOST, "%s%slost by a test", what, colon);
    case WEIR_FAULT_FAIL:
        return weir_error_set(error, WEIR_FAILED, "%s%sfailed by a test", what, colon);
    case WEIR_NO_FAULT:
        break;
    }
    return WEIR_OK;
}

/* A server speaks only when asked: what can be read from an idle link is its farewell. */
bool weir_maria_is_alive(struct weir_link *link)
{
    struct weir_maria_link *self = weir_maria_link(link);
    struct pollfd fd = {.fd = mysql_get_socket(self->mysql), .events = POLLIN};

    if (!link->lost && poll(&fd, 1, 0) > 0)
        weir_maria_lose(self);
    return !link->lost;
}

void weir_maria_lose(struct weir_maria_link *self)
{
    self->link.lost = true;
    if (!self->link.adopted && self->mysql != NULL)
        (void)shutdown(mysql_get_socket(self->mysql), SHUT_RDWR);
}

static enum weir_status fail(struct weir_maria_link *self, const char *what,
                             unsigned code, const char *sqlstate, const char *text,
                             struct weir_error *error)
{
    (void)report(error, what, code, sqlstate, text);
    /* A KILL is 1317 as a rule. One that comes while tables are being opened or
     * discovered surfaces as their failure, a code that means nothing else to us. */
    if (error->status == WEIR_FAILED && weir_maria_was_cancelled(self))
        error->status = WEIR_CANCELLED;
    if (weir_maria_code_ends_connection(code, sqlstate))
        weir_maria_lose(self);
    else if (!weir_maria_code_is_clients(code))
        look_at_transaction(self, error);
    return error->status;
}

enum weir_status weir_maria_fail(struct weir_maria_link *self, const char *what,
                                 struct weir_error *error)
{
    return fail(self, what, mysql_errno(self->mysql), mysql_sqlstate(self->mysql),
                mysql_error(self->mysql), error);
}

enum weir_status weir_maria_fail_statement(struct weir_maria_link *self, const char *what,
                                           MYSQL_STMT *stmt, struct weir_error *error)
{
    return fail(self, what, mysql_stmt_errno(stmt), mysql_stmt_sqlstate(stmt),
                mysql_stmt_error(stmt), error);
}

/* After an error inside a transaction: is there still one? */
static void look_at_transaction(struct weir_maria_link *self, struct weir_error *error)
{
    struct weir_error ignored;

    if ((self->mysql->server_status & SERVER_STATUS_IN_TRANS) == 0)
        return;
    if (weir_maria_fault(self, NULL, &ignored) != WEIR_OK ||
        mysql_real_query(self->mysql, SQL_STATUS, strlen(SQL_STATUS)) != 0) {
        weir_maria_lose(self);
        error->status = WEIR_LOST;
        return;
    }
    if (self->begun && (self->mysql->server_status & SERVER_STATUS_IN_TRANS) == 0)
        self->broken = error->status;
}

static enum weir_status send_text(struct weir_maria_link *self, const char *text,
                                  struct weir_error *error)
{
    enum weir_status status = weir_maria_fault(self, NULL, error);

    if (status == WEIR_OK && mysql_real_query(self->mysql, text, strlen(text)) != 0)
        status = weir_maria_fail(self, NULL, error);
    return status;
}

enum weir_status weir_maria_run_text(struct weir_maria_link *self, const char *text,
                                     struct weir_error *error)
{
    enum weir_status status = send_text(self, text, error);
    int more;

    if (status != WEIR_OK)
        return status;
    do {
        MYSQL_RES *result = mysql_store_result(self->mysql);

        if (result == NULL && mysql_field_count(self->mysql) > 0)
            return weir_maria_fail(self, NULL, error);
        mysql_free_result(result);
        more = mysql_next_result(self->mysql);
    } while (more == 0);
    return more < 0 ? WEIR_OK : weir_maria_fail(self, NULL, error);
}

enum weir_status weir_maria_query(struct weir_maria_link *self, const char *text,
                                  MYSQL_RES **out, struct weir_error *error)
{
    enum weir_status status = send_text(self, text, error);

    *out = NULL;
    if (status != WEIR_OK)
        return status;
    *out = mysql_store_result(self->mysql);
    return *out != NULL ? WEIR_OK : weir_maria_fail(self, NULL, error);
}

/* The first value of an answer, which is taken. */
static enum weir_status take_integer(MYSQL_RES *result, const char *text, int64_t *out,
                                     struct weir_error *error)
{
    MYSQL_ROW row = mysql_fetch_row(result);
    enum weir_status status = WEIR_OK;

    if (row != NULL && row[0] != NULL)
        *out = strtoll(row[0], NULL, 10);
    else
        status = weir_error_set(error, WEIR_SCHEMA, "no answer to \"%s\"", text);
    mysql_free_result(result);
    return status;
}

enum weir_status weir_maria_ask(struct weir_maria_link *self, const char *text,
                                int64_t *out, struct weir_error *error)
{
    MYSQL_RES *result;
    enum weir_status status = weir_maria_query(self, text, &result, error);

    return status == WEIR_OK ? take_integer(result, text, out, error) : status;
}

/* Nothing was left to be read before the question, so the first byte is the answer's. */
static bool is_answered(struct weir_maria_link *self, int64_t wait_limit_ns)
{
    struct pollfd fd = {.fd = mysql_get_socket(self->mysql), .events = POLLIN};
    int64_t wait_limit_ms = wait_limit_ns / 1000000 + 1;
    int count;

    do {
        count = poll(&fd, 1, wait_limit_ms < INT_MAX ? (int)wait_limit_ms : INT_MAX);
    } while (count < 0 && errno == EINTR);
    return count > 0;
}

/* The library has one patience for all statements of a connection. So question and answer
 * are apart here, and in between we wait ourselves. */
enum weir_status weir_maria_ask_within(struct weir_maria_link *self, const char *text,
                                       int64_t wait_limit_ns, int64_t *out,
                                       struct weir_error *error)
{
    MYSQL_RES *result = NULL;
    enum weir_status status = weir_maria_fault(self, NULL, error);

    if (status != WEIR_OK)
        return status;
    if (mysql_send_query(self->mysql, text, strlen(text)) != 0)
        return weir_maria_fail(self, NULL, error);
    if (!is_answered(self, wait_limit_ns)) {
        weir_maria_lose(self);
        return weir_error_set(error, WEIR_LOST, "the server was silent for %lld ms",
                              (long long)(wait_limit_ns / 1000000));
    }
    if (mysql_read_query_result(self->mysql) == 0)
        result = mysql_store_result(self->mysql);
    if (result == NULL)
        return weir_maria_fail(self, NULL, error);
    return take_integer(result, text, out, error);
}

/* ---- the transaction --------------------------------------------------------------- */

/*
 * The limit of the session is ours, and an application gets what the server has set. It
 * stays so until the library begins one of its own: a connection that only uses the
 * application's pays for it once.
 */
static enum weir_status set_idle_limit(struct weir_maria_link *self, bool unbounded,
                                       struct weir_error *error)
{
    char text[192];
    enum weir_status status;

    if (self->unbounded == unbounded)
        return WEIR_OK;
    if (unbounded)
        (void)weir_text_format(text, sizeof text, "SET SESSION " IDLE_LIMITS("DEFAULT"));
    else
        (void)weir_text_format(text, sizeof text, "SET SESSION " IDLE_LIMITS("%d"),
                               IDLE_S_MAX, IDLE_S_MAX, IDLE_S_MAX);
    status = weir_maria_run_text(self, text, error);
    if (status == WEIR_OK)
        self->unbounded = unbounded;
    return status;
}

/*
 * When the server gives a transaction up, to end a deadlock, and the holder of the
 * connection goes on all the same, each statement would be committed by itself. Without
 * autocommit all of them are rolled back in the end. (Switching it on again commits:
 * only when there is nothing any more.)
 */
static enum weir_status set_guard(struct weir_maria_link *self, struct weir_error *error)
{
    int64_t idle_s = seconds(self->link.lent_idle_us * 1000);
    long long limit =
        idle_s < IDLE_TIMEOUT_S_MAX ? (long long)idle_s : IDLE_TIMEOUT_S_MAX;
    char text[224];

    (void)weir_text_format(text, sizeof text,
                           "SET SESSION autocommit = 0, " IDLE_LIMITS("%lld"), limit,
                           limit, limit);
    self->guarded = true;
    return weir_maria_run_text(self, text, error);
}

static void lift_guard(struct weir_maria_link *self)
{
    struct weir_error ignored;
    char text[224];

    if (!self->guarded || self->link.lost)
        return;
    self->guarded = false;
    self->unbounded = false;
    (void)weir_text_format(text, sizeof text,
                           "SET SESSION autocommit = 1, " IDLE_LIMITS("%d"), IDLE_S_MAX,
                           IDLE_S_MAX, IDLE_S_MAX);
    if (weir_maria_run_text(self, text, &ignored) != WEIR_OK)
        weir_maria_lose(self);
}

enum weir_status weir_maria_begin(struct weir_link *link, enum weir_access access,
                                  struct weir_error *error)
{
    struct weir_maria_link *self = weir_maria_link(link);
    enum weir_status status;

    /* START TRANSACTION would commit the one that is open. */
    if (weir_maria_transaction(link) != WEIR_TRANSACTION_NONE)
        return weir_error_set(error, WEIR_INVALID, "a transaction is open already");
    status = weir_maria_enter(self, error);
    if (status == WEIR_OK && link->holder == WEIR_HELD_BY_HANDLER)
        status = set_guard(self, error);
    else if (status == WEIR_OK)
        status = set_idle_limit(self, link->holder == WEIR_HELD_BY_APPLICATION, error);
    if (status == WEIR_OK && access == WEIR_READ_ONLY)
        status = weir_maria_run_text(self, SQL_SNAPSHOT, error);
    if (status == WEIR_OK)
        status =
            weir_maria_run_text(self,
                                access == WEIR_READ_ONLY ? "START TRANSACTION READ ONLY"
                                                         : "START TRANSACTION READ WRITE",
                                error);
    self->begun = status == WEIR_OK;
    if (status != WEIR_OK)
        lift_guard(self);
    return status;
}

enum weir_status weir_maria_commit(struct weir_link *link, struct weir_error *error)
{
    struct weir_maria_link *self = weir_maria_link(link);
    enum weir_status status = weir_maria_enter(self, error);

    /* Whose session has been ended has sent no commit. */
    if (status == WEIR_OK && !weir_maria_is_alive(link))
        return weir_error_set(error, WEIR_LOST, "the server has ended the session");
    if (status == WEIR_OK)
        status = weir_maria_run_text(self, "COMMIT", error);
    if (status == WEIR_OK && WEIR_POINT(link->config->points, "db.lose_after_commit")) {
        weir_maria_lose(self);
        status = weir_error_set(error, WEIR_LOST, "lost by a test");
    }
    if (status == WEIR_LOST &&
        !weir_maria_code_is_refusal((unsigned)error->native_code)) {
        error->status = WEIR_IN_DOUBT;
        status = WEIR_IN_DOUBT;
    }
    if (status != WEIR_OK && !link->lost)
        weir_maria_rollback(link);
    lift_guard(self);
    self->begun = false;
    self->broken = WEIR_OK;
    return status;
}

void weir_maria_rollback(struct weir_link *link)
{
    struct weir_maria_link *self = weir_maria_link(link);
    struct weir_error ignored;

    if ((self->broken == WEIR_OK || self->guarded) &&
        weir_maria_run_text(self, "ROLLBACK", &ignored) != WEIR_OK)
        weir_maria_lose(self);
    lift_guard(self);
    self->begun = false;
    self->broken = WEIR_OK;
}

enum weir_transaction_state weir_maria_transaction(struct weir_link *link)
{
    const struct weir_maria_link *self = weir_maria_link(link);

    if (self->broken != WEIR_OK)
        return WEIR_TRANSACTION_FAILED;
    /* Without autocommit every statement belongs to a transaction, also the next one. */
    if ((self->mysql->server_status & SERVER_STATUS_IN_TRANS) != 0 ||
        (self->mysql->server_status & SERVER_STATUS_AUTOCOMMIT) == 0)
        return WEIR_TRANSACTION_OPEN;
    return WEIR_TRANSACTION_NONE;
}

/* The flags are those of the last answer, whichever code has asked. */
enum weir_status weir_maria_examine(struct weir_link *link, struct weir_error *error)
{
    struct weir_maria_link *self = weir_maria_link(link);

    if (self->mysql->status != MYSQL_STATUS_READY) {
        weir_maria_lose(self); /* nothing can be sent, not even a rollback */
        return weir_error_set(error, WEIR_LOST, "a result was not read to its end");
    }
    if (self->guarded && (self->mysql->server_status & SERVER_STATUS_IN_TRANS) == 0)
        return weir_error_set(error, WEIR_INVALID, "there is no transaction any more");
    return WEIR_OK;
}
