/*
 * expand.c - statements as one engine gets them.
 *
 *   expand sqlite|postgresql|mariadb <RECORDS >ENTRIES
 *
 * A record is three fields, each ended by a zero byte: name, parameters, text. An entry
 * is the text after weir_sql_expand(), with the prefix "weir", and below it name and
 * parameters; it is ended by a zero byte too, for sort -z.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/sql.h"
#include "weir/heap.h"

enum { TEXT_SIZE_MAX = 1 << 20, FIELDS = 3 };

static int find_engine(const char *name)
{
    static const enum weir_engine ENGINES[] = {WEIR_SQLITE, WEIR_POSTGRESQL,
                                               WEIR_MARIADB};

    for (size_t i = 0; i < sizeof ENGINES / sizeof ENGINES[0]; i++)
        if (strcmp(name, weir_engine_name(ENGINES[i])) == 0)
            return (int)ENGINES[i];
    return -1;
}

static bool print_entry(const struct weir_sql *sql, enum weir_engine engine)
{
    struct weir_error error;
    struct weir_buf out;
    bool good;

    weir_buf_init(&out, weir_heap_system(), TEXT_SIZE_MAX);
    good = weir_sql_expand(sql, engine, "weir", &out, &error) == WEIR_OK;
    if (good)
        printf("%s\n    -- %s (%s)\n%c", weir_buf_text(&out), sql->name, sql->parameters,
               0);
    else
        fprintf(stderr, "expand: %s\n", error.text);
    weir_buf_fini(&out);
    return good;
}

int main(int argc, char **argv)
{
    int engine = argc == 2 ? find_engine(argv[1]) : -1;
    char *fields[FIELDS] = {NULL};
    size_t sizes[FIELDS] = {0};
    int result = engine < 0 ? 2 : 0;

    for (size_t i = 0; result == 0; i = (i + 1) % FIELDS) {
        if (getdelim(&fields[i], &sizes[i], '\0', stdin) < 0)
            break;
        if (i == FIELDS - 1) {
            struct weir_sql sql = {
                .name = fields[0], .parameters = fields[1], .text = fields[2]};

            if (!print_entry(&sql, (enum weir_engine)engine))
                result = 1;
        }
    }
    for (size_t i = 0; i < FIELDS; i++)
        free(fields[i]);
    return result;
}
