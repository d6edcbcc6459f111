/*
 * error.c - see mariadb/error.h.
 *
 * Choices that are worth their reasons:
 *
 *   read only   (1290, 1836, 1874) is WEIR_LOST. After a failover the old primary is
 *               read only and its name leads to the new one: a new connection heals it.
 *               To write in a transaction that was begun as read only (1792) is a
 *               mistake: WEIR_INVALID.
 *   1047        is Galera's "not prepared for application use": another node may be.
 *   1026, 3, 20 are writes that failed. The server tells the errno in its text only; by
 *   far the
 *               most frequent reason is a full disk, and the others are waited out
 *               likewise.
 *   45xxx       is what functions and triggers raise by SIGNAL: rules of the database,
 *               too.
 */
#include "db/mariadb/error.h"

#include <errmsg.h>
#include <mysqld_error.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/count.h"

struct entry {
    unsigned code;
    enum weir_status status;
};

/* The two plain numbers are codes of the server's file layer (EE_WRITE, EE_DISK_FULL),
 * which clients have no header for. */
static const struct entry CODES[] = {
    {ER_DUP_ENTRY, WEIR_CONSTRAINT},
    {ER_DUP_ENTRY_WITH_KEY_NAME, WEIR_CONSTRAINT},
    {ER_DUP_KEY, WEIR_CONSTRAINT},
    {ER_DUP_UNIQUE, WEIR_CONSTRAINT},
    {ER_BAD_NULL_ERROR, WEIR_CONSTRAINT},
    {ER_NO_DEFAULT_FOR_FIELD, WEIR_CONSTRAINT},
    {ER_NO_REFERENCED_ROW, WEIR_CONSTRAINT},
    {ER_NO_REFERENCED_ROW_2, WEIR_CONSTRAINT},
    {ER_ROW_IS_REFERENCED, WEIR_CONSTRAINT},
    {ER_ROW_IS_REFERENCED_2, WEIR_CONSTRAINT},
    {ER_CONSTRAINT_FAILED, WEIR_CONSTRAINT},

    {ER_LOCK_DEADLOCK, WEIR_CONFLICT}, /* Galera's certification failure too */
    {ER_CHECKREAD, WEIR_CONFLICT},     /* innodb_snapshot_isolation */
    {ER_XA_RBDEADLOCK, WEIR_CONFLICT},
    {ER_LOCK_WAIT_TIMEOUT, WEIR_LOCKED},
    {ER_STATEMENT_TIMEOUT, WEIR_TIMEOUT},
    {ER_QUERY_INTERRUPTED, WEIR_FAILED},

    {ER_SERVER_SHUTDOWN, WEIR_LOST},
    {ER_NORMAL_SHUTDOWN, WEIR_LOST},
    {ER_SHUTDOWN_COMPLETE, WEIR_LOST},
    {ER_FORCING_CLOSE, WEIR_LOST},
    {ER_CONNECTION_KILLED, WEIR_LOST},
    {ER_ABORTING_CONNECTION, WEIR_LOST},
    {ER_NEW_ABORTING_CONNECTION, WEIR_LOST},
    {ER_NET_READ_ERROR, WEIR_LOST},
    {ER_NET_READ_INTERRUPTED, WEIR_LOST},
    {ER_NET_ERROR_ON_WRITE, WEIR_LOST},
    {ER_NET_WRITE_INTERRUPTED, WEIR_LOST},
    {ER_NET_PACKETS_OUT_OF_ORDER, WEIR_LOST},
    {ER_UNKNOWN_COM_ERROR, WEIR_LOST},
    {ER_OPTION_PREVENTS_STATEMENT, WEIR_LOST},
    {ER_READ_ONLY_MODE, WEIR_LOST},
    {ER_INNODB_READ_ONLY, WEIR_LOST},
    {CR_SOCKET_CREATE_ERROR, WEIR_LOST},
    {CR_CONNECTION_ERROR, WEIR_LOST},
    {CR_CONN_HOST_ERROR, WEIR_LOST},
    {CR_IPSOCK_ERROR, WEIR_LOST},
    {CR_UNKNOWN_HOST, WEIR_LOST},
    {CR_SSL_CONNECTION_ERROR, WEIR_LOST},
    {CR_SERVER_GONE_ERROR, WEIR_LOST},
    {CR_SERVER_HANDSHAKE_ERR, WEIR_LOST},
    {CR_SERVER_LOST, WEIR_LOST},
    {CR_SERVER_LOST_EXTENDED, WEIR_LOST},
    {CR_COMMANDS_OUT_OF_SYNC, WEIR_LOST},
    {CR_MALFORMED_PACKET, WEIR_LOST},
    {CR_STMT_CLOSED, WEIR_LOST},
    {CR_ERR_NET_READ, WEIR_LOST},
    {CR_ERR_NET_WRITE, WEIR_LOST},
    {CR_ERR_NET_UNCOMPRESS, WEIR_LOST},

    {ER_CON_COUNT_ERROR, WEIR_BUSY},
    {ER_TOO_MANY_USER_CONNECTIONS, WEIR_BUSY},
    {ER_USER_LIMIT_REACHED, WEIR_BUSY},
    {ER_CANT_CREATE_THREAD, WEIR_BUSY},
    {ER_OUTOFMEMORY, WEIR_BUSY}, /* the server's memory, not ours */
    {ER_OUT_OF_RESOURCES, WEIR_BUSY},
    {ER_OUT_OF_SORTMEMORY, WEIR_BUSY},
    {ER_MAX_PREPARED_STMT_COUNT_REACHED, WEIR_BUSY},
    {ER_TOO_MANY_CONCURRENT_TRXS, WEIR_BUSY},

    {ER_DBACCESS_DENIED_ERROR, WEIR_DENIED},
    {ER_ACCESS_DENIED_ERROR, WEIR_DENIED},
    {ER_ACCESS_DENIED_NO_PASSWORD_ERROR, WEIR_DENIED},
    {ER_HOST_IS_BLOCKED, WEIR_DENIED},
    {ER_HOST_NOT_PRIVILEGED, WEIR_DENIED},
    {ER_NONEXISTING_GRANT, WEIR_DENIED},
    {ER_TABLEACCESS_DENIED_ERROR, WEIR_DENIED},
    {ER_COLUMNACCESS_DENIED_ERROR, WEIR_DENIED},
    {ER_SPECIFIC_ACCESS_DENIED_ERROR, WEIR_DENIED},
    {ER_PROCACCESS_DENIED_ERROR, WEIR_DENIED},
    {ER_NOT_SUPPORTED_AUTH_MODE, WEIR_DENIED},
    {ER_MUST_CHANGE_PASSWORD, WEIR_DENIED},
    {ER_MUST_CHANGE_PASSWORD_LOGIN, WEIR_DENIED},
    {ER_ACCOUNT_HAS_BEEN_LOCKED, WEIR_DENIED},
    {CR_SECURE_AUTH, WEIR_DENIED},
    {CR_AUTH_PLUGIN_CANNOT_LOAD, WEIR_DENIED},
    {CR_AUTH_PLUGIN_ERR, WEIR_DENIED},

    {ER_NO_DB_ERROR, WEIR_SCHEMA},
    {ER_BAD_DB_ERROR, WEIR_SCHEMA},
    {ER_UNKNOWN_SYSTEM_VARIABLE, WEIR_SCHEMA},
    {ER_UNKNOWN_TIME_ZONE, WEIR_SCHEMA},
    {ER_UNKNOWN_STORAGE_ENGINE, WEIR_SCHEMA},
    {ER_UNSUPPORTED_PS, WEIR_SCHEMA},
    {ER_VIEW_INVALID, WEIR_SCHEMA},
    {ER_NEED_REPREPARE, WEIR_SCHEMA},
    {ER_BINLOG_STMT_MODE_AND_ROW_ENGINE, WEIR_SCHEMA}, /* binlog_format=STATEMENT */
    {CR_NEW_STMT_METADATA, WEIR_SCHEMA},
    {CR_VERSION_ERROR, WEIR_SCHEMA},

    {3, WEIR_DISK_FULL},
    {20, WEIR_DISK_FULL},
    {ER_DISK_FULL, WEIR_DISK_FULL},
    {ER_ERROR_ON_WRITE, WEIR_DISK_FULL},
    {ER_RECORD_FILE_FULL, WEIR_DISK_FULL},

    {ER_NET_PACKET_TOO_LARGE, WEIR_INVALID},
    {ER_WRONG_ARGUMENTS, WEIR_INVALID},
    {WARN_DATA_TRUNCATED, WEIR_INVALID}, /* an error in strict mode */
    {ER_DATA_TOO_LONG, WEIR_INVALID},
    {ER_WARN_DATA_OUT_OF_RANGE, WEIR_INVALID},
    {ER_TRUNCATED_WRONG_VALUE, WEIR_INVALID},
    {ER_TRUNCATED_WRONG_VALUE_FOR_FIELD, WEIR_INVALID},
    {ER_INVALID_CHARACTER_STRING, WEIR_INVALID},
    {ER_TOO_BIG_ROWSIZE, WEIR_INVALID},
    {ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION, WEIR_INVALID},
    {CR_NET_PACKET_TOO_LARGE, WEIR_INVALID},
    {CR_UNSUPPORTED_PARAM_TYPE, WEIR_INVALID},
    {CR_INVALID_PARAMETER_NO, WEIR_INVALID},

    {CR_OUT_OF_MEMORY, WEIR_NO_MEMORY},
};

