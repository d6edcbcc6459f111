/*
 * error.c - one table: the longest entry that a code begins with decides.
 */
#include "db/postgres/error.h"

#include <stdbool.h>
#include <string.h>

#include "base/count.h"

struct meaning {
    const char *code; /* five characters, or the two of a class */
    enum weir_status status;
};

/* Codes before their class. */
static const struct meaning MEANINGS[] = {
    {"08", WEIR_LOST},       /* connection */
    {"0A", WEIR_SCHEMA},     /* feature not supported */
    {"21", WEIR_INVALID},    /* cardinality */
    {"22", WEIR_INVALID},    /* data: out of range, bad encoding, ... */
    {"23", WEIR_CONSTRAINT}, /* unique, not null, foreign key, check, exclusion */
    {"25006", WEIR_LOST},    /* read only: a standby, after a failover */
    {"25P03", WEIR_LOST},    /* idle in transaction for too long */
    {"25P04", WEIR_LOST},    /* transaction took too long */
    {"25", WEIR_FAILED},     /* transaction state, 25P02 (it has failed) among them */
    {"26000",
     WEIR_CONFLICT}, /* the session forgot a statement; see postgres/statement.c */
    {"27", WEIR_CONSTRAINT},    /* a trigger changed the row as well */
    {"28", WEIR_DENIED},        /* user or password */
    {"3D", WEIR_SCHEMA},        /* no such database */
    {"3F", WEIR_SCHEMA},        /* no such schema */
    {"40002", WEIR_CONSTRAINT}, /* at commit */
    {"40003", WEIR_LOST},       /* whether the statement was done is unknown */
    {"40", WEIR_CONFLICT},      /* serialisation failure, deadlock */
    {"42501", WEIR_DENIED},     /* no privilege */
    {"42", WEIR_SCHEMA},        /* no such table, column, function; syntax */
    {"44", WEIR_CONSTRAINT},    /* a view's check option */
    {"53100", WEIR_DISK_FULL},
    {"53200", WEIR_NO_MEMORY},
    {"53400", WEIR_FAILED}, /* a configured limit, such as of temporary files */
    {"53", WEIR_BUSY},      /* too many connections */
    {"54", WEIR_INVALID},   /* too large or too complex for the server */
    {"55006", WEIR_LOCKED}, /* in use by another session */
    {"55P03", WEIR_LOCKED}, /* lock_timeout, NOWAIT */
    {"57014", WEIR_TIMEOUT},
    {"57P01", WEIR_LOST}, /* terminated, or the server is going down */
    {"57P02", WEIR_LOST}, /* another session crashed */
    {"57P03", WEIR_LOST}, /* starting up, recovering or going down */
    {"57P04", WEIR_LOST}, /* the database was dropped */
    {"57P05", WEIR_LOST}, /* idle for too long */
    {"72", WEIR_CONFLICT},
    {"P0001", WEIR_CONSTRAINT}, /* RAISE, by a trigger of the application's */
    {"P0004", WEIR_CONSTRAINT}, /* ASSERT, likewise */
};

enum weir_status weir_pg_status(const char *sqlstate)
{
    for (size_t i = 0; i < COUNT_OF(MEANINGS); i++) {
        if (strncmp(sqlstate, MEANINGS[i].code, strlen(MEANINGS[i].code)) == 0)
            return MEANINGS[i].status;
    }
    return WEIR_FAILED;
}

static bool is_sqlstate(const char *text)
{
    for (int i = 0; i < WEIR_SQLSTATE_SIZE - 1; i++) {
        if (!(text[i] >= '0' && text[i] <= '9') && !(text[i] >= 'A' && text[i] <= 'Z'))
            return false;
    }
    return true;
}

const char *weir_pg_find_sqlstate(const char *text, char out[WEIR_SQLSTATE_SIZE])
{
    const char *message = NULL;

    out[0] = '\0';
    while ((text = strstr(text, ":  ")) != NULL) {
        text += 3;
        if (is_sqlstate(text) && strncmp(text + 5, ": ", 2) == 0) {
            memcpy(out, text, WEIR_SQLSTATE_SIZE - 1);
            out[WEIR_SQLSTATE_SIZE - 1] = '\0';
            message = text + 7;
        }
    }
    return message;
}
