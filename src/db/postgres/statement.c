/*
 * statement.c - see postgres/statement.h.
 *
 * Names are never used twice on a session: when it seems to have forgotten a statement,
 * others may still be there under theirs.
 */
#include "db/postgres/statement.h"

#include <string.h>

#include "base/heap.h"
#include "base/no_memory.h"
#include "base/text.h"

enum { BINARY = 1 };

enum weir_status weir_pg_statement_create(struct weir_pg_link *link, const char *text,
                                          const char *letters,
                                          struct weir_pg_statement **out,
                                          struct weir_error *error)
{
    const struct weir_heap *heap = link->base.config->heap;
    size_t count = strlen(letters);
    struct weir_pg_statement *self;

    *out = NULL;
    if (count > WEIR_PG_PARAMETERS_MAX)
        return weir_error_set(error, WEIR_INVALID, "%zu parameters, must be at most %d",
                              count, WEIR_PG_PARAMETERS_MAX);
    self = weir_heap_zalloc(heap, sizeof *self);
    if (self == NULL)
        return weir_no_memory(error, NULL);
    self->parameter_count = count;
    memcpy(self->letters, letters, count + 1);
    for (size_t i = 0; i < count; i++) {
        self->types[i] = weir_pg_parameter_type(letters[i]);
        if (self->types[i] == 0) {
            weir_heap_free(heap, self);
            return weir_error_set(error, WEIR_INVALID, "parameter %zu has no type '%c'",
                                  i + 1, letters[i]);
        }
    }
    self->text = weir_heap_copy(heap, text, strlen(text));
    if (self->text == NULL) {
        weir_heap_free(heap, self);
        return weir_no_memory(error, NULL);
    }
    *out = self;
    return WEIR_OK;
}

void weir_pg_statement_destroy(struct weir_pg_link *link, struct weir_pg_statement *self)
{
    const struct weir_heap *heap = link->base.config->heap;

    if (self == NULL)
        return;
    weir_heap_free(heap, self->text);
    weir_heap_free(heap, self);
}

bool weir_pg_statement_is_new(const struct weir_pg_statement *self,
                              const struct weir_pg_link *link)
{
    return link->named && (self->name == 0 || self->age != link->age);
}

int weir_pg_statement_send_prepare(struct weir_pg_statement *self,
                                   struct weir_pg_link *link)
{
    self->name = ++link->names;
    self->age = link->age;
    self->proven = false;
    weir_text_format(self->name_text, sizeof self->name_text, "weir_%u", self->name);
    return PQsendPrepare(link->connection, self->name_text, self->text,
                         (int)self->parameter_count, self->types);
}

int weir_pg_statement_send(struct weir_pg_statement *self, struct weir_pg_link *link)
{
    const struct weir_pg_encoder *encoder = &link->encoder;

    if (!link->named)
        return PQsendQueryParams(link->connection, self->text, (int)self->parameter_count,
                                 self->types, encoder->values, encoder->sizes,
                                 encoder->formats, BINARY);
    return PQsendQueryPrepared(link->connection, self->name_text,
                               (int)self->parameter_count, encoder->values,
                               encoder->sizes, encoder->formats, BINARY);
}

void weir_pg_statement_forget(struct weir_pg_statement *self)
{
    self->name = 0;
    self->proven = false;
    self->on_its_way = false;
}

bool weir_pg_statement_mends(struct weir_pg_statement *self, struct weir_pg_link *link,
                             struct weir_error *error)
{
    /* DISCARD ALL, or a proxy that changed servers: all statements are gone, and so are
     * the session's settings. */
    bool forgotten = strcmp(error->sqlstate, "26000") == 0;
    /* A migration changed a table: "cached plan must not change result type". One that
     * never worked is just not supported. */
    bool outdated = strcmp(error->sqlstate, "0A000") == 0 && self->proven;

    if (!link->named || link->base.lost || !(forgotten || outdated))
        return false;
    if (forgotten) {
        link->age++;
        link->unset = true;
    }
    weir_pg_statement_forget(self);
    if (PQtransactionStatus(link->connection) == PQTRANS_IDLE)
        return true;
    error->status = WEIR_CONFLICT;
    return false;
}

static enum weir_status prepare(struct weir_pg_statement *self, struct weir_pg_link *link,
                                struct weir_error *error)
{
    PGresult *result = NULL;
    enum weir_status status = weir_pg_ready(link, error);

    if (status == WEIR_OK)
        status = weir_pg_collect(link, weir_pg_statement_send_prepare(self, link),
                                 &result, error);
    PQclear(result);
    if (status != WEIR_OK)
        weir_pg_statement_forget(self);
    return status;
}

static enum weir_status run_once(struct weir_pg_statement *self,
                                 struct weir_pg_link *link, PGresult **out,
                                 struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    *out = NULL;
    if (weir_pg_statement_is_new(self, link))
        status = prepare(self, link, error);
    if (status == WEIR_OK)
        status = weir_pg_ready(link, error);
    if (status == WEIR_OK)
        status = weir_pg_collect(link, weir_pg_statement_send(self, link), out, error);
    return status;
}

enum weir_status weir_pg_statement_run(struct weir_pg_statement *self,
                                       struct weir_pg_link *link, PGresult **out,
                                       struct weir_error *error)
{
    enum weir_status status = run_once(self, link, out, error);

    if (status != WEIR_OK && weir_pg_statement_mends(self, link, error))
        status = run_once(self, link, out, error);
    else if (status != WEIR_OK)
        status = error->status;
    if (status == WEIR_OK)
        self->proven = true;
    return status;
}
