/*
 * held_dump.c - see held_dump.h.
 */
#include "kit/outbox/held_dump.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/outbox/pg_outbox.h"

enum { NAME_SIZE = 64, TABLES_MAX = 64, TEXT_SIZE = 256 };

struct held_dump {
    PGconn *from;
    char snapshot[NAME_SIZE];
};

struct names {
    char name[TABLES_MAX][NAME_SIZE];
    int count;
};

static PGconn *connect_to(const struct server *server, const char *database)
{
    char url[SERVER_URL_SIZE];
    PGconn *connection;

    server_direct_url(server, database, url, sizeof url);
    connection = PQconnectdb(url);
    if (PQstatus(connection) != CONNECTION_OK)
        weir_test_fail(__FILE__, __LINE__, "%s", PQerrorMessage(connection));
    return connection;
}

static void read_text(PGconn *connection, const char *sql, char *out, size_t size)
{
    PGresult *result = PQexec(connection, sql);

    if (PQresultStatus(result) != PGRES_TUPLES_OK || PQntuples(result) != 1)
        weir_test_fail(__FILE__, __LINE__, "%s: %s", sql, PQerrorMessage(connection));
    (void)snprintf(out, size, "%s", PQgetvalue(result, 0, 0));
    PQclear(result);
}

struct held_dump *held_dump_begin(const struct server *server, const char *database)
{
    struct held_dump *self = calloc(1, sizeof *self);

    check(self != NULL);
    self->from = connect_to(server, database);
    pg_run(self->from, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    read_text(self->from, "SELECT pg_export_snapshot()", self->snapshot,
              sizeof self->snapshot);
    return self;
}

const char *held_dump_snapshot(struct held_dump *self)
{
    return self->snapshot;
}

/* Tables ('r', with all leaves) or sequences ('S') of the prefix. */
static void list_names(PGconn *connection, char kind, struct names *out)
{
    char sql[TEXT_SIZE];
    PGresult *result;

    (void)snprintf(sql, sizeof sql,
                   "SELECT relname FROM pg_class WHERE relkind = '%c'"
                   " AND relname LIKE 'weir\\_%%' ORDER BY relname",
                   kind);
    result = PQexec(connection, sql);
    if (PQresultStatus(result) != PGRES_TUPLES_OK)
        weir_test_fail(__FILE__, __LINE__, "%s", PQerrorMessage(connection));
    out->count = PQntuples(result);
    check(out->count <= TABLES_MAX);
    for (int i = 0; i < out->count; i++)
        (void)snprintf(out->name[i], NAME_SIZE, "%s", PQgetvalue(result, i, 0));
    PQclear(result);
}

static void begin_copy(PGconn *connection, const char *table, const char *direction,
                       ExecStatusType wanted)
{
    char sql[TEXT_SIZE];
    PGresult *result;

    (void)snprintf(sql, sizeof sql, "COPY %s %s", table, direction);
    result = PQexec(connection, sql);
    if (PQresultStatus(result) != wanted)
        weir_test_fail(__FILE__, __LINE__, "%s: %s", sql, PQerrorMessage(connection));
    PQclear(result);
}

static void end_copy(PGconn *connection)
{
    PGresult *result;

    while ((result = PQgetResult(connection)) != NULL) {
        if (PQresultStatus(result) != PGRES_COMMAND_OK)
            weir_test_fail(__FILE__, __LINE__, "%s", PQerrorMessage(connection));
        PQclear(result);
    }
}

static void copy_table(PGconn *from, PGconn *to, const char *table)
{
    char *line = NULL;
    int size;

    pg_run(to, "TRUNCATE %s", table);
    begin_copy(from, table, "TO STDOUT", PGRES_COPY_OUT);
    begin_copy(to, table, "FROM STDIN", PGRES_COPY_IN);
    while ((size = PQgetCopyData(from, &line, 0)) > 0) {
        check_int(PQputCopyData(to, line, size), 1);
        PQfreemem(line);
    }
    check_int(PQputCopyEnd(to, NULL), 1);
    end_copy(from);
    end_copy(to);
}

static void copy_sequence(PGconn *from, PGconn *to, const char *name)
{
    char sql[TEXT_SIZE];
    char text[TEXT_SIZE];

    (void)snprintf(sql, sizeof sql,
                   "SELECT format('SELECT setval(''%s'', %%s, %%L)', last_value,"
                   " is_called) FROM %s",
                   name, name);
    read_text(from, sql, text, sizeof text);
    pg_run(to, "%s", text);
}

void held_dump_restore(struct held_dump *self, const struct fixture *to)
{
    PGconn *target = connect_to(to->server, to->database);
    struct names tables, sequences;

    list_names(self->from, 'r', &tables);
    list_names(self->from, 'S', &sequences);
    for (int i = 0; i < tables.count; i++)
        pg_run(self->from, "LOCK TABLE %s IN ACCESS SHARE MODE", tables.name[i]);
    for (int i = 0; i < tables.count; i++)
        copy_table(self->from, target, tables.name[i]);
    for (int i = 0; i < sequences.count; i++)
        copy_sequence(self->from, target, sequences.name[i]);
    PQfinish(target);
    held_dump_end(self);
}

void held_dump_end(struct held_dump *self)
{
    if (self == NULL)
        return;
    PQfinish(self->from);
    free(self);
}
