/*
 * session.c - see postgres/session.h.
 *
 * RESET leads to what the session had when it was connected, a role of the connection
 * string's or of ALTER ROLE ... SET included; our own settings are made behind it.
 * Inside a transaction both are undone with it, like what they replace.
 */
#include "db/postgres/session.h"

#include "base/text.h"

enum { SETTINGS_SIZE = 384, TEXT_SIZE = 2048 };

/* Neither of the two is part of RESET ALL. The user first: it decides which roles there
 * are. */
#define OURSELVES "RESET SESSION AUTHORIZATION;RESET ROLE;"

/* Tables that were never analysed look large to the planner: compiling a statement then
 * takes half a second where running it takes a millisecond. So no jit. */
static void print_settings(const struct weir_pg_link *self, char out[SETTINGS_SIZE])
{
    const struct weir_link_config *config = self->base.config;

    weir_text_format(out, SETTINGS_SIZE,
                     "SET statement_timeout = %lld;"
                     "SET lock_timeout = %lld;"
                     "SET idle_in_transaction_session_timeout = %d;"
                     "SET TimeZone = 'UTC';"
                     "SET default_transaction_isolation = 'read committed';"
                     "SET standard_conforming_strings = on;"
                     "SET jit = off;",
                     (long long)weir_pg_milliseconds(config->statement_timeout_ns),
                     (long long)weir_pg_milliseconds(config->lock_timeout_ns),
                     WEIR_IDLE_MS_MAX);
}

enum weir_status weir_pg_set_session(struct weir_pg_link *self, struct weir_error *error)
{
    char text[SETTINGS_SIZE];

    print_settings(self, text);
    return weir_pg_execute_text(self, text, error);
}

/* ---- between messages -------------------------------------------------------------- */

/*
 * A deferred constraint trigger runs with the role and the settings of that moment. So
 * what a message has deferred is checked before role and settings are ours again;
 * search_path and settings of the application's own count as much as the role. The
 * modes that constraints had cannot be asked for; most that may be deferred are so from
 * the start, so all are for the next message.
 */
#define CHECK_DEFERRED "SET CONSTRAINTS ALL IMMEDIATE;SET CONSTRAINTS ALL DEFERRED;"

/* Only for the transaction: the session is a pooler's. */
static size_t print_local(const struct weir_pg_link *self, char *out, size_t size)
{
    const struct weir_link_config *config = self->base.config;

    return weir_text_format(
        out, size,
        "SELECT pg_catalog.set_config('session_authorization', NULL, true),"
        " pg_catalog.set_config('role', NULL, true),"
        " pg_catalog.set_config('search_path', NULL, true);"
        "SET LOCAL statement_timeout = %lld;"
        "SET LOCAL lock_timeout = %lld;"
        "SET LOCAL TimeZone = 'UTC';"
        "SET LOCAL jit = off;",
        (long long)weir_pg_milliseconds(config->statement_timeout_ns),
        (long long)weir_pg_milliseconds(config->lock_timeout_ns));
}

static size_t print_own(const struct weir_pg_link *self, char *out, size_t size)
{
    char settings[SETTINGS_SIZE];

    print_settings(self, settings);
    return weir_text_format(out, size, OURSELVES "RESET ALL;%s", settings);
}

/* A savepoint that is gone tells that the transaction is another: nothing is done
 * then. */
enum weir_status weir_pg_session_renew(struct weir_link *link, const char *savepoint,
                                       struct weir_error *error)
{
    struct weir_pg_link *self = (struct weir_pg_link *)link;
    char text[TEXT_SIZE];
    size_t used = weir_text_format(text, sizeof text,
                                   CHECK_DEFERRED "RELEASE SAVEPOINT %s;", savepoint);

    used += self->named ? print_own(self, text + used, sizeof text - used)
                        : print_local(self, text + used, sizeof text - used);
    (void)weir_text_format(
        text + used, sizeof text - used,
        "SET LOCAL idle_in_transaction_session_timeout = %lld;SAVEPOINT %s",
        (long long)weir_pg_milliseconds(link->lent_idle_us * 1000), savepoint);
    return weir_pg_execute_text(self, text, error);
}

/* ---- on the way back --------------------------------------------------------------- */

/* What came for a channel of others'. */
static void drop_notices(struct weir_pg_link *self)
{
    PGnotify *notice;

    while ((notice = PQnotifies(self->connection)) != NULL)
        PQfreemem(notice);
}

enum weir_status weir_pg_session_reset(struct weir_link *link, struct weir_error *error)
{
    struct weir_pg_link *self = (struct weir_pg_link *)link;
    char text[TEXT_SIZE];
    size_t used;
    enum weir_status status;

    if (!self->named)
        return WEIR_OK;
    status = weir_pg_check_free(self->connection, error);
    if (status == WEIR_OK) {
        used = print_own(self, text, sizeof text);
        (void)weir_text_format(text + used, sizeof text - used,
                               "SELECT pg_catalog.pg_advisory_unlock_all();"
                               "UNLISTEN *;CLOSE ALL;DISCARD TEMP");
        status = weir_pg_execute_text(self, text, error);
    }
    if (status == WEIR_OK)
        drop_notices(self);
    else
        weir_pg_sever(self);
    return status;
}
