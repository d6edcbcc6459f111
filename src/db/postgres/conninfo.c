/*
 * conninfo.c - options before `dbname` are defaults, those behind it are orders.
 *
 * So says libpq when `dbname` is itself a connection string: later ones win.
 */
#include "db/postgres/conninfo.h"

#include <stdlib.h>
#include <string.h>

#include "base/count.h"
#include "base/no_memory.h"
#include "base/text.h"
#include "weir/time.h"

/*
 * A peer that died without a word is noticed within 15 s: while we wait, after 4 s of
 * silence and probes every 3 s until 12 s are over; while we send, 12 s after the first
 * byte that was not acknowledged.
 */
static const char *const KEYWORDS[] = {
    "connect_timeout",           /* replaced by a number */
    "keepalives",                /* */
    "keepalives_idle",           /* s */
    "keepalives_interval",       /* s */
    "keepalives_count",          /* */
    "tcp_user_timeout",          /* ms */
    "fallback_application_name", /* shown in pg_stat_activity */
    "dbname",                    /* replaced by the string */
    "client_encoding",           /* ours is UTF-8, whatever is configured */
    NULL,
};
static const char *const DEFAULTS[] = {
    "10", "1", "4", "3", "3", "12000", "weir", "", "UTF8", NULL,
};
enum { CONNECT_TIMEOUT = 0, DBNAME = 7, OPTION_COUNT = 10, TIMEOUT_MAX_S = 3600 };

_Static_assert(COUNT_OF(KEYWORDS) == OPTION_COUNT, "one value each");
_Static_assert(COUNT_OF(DEFAULTS) == OPTION_COUNT, "one keyword each");

/*
 * libpq quotes what it could not read, be it the whole URL with the password in it, or
 * a word behind a password that was not escaped. So its text is shown up to the first
 * quote.
 */
static enum weir_status refuse(const char *text, struct weir_error *error)
{
    size_t size = strcspn(text, "\"\n");

    while (size > 0 && (text[size - 1] == ' ' || text[size - 1] == ':'))
        size--;
    return weir_error_set(error, WEIR_INVALID,
                          "database URL: %.*s (in a part that is not shown; special "
                          "characters of a password must be escaped)",
                          (int)size, text);
}

/* One number, or several with commas between them, some of them empty. */
static bool are_ports(const char *text)
{
    for (;;) {
        size_t size = strcspn(text, ",");

        if (size > 5 || strspn(text, "0123456789") != size ||
            (size > 0 && (atoi(text) < 1 || atoi(text) > 65535)))
            return false;
        if (text[size] == '\0')
            return true;
        text += size + 1;
    }
}

enum weir_status weir_pg_conninfo_check(const char *conninfo, struct weir_error *error)
{
    char *text = NULL;
    PQconninfoOption *options = PQconninfoParse(conninfo, &text);
    enum weir_status status = WEIR_OK;

    if (options == NULL) {
        status = text != NULL ? refuse(text, error) : weir_no_memory(error, NULL);
        PQfreemem(text);
        return status;
    }
    for (const PQconninfoOption *option = options; option->keyword != NULL; option++) {
        if (strcmp(option->keyword, "port") == 0 && option->val != NULL &&
            !are_ports(option->val))
            status = weir_error_set(error, WEIR_INVALID,
                                    "port must be a number from 1 to 65535");
    }
    PQconninfoFree(options);
    return status;
}

/* What follows the "://" of a URL; NULL: these are pairs of key and value. */
static const char *authority_of(const char *conninfo)
{
    static const char *const SCHEMES[] = {"postgresql://", "postgres://"};

    for (size_t i = 0; i < COUNT_OF(SCHEMES); i++)
        if (strncmp(conninfo, SCHEMES[i], strlen(SCHEMES[i])) == 0)
            return conninfo + strlen(SCHEMES[i]);
    return NULL;
}

bool weir_pg_conninfo_is_clear(const char *conninfo)
{
    const char *authority = authority_of(conninfo);
    const char *last = authority != NULL ? strrchr(authority, '@') : NULL;

    return last == NULL || authority + strcspn(authority, "@/") == last;
}

static bool is_secret(const PQconninfoOption *option)
{
    /* dispchar "*": not to be shown. */
    return option->val != NULL && option->val[0] != '\0' && option->dispchar[0] == '*';
}

bool weir_pg_conninfo_has_password(const char *conninfo)
{
    PQconninfoOption *options = PQconninfoParse(conninfo, NULL);
    bool found = options == NULL || !weir_pg_conninfo_is_clear(conninfo);

    for (PQconninfoOption *option = options; !found && option->keyword != NULL; option++)
        found = is_secret(option);
    PQconninfoFree(options);
    return found;
}

PGconn *weir_pg_conninfo_start(const char *conninfo, int64_t connect_timeout_ns)
{
    const char *values[OPTION_COUNT];
    char seconds[24];

    memcpy(values, DEFAULTS, sizeof values);
    weir_text_format(
        seconds, sizeof seconds, "%lld",
        (long long)((connect_timeout_ns + WEIR_SECONDS(1) - 1) / WEIR_SECONDS(1)));
    values[CONNECT_TIMEOUT] = seconds;
    values[DBNAME] = conninfo;
    return PQconnectStartParams(KEYWORDS, values, 1);
}

void weir_pg_conninfo_read(PGconn *connection, int64_t connect_timeout_ns,
                           struct weir_pg_target *out)
{
    PQconninfoOption *options = PQconninfo(connection);

    *out = (struct weir_pg_target){.timeout_ns = connect_timeout_ns};
    for (const PQconninfoOption *option = options;
         option != NULL && option->keyword != NULL; option++) {
        if (option->val == NULL)
            continue;
        if (strcmp(option->keyword, "host") == 0 ||
            strcmp(option->keyword, "hostaddr") == 0)
            out->several_hosts = out->several_hosts || strchr(option->val, ',') != NULL;
        if (strcmp(option->keyword, "connect_timeout") == 0 && atoi(option->val) > 0 &&
            atoi(option->val) <= TIMEOUT_MAX_S)
            out->timeout_ns = WEIR_SECONDS(atoi(option->val));
    }
    PQconninfoFree(options);
}
