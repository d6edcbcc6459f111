/*
 * answer_queues.c - queues, their partitions and subscriptions, and the status of a
 * database.
 */
#include "db/clock.h"
#include "db/db.h"
#include "db/sqlite/space.h"
#include "db/traits.h"
#include "server/api/answers.h"
#include "server/api/mount.h"
#include "server/api/server_records.h"
#include "view/queue_records.h"
#include "view/status_records.h"
#include "view/subscription_records.h"
#include "weir/inspect.h"

/* Rows on their way into a list, of those that the caller may see. */
struct rows {
    const struct weir_api_call *call;
    struct weir_record_list list;
    struct weir_record_list *into; /* the list above, or one of a view */
};

static void rows_init(struct rows *self, const struct weir_api_call *call,
                      const struct weir_record *record)
{
    self->call = call;
    self->into = &self->list;
    weir_record_list_init(&self->list, record, WEIR_FORM_JSON, weir_clock_wall_us());
}

/* `{"name":[...]}`, and the end of the rows. */
static enum weir_status rows_end(struct rows *self, struct weir_api_call *call,
                                 enum weir_status status)
{
    struct weir_buf *body = &call->body;

    if (status == WEIR_OK) {
        weir_output_open(body, NULL, "{");
        weir_record_list_append_json(&self->list, body, call->match.endpoint->list);
        weir_buf_append_text(body, "}");
    }
    weir_record_list_fini(&self->list);
    return status;
}

static void add_queue(void *state, const struct weir_queue_info *info)
{
    struct rows *rows = state;

    if (weir_call_sees_queue(rows->call, info->name))
        weir_record_list_add(rows->into, info);
}

static void add_process(void *state, const struct weir_process_info *info)
{
    struct rows *rows = state;

    if (weir_call_sees_queue(rows->call, info->queue))
        weir_record_list_add(rows->into, info);
}

static void add_partition(void *state, const struct weir_partition_info *info)
{
    struct rows *rows = state;

    weir_record_list_add(rows->into, info);
}

static void add_subscription(void *state, const struct weir_subscription_info *info)
{
    struct rows *rows = state;

    if (weir_call_sees_queue(rows->call, info->queue))
        weir_record_list_add(rows->into, info);
}

static void add_lane(void *state, const struct weir_lane_stats *lane)
{
    struct rows *rows = state;

    if (weir_call_sees_lane(rows->call, lane->lane, ""))
        weir_record_list_add(rows->into, lane);
}

/* The queue of the path, if the caller may see it. */
static const char *queue_of(const struct weir_api_call *call, struct weir_error *error)
{
    const char *queue = weir_call_name(call, 0);

    if (weir_call_sees_queue(call, queue))
        return queue;
    weir_call_hide("queue", queue, error);
    return NULL;
}

/* ---- queues ------------------------------------------------------------------------ */

enum weir_status weir_answer_queues(struct weir_api_call *call, struct weir_error *error)
{
    struct rows rows;

    rows_init(&rows, call, &weir_queue_record);
    return rows_end(
        &rows, call,
        weir_outbox_read_queues(weir_mount_outbox(call->mount), add_queue, &rows, error));
}

static void append_queue(void *state, const struct weir_queue_info *info)
{
    struct weir_api_call *call = state;

    weir_record_append_json(&weir_queue_record, &call->body, NULL, info, 0);
}

enum weir_status weir_answer_queue(struct weir_api_call *call, struct weir_error *error)
{
    const char *queue = queue_of(call, error);

    if (queue == NULL)
        return WEIR_NOT_FOUND;
    return weir_outbox_read_queue(weir_mount_outbox(call->mount), queue, append_queue,
                                  call, error);
}

enum weir_status weir_answer_partitions(struct weir_api_call *call,
                                        struct weir_error *error)
{
    const char *queue = queue_of(call, error);
    struct rows rows;

    if (queue == NULL)
        return WEIR_NOT_FOUND;
    rows_init(&rows, call, &weir_partition_record);
    return rows_end(&rows, call,
                    weir_outbox_read_partitions(weir_mount_outbox(call->mount), queue,
                                                add_partition, &rows, error));
}

enum weir_status weir_answer_subscriptions(struct weir_api_call *call,
                                           struct weir_error *error)
{
    const char *queue = queue_of(call, error);
    struct rows rows;

