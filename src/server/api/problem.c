/*
 * problem.c - see problem.h.
 */
#include "server/api/problem.h"

#include <ctype.h>
#include <stdarg.h>
#include <string.h>

#include "base/count.h"
#include "base/json.h"
#include "base/text.h"
#include "view/value.h"

struct code {
    const char *name; /* "NOT_FOUND" */
    unsigned status;
    enum weir_status_class what;
    const char *title;
};

#define ROW(name_, status_, class_, title_)                                              \
    [WEIR_PROBLEM_##name_] = {#name_, status_, WEIR_CLASS_##class_, title_},
static const struct code CODES[WEIR_PROBLEM_COUNT] = {
    [WEIR_PROBLEM_NONE] = {"NONE", 200, WEIR_CLASS_FINE, ""},
    WEIR_PROBLEM_LIST(ROW)};
#undef ROW

static const char *const CLASSES[] = {
    [WEIR_CLASS_FINE] = "fine",
    [WEIR_CLASS_RETRY] = "retry",
    [WEIR_CLASS_REJECT] = "reject",
    [WEIR_CLASS_STOP] = "stop",
};

#define SAME(name_) [WEIR_##name_] = WEIR_PROBLEM_##name_
static const enum weir_problem_code OF_STATUS[WEIR_STATUS_COUNT] = {
    [WEIR_OK] = WEIR_PROBLEM_BUG,
    [WEIR_NO_ROW] = WEIR_PROBLEM_NOT_COMPLETED,
    SAME(INVALID),
    SAME(EXISTS),
    SAME(CONSTRAINT),
    SAME(NOT_FOUND),
    SAME(OUT_OF_RANGE),
    SAME(TOO_LARGE),
    SAME(MISMATCH),
    SAME(FOREIGN),
    SAME(CYCLE),
    SAME(TOO_DEEP),
    SAME(STALE),
    SAME(NO_MEMORY),
    SAME(SYSTEM),
    SAME(BUSY),
    SAME(TIMEOUT),
    SAME(FAILED),
    SAME(PANICKED),
    SAME(CONFLICT),
    SAME(LOCKED),
    SAME(LOST),
    SAME(IN_DOUBT),
    SAME(DISK_FULL),
    SAME(FULL),
    [WEIR_CANCELLED] = WEIR_PROBLEM_DRAINING,
    [WEIR_CLOSED] = WEIR_PROBLEM_DRAINING,
    [WEIR_DENIED] = WEIR_PROBLEM_DATABASE_DENIED,
    SAME(SCHEMA),
    SAME(FENCED),
};
#undef SAME

void weir_problem_init(struct weir_problem *self)
{
    *self = (struct weir_problem){.limit = -1, .retry_after_seconds = -1};
}

void weir_problem_set(struct weir_problem *self, enum weir_problem_code code,
                      const char *format, ...)
{
    va_list arguments;

    weir_problem_init(self);
    self->code = code;
    va_start(arguments, format);
    weir_text_format_list(self->detail, sizeof self->detail, format, arguments);
    va_end(arguments);
}

void weir_problem_set_error(struct weir_problem *self, const struct weir_error *error)
{
    const char *text =
        error->text[0] != '\0' ? error->text : weir_status_text(error->status);

    weir_problem_set(self, weir_problem_code_of(error->status), "%s", text);
    if (error->status == WEIR_IN_DOUBT)
        self->repeat = WEIR_REPEAT_LOOK_FIRST;
}

enum weir_problem_code weir_problem_code_of(enum weir_status status)
{
    if ((unsigned)status >= WEIR_STATUS_COUNT)
        return WEIR_PROBLEM_BUG;
    return OF_STATUS[status];
}

const char *weir_problem_code_name(enum weir_problem_code code, char *out)
{
    size_t size = strlen(CODES[code].name);

    for (size_t i = 0; i <= size; i++)
        out[i] = (char)tolower((unsigned char)CODES[code].name[i]);
    return out;
}

const char *weir_problem_title(enum weir_problem_code code)
{
    return CODES[code].title;
}

unsigned weir_problem_status(enum weir_problem_code code)
{
    return CODES[code].status;
}

static void append_optional(const struct weir_problem *self, struct weir_buf *json)
{
    if (self->field[0] != '\0')
        weir_output_add_text(json, "field", self->field);
    if (self->limit >= 0)
        weir_output_add_number(json, "limit", self->limit);
    if (self->nearest[0] != '\0')
        weir_output_add_text(json, "nearest", self->nearest);
    if (self->retry_after_seconds >= 0)
        weir_output_add_number(json, "retry_after_seconds", self->retry_after_seconds);
    if (self->repeat != WEIR_REPEAT_UNSAID)
        weir_output_add_text(json, "repeat",
                             self->repeat == WEIR_REPEAT_SAFE ? "safe" : "look_first");
}

void weir_problem_append_json(const struct weir_problem *self, const char *request,
                              struct weir_buf *json)
{
    const struct code *code = &CODES[self->code];
    char name[WEIR_PROBLEM_WORD_SIZE];
    char type[WEIR_PROBLEM_WORD_SIZE + sizeof "urn:weir:"];

    weir_problem_code_name(self->code, name);
    weir_text_format(type, sizeof type, "urn:weir:%s", name);
    weir_output_open(json, NULL, "{");
    weir_output_add_text(json, "type", type);
    weir_output_add_text(json, "title", code->title);
    weir_output_add_number(json, "status", code->status);
    weir_output_open(json, "detail", "");
    weir_json_append_str(json, weir_str(self->detail));
    weir_output_add_text(json, "instance", request);
    weir_output_add_text(json, "code", name);
    weir_output_add_text(json, "class", CLASSES[code->what]);
    append_optional(self, json);
    weir_buf_append_text(json, "}");
}

/* ---- schema ------------------------------------------------------------------------ */

static const struct {
    const char *name;
    const char *type;
    const char *about;
} FIELDS[] = {
    {"type", "string", "urn:weir: and the code."},
    {"title", "string", "The code as a sentence."},
    {"status", "integer", "The HTTP status."},
    {"detail", "string", "What went wrong here."},
    {"instance", "string", "Id of the request."},
    {"code", "string", "What went wrong; it never changes its meaning."},
    {"class", "string",
     "`retry`: later it may work; `reject`: this request never will; `stop`: this caller "
     "must stop."},
    {"field", "string", "Parameter, or JSON pointer to the field."},
    {"limit", "integer", "The limit that was exceeded."},
    {"nearest", "string", "The nearest name that exists."},
    {"retry_after_seconds", "integer", "When to try again; as Retry-After."},
    {"repeat", "string", "`safe` or `look_first`: may the request be repeated as it is?"},
};
enum { REQUIRED_COUNT = 7 };

void weir_problem_append_schema(struct weir_buf *json)
{
    weir_buf_append_text(json, "{\"type\":\"object\",\"required\":[");
    for (size_t i = 0; i < REQUIRED_COUNT; i++)
        weir_output_add_text(json, NULL, FIELDS[i].name);
    weir_buf_append_text(json, "]");
    weir_output_open(json, "properties", "{");
    for (size_t i = 0; i < COUNT_OF(FIELDS); i++) {
        weir_output_open(json, FIELDS[i].name, "{");
        weir_output_add_text(json, "type", FIELDS[i].type);
        weir_output_add_text(json, "description", FIELDS[i].about);
        weir_buf_append_text(json, "}");
    }
    weir_buf_append_text(json, "}}");
}
