/*
 * audit_export.c - see audit_export.h.
 */
#include "outbox/audit/audit_export.h"

#include <inttypes.h>

#include "base/buf.h"
#include "base/codec/utc.h"
#include "base/json.h"
#include "weir/outbox.h"

/* Every byte of a text may become six, and the texts together have 6 KiB. */
enum { PAYLOAD_SIZE_MAX = 64 * 1024 };

static void add(struct weir_buf *json, const char *name, struct weir_str text)
{
    weir_buf_append_format(json, "%s\"%s\":", json->size > 1 ? "," : "", name);
    if (text.data == NULL)
        weir_buf_append_text(json, "null");
    else
        weir_json_append_str(json, text);
}

static void write_payload(struct weir_buf *json, const struct weir_audit_message *message)
{
    char at[WEIR_UTC_SIZE];

    weir_buf_append_text(json, "{");
    add(json, "at", weir_str(weir_utc_format(message->at_us, at)));
    add(json, "request", message->request);
    add(json, "who", message->actor);
    add(json, "from", weir_str(weir_audit_origin_name(message->origin)));
    add(json, "address", message->address);
    add(json, "action", message->action);
    add(json, "target", message->target);
    weir_buf_append_format(json, ",\"count\":%" PRId64, message->count);
    add(json, "before", message->before);
    add(json, "after", message->after);
    add(json, "reason", message->reason);
    add(json, "outcome", message->outcome);
    weir_buf_append_text(json, "}");
}

/* The end of a text of a database is no zero. */
static const char *key_of(struct weir_buf *key, struct weir_str target)
{
    if (target.data == NULL || target.size == 0)
        return NULL;
    weir_buf_append(key, target.data, target.size);
    return weir_buf_text(key);
}

enum weir_status weir_audit_export(struct weir_outbox *outbox,
                                   struct weir_connection *connection,
                                   const struct weir_audit_message *message,
                                   struct weir_error *error)
{
    const struct weir_heap *heap = weir_connection_config(connection)->heap;
    struct weir_draft draft = {.type = WEIR_AUDIT_QUEUE};
    struct weir_buf json, key;
    enum weir_status status;

    weir_buf_init(&json, heap, PAYLOAD_SIZE_MAX);
    weir_buf_init(&key, heap, WEIR_KEY_SIZE_MAX + 1);
    write_payload(&json, message);
    draft.key = key_of(&key, message->target);
    draft.payload = weir_buf_text(&json);
    draft.payload_size = json.size;
    status = weir_buf_status(&json);
    if (status == WEIR_OK)
        status = weir_buf_status(&key);
    if (status == WEIR_OK)
        status = weir_enqueue(outbox, connection, WEIR_AUDIT_QUEUE, &draft, NULL, error);
    else
        (void)weir_error_set(error, status, "no memory for a message");
    weir_buf_fini(&json);
    weir_buf_fini(&key);
    return status;
}
