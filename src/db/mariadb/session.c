/*
 * session.c - see mariadb/session.h.
 */
#include "db/mariadb/session.h"

#include <string.h>

#include "base/text.h"
#include "db/qualifier.h"
#include "db/server_key.h"

enum { TEXT_SIZE = 2048 };

/* ---- the role ---------------------------------------------------------------------- */

/* "SET ROLE `name`", or NONE: the role of a new session is that of its user. */
static enum weir_status read_role(struct weir_maria_link *self, const char *name,
                                  struct weir_error *error)
{
    char quoted[WEIR_QUALIFIER_SIZE];

    if (name == NULL) {
        (void)weir_text_format(self->role, sizeof self->role, "NONE");
        return WEIR_OK;
    }
    if (!weir_qualifier_quote('`', weir_str(name), quoted))
        return weir_error_set(error, WEIR_SCHEMA, "the name of the role is too long");
    quoted[strlen(quoted) - 1] = '\0'; /* the dot */
    (void)weir_text_format(self->role, sizeof self->role, "%s", quoted);
    return WEIR_OK;
}

enum weir_status weir_maria_session_know(struct weir_maria_link *self,
                                         struct weir_error *error)
{
    MYSQL_RES *result;
    MYSQL_ROW row;
    enum weir_status status;

    status = weir_maria_query(self,
                              "SELECT CURRENT_ROLE(), CONCAT_WS('/', @@hostname, @@port,"
                              " @@datadir, @@server_id)",
                              &result, error);
    if (status != WEIR_OK)
        return status;
    row = mysql_fetch_row(result);
    status = read_role(self, row != NULL ? row[0] : NULL, error);
    if (row != NULL && row[1] != NULL && self->link.config->server != NULL)
        weir_server_key_keep(self->link.config->server, weir_str(row[1]));
    mysql_free_result(result);
    return status;
}

/* ---- inside a transaction ---------------------------------------------------------- */

/* Always: a session or a server may be set not to report another database. */
static enum weir_status select_database(struct weir_maria_link *self,
                                        struct weir_error *error)
{
    enum weir_status status = weir_maria_fault(self, NULL, error);

    if (status == WEIR_OK &&
        mysql_select_db(self->mysql, self->link.config->url.database) != 0)
        status = weir_maria_fail(self, NULL, error);
    return status;
}

/* Prepared statements cannot share a round trip, statements of a block can. Literals
 * name their character set: that of the connection may be any. */
static enum weir_status run_block(struct weir_maria_link *self, const char *before,
                                  const char *after, struct weir_error *error)
{
    char settings[WEIR_MARIA_SETTINGS_SIZE];
    char text[TEXT_SIZE];
    enum weir_status status = weir_maria_enter(self, error);

    weir_maria_print_settings(self, settings);
    (void)weir_text_format(text, sizeof text,
                           "BEGIN NOT ATOMIC %s SET NAMES utf8mb4; SET ROLE %s;"
                           " SET SESSION %s; %s END",
                           before, self->role, settings, after);
    if (status == WEIR_OK)
        status = weir_maria_run_text(self, text, error);
    return status == WEIR_OK ? select_database(self, error) : status;
}

enum weir_status weir_maria_session_renew(struct weir_link *link, const char *savepoint,
                                          struct weir_error *error)
{
    char before[64];
    char after[64];

    (void)weir_text_format(before, sizeof before, "RELEASE SAVEPOINT %s;", savepoint);
    (void)weir_text_format(after, sizeof after, "SAVEPOINT %s;", savepoint);
    return run_block(weir_maria_link(link), before, after, error);
}

enum weir_status weir_maria_session_regain(struct weir_link *link,
                                           struct weir_error *error)
{
    return run_block(weir_maria_link(link), "", "", error);
}

/* ---- on the way back --------------------------------------------------------------- */

static enum weir_status set_role(struct weir_maria_link *self, struct weir_error *error)
{
    char text[WEIR_MARIA_ROLE_SIZE + 16];

    (void)weir_text_format(text, sizeof text, "SET ROLE %s", self->role);
    return weir_maria_run_text(self, text, error);
}

/* mysql_change_user() leaves another user, which no reset removes. */
static bool is_our_user(const struct weir_maria_link *self)
{
    const char *user = self->link.config->url.user;

    return user == NULL ||
           (self->mysql->user != NULL && strcmp(self->mysql->user, user) == 0);
}

/* The server keeps database and role, whatever else it resets. */
enum weir_status weir_maria_session_reset(struct weir_link *link,
                                          struct weir_error *error)
{
    struct weir_maria_link *self = weir_maria_link(link);
    enum weir_status status = weir_maria_fault(self, NULL, error);

    if (status == WEIR_OK && self->mysql->status != MYSQL_STATUS_READY)
        status = weir_error_set(error, WEIR_LOST, "a result was not read to its end");
    if (status == WEIR_OK && !is_our_user(self))
        status = weir_error_set(error, WEIR_LOST, "the session has another user");
    if (status == WEIR_OK && (mysql_reset_connection(self->mysql) != 0 ||
                              mysql_select_db(self->mysql, link->config->url.database)))
        status = weir_maria_fail(self, NULL, error);
    self->unbounded = false;
    if (status == WEIR_OK)
        status = set_role(self, error);
    if (status == WEIR_OK)
        status = weir_maria_set_session(self, error);
    if (status != WEIR_OK)
        weir_maria_lose(self);
    return status;
}