struct sqlstate_class {
    char name[3];
    enum weir_status status;
};

static const struct sqlstate_class CLASSES[] = {
    {"08", WEIR_LOST},      {"22", WEIR_INVALID},  {"23", WEIR_CONSTRAINT},
    {"28", WEIR_DENIED},    {"40", WEIR_CONFLICT}, {"42", WEIR_SCHEMA},
    {"45", WEIR_CONSTRAINT}};

enum { MAJOR_MIN = 10, MINOR_MIN = 6 }; /* SKIP LOCKED, JSON_TABLE */
static const char VERSION_TESTED[] = "10.11";

enum weir_status weir_maria_status(unsigned code, const char *sqlstate)
{
    for (size_t i = 0; i < COUNT_OF(CODES); i++) {
        if (CODES[i].code == code)
            return CODES[i].status;
    }
    for (size_t i = 0; i < COUNT_OF(CLASSES); i++) {
        if (strncmp(sqlstate, CLASSES[i].name, 2) == 0)
            return CLASSES[i].status;
    }
    return WEIR_FAILED;
}

bool weir_maria_code_ends_connection(unsigned code, const char *sqlstate)
{
    return code == ER_NET_PACKET_TOO_LARGE || code == CR_NET_PACKET_TOO_LARGE ||
           weir_maria_status(code, sqlstate) == WEIR_LOST;
}

