/*
 * extension.c - weir_enqueue() for SQLite, as an extension that a program loads.
 *
 *   weir_enqueue(queue, key, payload [, type [, headers]])   the message's uid, as
 *                                                            sinks print it
 *   weir_prefix(prefix)                                       of the tables; on this
 *                                                             connection
 *
 * The rules are the library's own (outbox/names.h), compiled into the extension. The
 * message is appended on the connection that calls, in its transaction; without one a
 * call is one.
 *
 * Neither SQLITE_DIRECTONLY nor SQLITE_INNOCUOUS. Triggers are what the function is
 * wanted for, and one in a file of another author can do no more with it than
 * without: write to tables of the same file. But it does write, so where `PRAGMA
 * trusted_schema` is off, triggers may not call it.
 */
#include "base/no_memory.h"
#include "extension/sqlite.h"

#include <string.h>
#include <time.h>

#include "db/sql.h"
#include "extension/store.h"
#include "outbox/headers.h"
#include "outbox/log/log_position.h"
#include "outbox/names.h"
#include "weir/heap.h"

SQLITE_EXTENSION_INIT1

#define TYPE_DEFAULT "message"

enum { HEADERS_JSON_MAX = 8 * WEIR_HEADERS_SIZE_MAX };

/* One call of weir_enqueue(). */
struct call {
    struct weir_store *store;
    sqlite3 *handle;
    const char *queue;
    struct weir_draft draft;
    struct weir_str key;         /* of the draft, with its size */
    struct weir_str json;        /* the headers as they were given; data NULL: none */
    struct weir_headers headers; /* owned */
    struct weir_buf stored;      /* the headers as they are stored */
    size_t payload_max;
};

/* ---- arguments --------------------------------------------------------------------- */

/* SQLite's texts have a size, the library's end at a zero. */
static enum weir_status take_text(const char *what, sqlite3_value *value,
                                  struct weir_str *out, struct weir_error *error)
{
    *out = (struct weir_str){NULL, 0};
    if (sqlite3_value_type(value) == SQLITE_NULL)
        return WEIR_OK;
    out->data = (const char *)sqlite3_value_text(value);
    out->size = (size_t)sqlite3_value_bytes(value);
    if (out->data == NULL)
        return weir_no_memory(error, what);
    if (memchr(out->data, '\0', out->size) != NULL)
        return weir_error_set(error, WEIR_INVALID,
                              "%s \"%.60s\" has a zero byte, must have none", what,
                              out->data);
    return WEIR_OK;
}

/* Bytes as they are, anything else as text in UTF-8, whatever the database's encoding. */
static enum weir_status take_payload(struct weir_draft *draft, sqlite3_value *value,
                                     struct weir_error *error)
{
    if (sqlite3_value_type(value) == SQLITE_NULL)
        return weir_error_set(error, WEIR_INVALID, "payload is NULL, must have a value");
    draft->payload = sqlite3_value_type(value) == SQLITE_BLOB
                         ? sqlite3_value_blob(value)
                         : (const void *)sqlite3_value_text(value);
    draft->payload_size = (size_t)sqlite3_value_bytes(value);
    return WEIR_OK;
}

/* In the order in which the library looks at them: the payload comes after the type. */
static enum weir_status take_arguments(struct call *self, int count,
                                       sqlite3_value **values, struct weir_error *error)
{
    struct weir_str queue = {NULL, 0};
    struct weir_str type = {TYPE_DEFAULT, sizeof TYPE_DEFAULT - 1};
    enum weir_status status = take_text("queue name", values[0], &queue, error);

    if (status == WEIR_OK)
        status = weir_queue_name_check("queue name", queue.data, error);
    if (status == WEIR_OK && count > 3)
        status = take_text("type", values[3], &type, error);
    self->queue = queue.data;
    self->draft = (struct weir_draft){.type = type.data};
    if (status == WEIR_OK)
        status = weir_draft_check(&self->draft, self->payload_max, error);
    if (status == WEIR_OK)
        status = take_payload(&self->draft, values[2], error);
    if (status == WEIR_OK)
        status = weir_draft_check(&self->draft, self->payload_max, error);
    if (status == WEIR_OK)
        status = take_text("key", values[1], &self->key, error);
    self->draft.key = self->key.data;
    if (status == WEIR_OK)
        status = weir_draft_check(&self->draft, self->payload_max, error);
    if (status == WEIR_OK && count > 4)
        status = take_text("headers", values[4], &self->json, error);
    return status;
}

static enum weir_status read_headers(struct call *self, struct weir_error *error)
{
    struct weir_draft *draft = &self->draft;
    size_t index;
    enum weir_status status =
        weir_headers_read(self->json, weir_heap_system(), &self->headers, error);

    if (status != WEIR_OK)
        return status;
    draft->headers = self->headers.list;
    draft->header_count = self->headers.count;
    status = weir_draft_check(draft, self->payload_max, error);
    if (status == WEIR_OK && weir_headers_find_null(self->json, &index))
        return weir_error_set(error, WEIR_INVALID,
                              "header \"%.60s\" is NULL, must have a value",
                              draft->headers[index].name);
    if (status == WEIR_OK) {
        weir_headers_write(draft->headers, draft->header_count, &self->stored);
        status = weir_buf_status(&self->stored);
        if (status != WEIR_OK)
            (void)!weir_error_set(error, status, "headers");
    }
    return status;
}

