/*
 * audit_list.c - pages of audit rows.
 *
 * A page ends where its last row is, and the next one begins below its id: rows that come
 * meanwhile have greater ids, so none is on two pages and none is left out.
 */
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "db/connection.h"
#include "db/db.h"
#include "db/query.h"
#include "weir/audit.h"

/* By the primary key, backwards, until the page is full. An empty text is no
 * condition. */
static const struct weir_sql SQL_LIST = {
    .name = "list audit rows",
    .text = "SELECT id, at_us, request, actor, origin, address, action, target, changed,"
            " old_value, new_value, reason, outcome FROM {p}_audit"
            " WHERE id < {1} AND at_us >= {2} AND ({3} = '' OR action = {3})"
            " AND ({4} = '' OR action LIKE {4} ESCAPE '!')"
            " AND ({5} = '' OR actor = {5}) AND ({6} = '' OR target = {6})"
            " ORDER BY id DESC LIMIT {7}",
    .parameters = "iitttti",
};

struct listed {
    int64_t id;
    int64_t at_us;
    struct weir_str request;
    struct weir_str actor;
    int64_t origin;
    struct weir_str address;
    struct weir_str action;
    struct weir_str target;
    int64_t count;
    struct weir_str before;
    struct weir_str after;
    struct weir_str reason;
    struct weir_str outcome;
};
static const struct weir_column LISTED[] = {
    COLUMN(struct listed, id, INTEGER),
    COLUMN(struct listed, at_us, INTEGER),
    COLUMN(struct listed, request, TEXT_OR_NONE),
    COLUMN(struct listed, actor, TEXT),
    COLUMN(struct listed, origin, INTEGER),
    COLUMN(struct listed, address, TEXT_OR_NONE),
    COLUMN(struct listed, action, TEXT),
    COLUMN(struct listed, target, TEXT_OR_NONE),
    COLUMN(struct listed, count, INTEGER),
    COLUMN(struct listed, before, TEXT_OR_NONE),
    COLUMN(struct listed, after, TEXT_OR_NONE),
    COLUMN(struct listed, reason, TEXT_OR_NONE),
    COLUMN(struct listed, outcome, TEXT),
};

/* Texts of a page: nine columns of at most 1 KiB, a thousand times. */
enum { ARENA_SIZE_MAX = 32 * 1024 * 1024, PATTERN_SIZE_MAX = 8 * 1024 };

static const char *text_of(struct weir_str text)
{
    return text.data; /* a copy in the arena, with a zero behind it */
}

static void show(const struct listed *row, weir_audit_visit_fn visit, void *state)
{
    const struct weir_audit_row shown = {
        .id = row->id,
        .at_us = row->at_us,
        .request = text_of(row->request),
        .actor = text_of(row->actor),
        .origin = (enum weir_audit_origin)row->origin,
        .address = text_of(row->address),
        .action = text_of(row->action),
        .target = text_of(row->target),
        .count = row->count,
        .before = text_of(row->before),
        .after = text_of(row->after),
        .reason = text_of(row->reason),
        .outcome = text_of(row->outcome),
    };

    visit(state, &shown);
}

static enum weir_status check_limit(const struct weir_audit_filter *filter,
                                    int64_t *limit, struct weir_error *error)
{
    *limit = filter->limit != 0 ? filter->limit : WEIR_AUDIT_LIMIT_DEFAULT;
    if (*limit < 1 || *limit > WEIR_AUDIT_LIMIT_MAX)
        return weir_error_set(error, WEIR_OUT_OF_RANGE,
                              "limit is %lld, must be from 1 to %d", (long long)*limit,
                              WEIR_AUDIT_LIMIT_MAX);
    return WEIR_OK;
}

static struct weir_value given(const char *text)
{
    return weir_text(weir_str(text != NULL ? text : ""));
}

/* "queue.*" as a pattern of LIKE; "" for an action that is given as a whole. */
static const char *write_pattern(const char *action, struct weir_buf *out)
{
    size_t size = strlen(action);

    if (size < 2 || action[size - 1] != '*')
        return "";
    for (size_t i = 0; i < size - 1; i++) {
        if (strchr("%_!", action[i]) != NULL)
            weir_buf_append(out, "!", 1);
        weir_buf_append(out, &action[i], 1);
    }
    weir_buf_append(out, "%", 1);
    return weir_buf_text(out);
}

/* One row more than the page has, to know whether there is another page. */
static enum weir_status read_rows(struct weir_connection *connection,
                                  const struct weir_audit_filter *filter, int64_t after,
                                  int64_t limit, struct weir_row_list *rows,
                                  struct weir_error *error)
{
    const char *action = filter->action != NULL ? filter->action : "";
    struct weir_buf buffer;
    const char *pattern;
    enum weir_status status;

    weir_buf_init(&buffer, weir_connection_config(connection)->heap, PATTERN_SIZE_MAX);
    pattern = write_pattern(action, &buffer);
    status = weir_buf_status(&buffer);
    if (status != WEIR_OK)
        (void)weir_error_set(error, status, "the action of the filter is too long");
    if (status == WEIR_OK)
        status = weir_query_each(connection, &SQL_LIST,
                                 VALUES(weir_integer(after > 0 ? after : INT64_MAX),
                                        weir_integer(filter->since_us),
                                        given(*pattern ? NULL : action), given(pattern),
                                        given(filter->actor), given(filter->target),
                                        weir_integer(limit + 1)),
                                 weir_row_append, rows, error);
    weir_buf_fini(&buffer);
    return status;
}

enum weir_status weir_audit_list(struct weir_db *db,
                                 const struct weir_audit_filter *filter, int64_t *after,
                                 weir_audit_visit_fn visit, void *state,
                                 struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    struct weir_arena arena;
    struct weir_row_list rows = ROW_LIST(LISTED, struct listed, &arena);
    const struct listed *items;
    int64_t limit = 0;
    enum weir_status status = check_limit(filter, &limit, error);

    if (status != WEIR_OK)
        return status;
    weir_arena_init(&arena, weir_db_config(db)->heap, ARENA_SIZE_MAX);
    status = weir_db_acquire(db, &connection, error);
    if (status == WEIR_OK)
        status = read_rows(connection, filter, *after, limit, &rows, error);
    weir_db_release(db, connection);
    items = rows.rows;
    for (size_t i = 0; status == WEIR_OK && i < rows.count && (int64_t)i < limit; i++)
        show(&items[i], visit, state);
    if (status == WEIR_OK)
        *after = (int64_t)rows.count > limit ? items[limit - 1].id : 0;
    weir_arena_fini(&arena);
    return status;
}