bool weir_maria_code_is_refusal(unsigned code)
{
    return code == ER_OPTION_PREVENTS_STATEMENT || code == ER_READ_ONLY_MODE ||
           code == ER_INNODB_READ_ONLY || code == ER_UNKNOWN_COM_ERROR;
}

bool weir_maria_code_is_clients(unsigned code)
{
    return (code >= CR_MIN_ERROR && code <= CR_MAX_ERROR) ||
           (code >= CER_MIN_ERROR && code <= CER_MAX_ERROR);
}

enum weir_status weir_maria_version_check(const char *version, struct weir_error *error)
{
    static const char REPLICATION_PREFIX[] =
        "5.5.5-"; /* for old replicas, of any version */
    const char *number = version;
    unsigned major = 0;
    unsigned minor = 0;

    if (strncmp(version, REPLICATION_PREFIX, strlen(REPLICATION_PREFIX)) == 0)
        number += strlen(REPLICATION_PREFIX);
    if (strstr(version, "MariaDB") == NULL)
        return weir_error_set(
            error, WEIR_SCHEMA,
            "the server is version \"%s\", which is not MariaDB; MySQL "
            "has no sequences, no RETURNING and other locks; weir needs "
            "MariaDB %d.%d or later, and was tested with %s",
            version, MAJOR_MIN, MINOR_MIN, VERSION_TESTED);
    if (sscanf(number, "%4u.%4u", &major, &minor) != 2 || major < MAJOR_MIN ||
        (major == MAJOR_MIN && minor < MINOR_MIN))
        return weir_error_set(
            error, WEIR_SCHEMA,
            "the server is version \"%s\", must be MariaDB %d.%d or later; tested was %s",
            version, MAJOR_MIN, MINOR_MIN, VERSION_TESTED);
    return WEIR_OK;
}