/* ---- the call ---------------------------------------------------------------------- */

static int64_t now_us(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int32_t choose_partition(const struct call *self, const uint8_t *uid,
                                int32_t partitions)
{
    if (self->key.data != NULL)
        return weir_partition_of_key(self->key.data, self->key.size, partitions);
    return uid[0] % partitions; /* as good as any chance: partitions are a power of two */
}

static enum weir_status append(struct call *self, const struct weir_store_queue *queue,
                               int64_t at_us, uint8_t *uid, struct weir_error *error)
{
    struct weir_store_row row = {
        .created_us = at_us,
        .key = self->key,
        .type = weir_str(self->draft.type),
        .payload = {self->draft.payload, self->draft.payload_size},
    };

    sqlite3_randomness(WEIR_UID_SIZE, uid);
    memcpy(row.uid, uid, WEIR_UID_SIZE);
    row.pid = weir_pid(queue->id, choose_partition(self, uid, queue->partitions));
    if (self->draft.header_count > 0)
        row.headers = weir_buf_get(&self->stored);
    return weir_store_append(self->store, self->handle, &row, error);
}

static enum weir_status run(struct call *self, int count, sqlite3_value **values,
                            uint8_t *uid, struct weir_error *error)
{
    struct weir_store_queue queue;
    int64_t at_us = now_us();
    enum weir_status status =
        weir_store_payload_max(self->store, self->handle, &self->payload_max, error);

    if (status == WEIR_OK)
        status = take_arguments(self, count, values, error);
    if (status == WEIR_OK)
        status = read_headers(self, error);
    if (status == WEIR_OK)
        status = weir_store_find_queue(self->store, self->handle, self->queue, at_us,
                                       &queue, error);
    if (status == WEIR_OK)
        status = weir_store_check_room(self->store, self->handle, self->queue, &queue,
                                       at_us, error);
    if (status == WEIR_OK)
        status = append(self, &queue, at_us, uid, error);
    return status;
}

/* A code of SQLite's own is kept, so that a caller knows a busy database when it meets
 * one. */
static void fail(sqlite3_context *context, const struct weir_error *error)
{
    sqlite3_result_error(context, error->text, -1);
    if (error->native_code != 0)
        sqlite3_result_error_code(context, error->native_code);
}

static void enqueue(sqlite3_context *context, int count, sqlite3_value **values)
{
    struct call call = {
        .store = sqlite3_user_data(context),
        .handle = sqlite3_context_db_handle(context),
    };
    uint8_t uid[WEIR_UID_SIZE];
    char text[WEIR_UID_TEXT_SIZE];
    struct weir_error error = {0};

    if (count < 3 || count > 5) {
        sqlite3_result_error(context,
                             "weir_enqueue(queue, key, payload, type, headers): 3 to 5 "
                             "arguments",
                             -1);
        return;
    }
    weir_buf_init(&call.stored, weir_heap_system(), HEADERS_JSON_MAX);
    if (run(&call, count, values, uid, &error) == WEIR_OK)
        sqlite3_result_text(context, weir_uid_format(uid, text), -1, SQLITE_TRANSIENT);
    else
        fail(context, &error);
    weir_headers_free(&call.headers, weir_heap_system());
    weir_buf_fini(&call.stored);
}

static void set_prefix(sqlite3_context *context, int count, sqlite3_value **values)
{
    struct weir_store *store = sqlite3_user_data(context);
    const char *prefix = (const char *)sqlite3_value_text(values[0]);
    struct weir_error error = {0};

    (void)count;
    if (weir_prefix_check(prefix != NULL ? prefix : "", &error) != WEIR_OK) {
        fail(context, &error);
        return;
    }
    *store = (struct weir_store){.read_us = 0};
    memcpy(store->prefix, prefix, strlen(prefix) + 1); /* it is short, if it is one */
    sqlite3_result_text(context, store->prefix, -1, SQLITE_TRANSIENT);
}

/* ---- loading ----------------------------------------------------------------------- */

__attribute__((visibility("default"))) int
sqlite3_weir_init(sqlite3 *handle, char **message, const sqlite3_api_routines *api);

/* The first function owns the store, also when it could not be made; both go with the
 * connection. */
int sqlite3_weir_init(sqlite3 *handle, char **message, const sqlite3_api_routines *api)
{
    struct weir_store *store;
    int code;

    (void)message;
    SQLITE_EXTENSION_INIT2(api)
    store = sqlite3_malloc(sizeof *store);
    if (store == NULL)
        return SQLITE_NOMEM;
    *store = (struct weir_store){.prefix = "weir"};
    code = sqlite3_create_function_v2(handle, "weir_enqueue", -1, SQLITE_UTF8, store,
                                      enqueue, NULL, NULL, sqlite3_free);
    if (code == SQLITE_OK)
        code = sqlite3_create_function_v2(handle, "weir_prefix", 1, SQLITE_UTF8, store,
                                          set_prefix, NULL, NULL, NULL);
    return code;
}