    if (queue == NULL)
        return WEIR_NOT_FOUND;
    rows_init(&rows, call, &weir_subscription_record);
    return rows_end(&rows, call,
                    weir_outbox_read_subscriptions(weir_mount_outbox(call->mount), queue,
                                                   add_subscription, &rows, error));
}

/* ---- the database ------------------------------------------------------------------ */

enum weir_status weir_answer_processes(struct weir_api_call *call,
                                       struct weir_error *error)
{
    struct rows rows;

    rows_init(&rows, call, &weir_process_record);
    return rows_end(&rows, call,
                    weir_outbox_read_processes(weir_mount_outbox(call->mount), NULL,
                                               add_process, &rows, error));
}

/* Is the caller restricted to a part of the engine's work? */
static bool sees_all_lanes(const struct weir_api_call *call)
{
    return call->grant.globs[WEIR_RESTRICT_LANES][0] == '\0' &&
           call->grant.globs[WEIR_RESTRICT_NAMESPACES][0] == '\0';
}

static enum weir_status read_engine(struct weir_connection *connection,
                                    const struct weir_api_call *call,
                                    struct weir_status_view *view,
                                    struct weir_error *error)
{
    struct rows lanes = {.call = call, .into = &view->lanes};
    enum weir_status status =
        weir_executions_are_there(connection, &view->has_executions, error);

    view->has_executions = view->has_executions && sees_all_lanes(call);
    if (status == WEIR_OK && view->has_executions)
        status = weir_executions_read_stats(connection, &view->executions, error);
    if (status == WEIR_OK && view->has_executions)
        status = weir_executions_read_lanes(connection, add_lane, &lanes, error);
    return status;
}

static enum weir_status read_space(struct weir_connection *connection,
                                   struct weir_status_view *view,
                                   struct weir_error *error)
{
    struct weir_sqlite_space space = {0};
    enum weir_status status = WEIR_OK;

    if (weir_connection_traits(connection)->in_process)
        status = weir_sqlite_space_read(connection, &space, error);
    view->file_bytes = space.pages * space.page_size;
    view->free_bytes = space.free_pages * space.page_size;
    return status;
}

static enum weir_status read_database(const struct weir_api_call *call,
                                      struct weir_status_view *view,
                                      struct weir_error *error)
{
    struct weir_db *db = weir_mount_db(call->mount);
    struct weir_connection *connection = NULL;
    enum weir_status status = weir_db_acquire(db, &connection, error);

    if (status == WEIR_OK)
        status = read_engine(connection, call, view, error);
    if (status == WEIR_OK)
        status = read_space(connection, view, error);
    weir_db_release(db, connection);
    return status;
}

enum weir_status weir_answer_status(struct weir_api_call *call, struct weir_error *error)
{
    struct weir_outbox *outbox = weir_mount_outbox(call->mount);
    struct weir_status_view view;
    struct rows queues = {.call = call, .into = &view.queues};
    struct rows processes = {.call = call, .into = &view.processes};
    enum weir_status status;

    weir_status_view_init(&view, WEIR_FORM_JSON);
    view.database = weir_mount_place(call->mount);
    status = weir_outbox_read_queues(outbox, add_queue, &queues, error);
    if (status == WEIR_OK)
        status = weir_outbox_read_processes(outbox, NULL, add_process, &processes, error);
    if (status == WEIR_OK)
        status = read_database(call, &view, error);
    if (status == WEIR_OK)
        weir_record_append_json(&weir_status_record, &call->body, NULL, &view, 0);
    weir_status_view_fini(&view);
    return status;
}

enum weir_status weir_answer_schema(struct weir_api_call *call, struct weir_error *error)
{
    struct weir_mount_status status;
    struct weir_schema_row row;

    (void)error;
    weir_mount_read_status(call->mount, &status);
    row = (struct weir_schema_row){
        .database = weir_mount_name(call->mount),
        .place = weir_mount_place(call->mount),
        .engine = weir_engine_name(weir_db_engine(weir_mount_db(call->mount))),
        .schema = status.schema,
        .engine_schema = status.engine_schema};
    weir_record_append_json(&weir_schema_record, &call->body, NULL, &row, 0);
    return WEIR_OK;
}
