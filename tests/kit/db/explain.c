/*
 * explain.c - see explain.h.
 */
#include "kit/db/explain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "db/sql.h"
#include "weir/heap.h"

void explain_execute(PGconn *native, const char *text)
{
    PGresult *result = PQexec(native, text);
    ExecStatusType status = PQresultStatus(result);

    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        weir_test_fail(__FILE__, __LINE__, "%s: %s", text, PQerrorMessage(native));
    PQclear(result);
}

static const char *type_of(char letter)
{
    switch (letter) {
    case 'i':
        return "bigint";
    case 't':
        return "text";
    case 'b':
        return "bytea";
    case 'I':
        return "bigint[]";
    case 'T':
        return "text[]";
    default:
        check(letter == 'B');
        return "bytea[]";
    }
}

void explain_prepare(struct fixture *fixture, PGconn *native, size_t number,
                     const struct weir_sql *sql)
{
    const char *letters = sql->parameters != NULL ? sql->parameters : "";
    struct weir_buf text;

    weir_buf_init(&text, weir_heap_system(), PLAN_SIZE);
    weir_buf_append_format(&text, "PREPARE s%zu", number);
    for (size_t i = 0; letters[i] != '\0'; i++)
        weir_buf_append_format(&text, "%s%s", i == 0 ? " (" : ", ", type_of(letters[i]));
    weir_buf_append_text(&text, letters[0] != '\0' ? ") AS " : " AS ");
    check_db(weir_sql_expand(sql, WEIR_POSTGRESQL, "weir", &text, &fixture->error),
             WEIR_OK);
    explain_execute(native, weir_buf_text(&text));
    weir_buf_fini(&text);
}

static void explain_with(PGconn *native, const char *options, size_t number,
                         const char *arguments, char out[PLAN_SIZE])
{
    PGresult *result;
    char text[1024];
    size_t size = 0;

    check((size_t)snprintf(text, sizeof text, "EXPLAIN%s EXECUTE s%zu%s%s%s", options,
                           number, arguments[0] != '\0' ? "(" : "", arguments,
                           arguments[0] != '\0' ? ")" : "") < sizeof text);
    result = PQexec(native, text);
    if (PQresultStatus(result) != PGRES_TUPLES_OK)
        weir_test_fail(__FILE__, __LINE__, "%s: %s", text, PQerrorMessage(native));
    for (int i = 0; i < PQntuples(result); i++) {
        int length =
            snprintf(out + size, PLAN_SIZE - size, "%s\n", PQgetvalue(result, i, 0));

        check(length > 0 && (size_t)length < PLAN_SIZE - size);
        size += (size_t)length;
    }
    PQclear(result);
}

void explain(PGconn *native, size_t number, const char *arguments, char out[PLAN_SIZE])
{
    explain_with(native, "", number, arguments, out);
}

/* The first line about buffers is that of the topmost node, which includes all others. */
int64_t explain_pages(PGconn *native, size_t number, const char *arguments)
{
    char *plan = malloc(PLAN_SIZE);
    int64_t pages = 0;
    const char *buffers;

    check(plan != NULL);
    explain_with(native, " (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF)", number, arguments,
                 plan);
    buffers = strstr(plan, "Buffers: shared");
    for (const char *at = buffers; at != NULL && *at != '\n'; at++) {
        if (strncmp(at, "hit=", 4) == 0)
            pages += strtoll(at + 4, NULL, 10);
        if (strncmp(at, "read=", 5) == 0)
            pages += strtoll(at + 5, NULL, 10);
    }
    free(plan);
    return pages;
}
