/*
 * composition.c - see composition.h.
 */
#include "execution/flow/composition.h"

#include "base/codec/base64.h"
#include "base/json.h"
#include "base/json_read.h"
#include "base/utf8.h"

void weir_composition_init(struct weir_composition *self, const struct weir_heap *heap,
                           size_t size_max)
{
    weir_buf_init(&self->results, heap, size_max);
    weir_buf_init(&self->encodings, heap, size_max);
}

void weir_composition_fini(struct weir_composition *self)
{
    weir_buf_fini(&self->results);
    weir_buf_fini(&self->encodings);
}

enum encoding { AS_JSON, AS_TEXT, AS_BASE64 };

static const char *const NAMES[] =
    {[AS_JSON] = "json", [AS_TEXT] = "text", [AS_BASE64] = "base64"};

static enum encoding encoding_of(struct weir_str bytes)
{
    if (bytes.size == 0 || weir_json_is_value(bytes))
        return AS_JSON;
    return weir_utf8_valid(bytes) ? AS_TEXT : AS_BASE64;
}

/* Never shorter than the bytes themselves: code that reads results up to a limit may
 * count these. */
static void append_value(struct weir_buf *out, struct weir_str bytes,
                         enum encoding encoding)
{
    if (bytes.size == 0) {
        weir_buf_append_text(out, "null");
    } else if (encoding == AS_JSON) {
        weir_buf_append(out, bytes.data, bytes.size);
    } else if (encoding == AS_TEXT) {
        weir_json_append_str(out, bytes);
    } else {
        weir_buf_append_text(out, "\"");
        weir_base64_append(out, bytes.data, bytes.size);
        weir_buf_append_text(out, "\"");
    }
}

/* The name of the next one in an object. */
static void append_name(struct weir_buf *out, struct weir_str name)
{
    if (out->size > 0)
        weir_buf_append_text(out, ", ");
    weir_json_append_str(out, name);
    weir_buf_append_text(out, ": ");
}

void weir_composition_add(struct weir_composition *self, struct weir_str name,
                          struct weir_str result)
{
    enum encoding encoding = encoding_of(result);

    append_name(&self->results, name);
    append_value(&self->results, result, encoding);
    if (encoding == AS_JSON)
        return;
    append_name(&self->encodings, name);
    weir_buf_append_format(&self->encodings, "\"%s\"", NAMES[encoding]);
}

/* `encoding` is that of the input. */
static void append_encodings(const struct weir_composition *self, enum encoding encoding,
                             struct weir_buf *out)
{
    bool both = encoding != AS_JSON && self->encodings.size > 0;

    if (encoding == AS_JSON && self->encodings.size == 0)
        return;
    weir_buf_append_text(out, ", \"encodings\": {");
    if (encoding != AS_JSON)
        weir_buf_append_format(out, "\"input\": \"%s\"%s", NAMES[encoding],
                               both ? ", " : "");
    if (self->encodings.size > 0) {
        weir_buf_append_text(out, "\"results\": {");
        weir_buf_append(out, self->encodings.data, self->encodings.size);
        weir_buf_append_text(out, "}");
    }
    weir_buf_append_text(out, "}");
}

enum weir_status weir_composition_finish(const struct weir_composition *self,
                                         struct weir_str input, struct weir_buf *out)
{
    enum encoding encoding = encoding_of(input);
    enum weir_status status = weir_buf_status(&self->results);

    if (status == WEIR_OK)
        status = weir_buf_status(&self->encodings);
    if (status == WEIR_OK) {
        weir_buf_append_text(out, "{\"input\": ");
        append_value(out, input, encoding);
        weir_buf_append_text(out, ", \"results\": {");
        weir_buf_append(out, self->results.data, self->results.size);
        weir_buf_append_text(out, "}");
        append_encodings(self, encoding, out);
        weir_buf_append_text(out, "}");
        status = weir_buf_status(out);
    }
    return status == WEIR_INVALID ? WEIR_TOO_LARGE : status;
}
