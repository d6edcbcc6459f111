/*
 * enqueue_lines.c - one message per line of standard input, many per transaction.
 *
 * Lines are not copied (lines.h): messages point to them, or into the arena.
 */
#include <string.h>

#include "base/arena.h"
#include "base/heap.h"
#include "base/utf8.h"
#include "cli/fields.h"
#include "cli/lines.h"
#include "cli/message/enqueue.h"
#include "outbox/names.h"
#include "weir/heap.h"

enum { FIELDS_SIZE_MAX = 256 << 20, LINE_SLACK = 128 << 10 };

enum { FIELD_KEY, FIELD_TYPE, FIELD_PAYLOAD, FIELD_COUNT };

struct lines {
    const struct weir_enqueue_plan *plan;
    struct weir_enqueue_result *result;
    struct weir_draft *drafts;     /* owned; room for a batch */
    struct weir_receipt *receipts; /* likewise */
    struct weir_arena texts;       /* of the pending drafts */
};

static bool has_fields(const struct weir_enqueue_plan *plan)
{
    return plan->key_field != NULL || plan->type_field != NULL ||
           plan->payload_field != NULL;
}

/* ---- one line ---------------------------------------------------------------------- */

/* A field's text, or the option's instead; NULL and *why: neither. */
static bool choose(const struct weir_field *field, const char *option, const char **out)
{
    if (field->name == NULL || field->found == WEIR_FIELD_ABSENT) {
        *out = option;
        return field->name == NULL || option != NULL;
    }
    *out = field->text;
    return true;
}

static enum weir_status fill_from_fields(struct lines *self, struct weir_str line,
                                         struct weir_draft *draft,
                                         struct weir_error *error)
{
    const struct weir_enqueue_plan *plan = self->plan;
    struct weir_field fields[FIELD_COUNT] = {
        [FIELD_KEY] = {.name = plan->key_field},
        [FIELD_TYPE] = {.name = plan->type_field},
        [FIELD_PAYLOAD] = {.name = plan->payload_field},
    };
    const char *missing = NULL;
    enum weir_status status =
        weir_fields_read(line, &self->texts, fields, FIELD_COUNT, error);

    if (status != WEIR_OK)
        return status;
    if (!choose(&fields[FIELD_KEY], plan->draft.key, &draft->key))
        missing = plan->key_field;
    else if (!choose(&fields[FIELD_TYPE], plan->type_given ? plan->draft.type : NULL,
                     &draft->type) ||
             (plan->type_field != NULL && draft->type == NULL))
        missing = plan->type_field;
    else if (plan->payload_field != NULL &&
             fields[FIELD_PAYLOAD].found == WEIR_FIELD_ABSENT)
        missing = plan->payload_field;
    if (missing != NULL)
        return weir_error_set(error, WEIR_INVALID, "has no field '%s'", missing);

    if (plan->type_field == NULL)
        draft->type = plan->draft.type;
    if (plan->payload_field != NULL) {
        draft->payload =
            fields[FIELD_PAYLOAD].text != NULL ? fields[FIELD_PAYLOAD].text : "null";
        draft->payload_size = strlen(draft->payload);
    }
    return WEIR_OK;
}

static enum weir_status fill_draft(void *state, size_t index, struct weir_str line,
                                   struct weir_error *error)
{
    struct lines *self = state;
    const struct weir_enqueue_plan *plan = self->plan;
    struct weir_draft *draft = &self->drafts[index];
    enum weir_status status = WEIR_OK;

    *draft = plan->draft;
    draft->payload = line.data;
    draft->payload_size = line.size;
    if (has_fields(plan))
        status = fill_from_fields(self, line, draft, error);
    else if (!plan->binary && !weir_utf8_valid(line))
        return weir_error_set(error, WEIR_INVALID,
                              "is not UTF-8 (--binary takes any bytes)");
    if (status != WEIR_OK)
        return status;
    status = weir_draft_check(draft, plan->size_max, error);
    if (status != WEIR_OK)
        weir_error_prefix(error, "cannot be enqueued");
    return status;
}

/* ---- all of them ------------------------------------------------------------------- */

static enum weir_status send(void *state, size_t count, struct weir_error *error)
{
    struct lines *self = state;
    struct weir_enqueue_result *result = self->result;
    enum weir_status status =
        weir_enqueue_send(self->plan, self->drafts, count, self->receipts, error);

    if (status != WEIR_OK)
        return status;
    if (result->first_id == 0)
        result->first_id = self->receipts[0].id;
    result->last_id = self->receipts[count - 1].id;
    weir_arena_reset(&self->texts);
    return WEIR_OK;
}

static int run(struct lines *self)
{
    const struct weir_enqueue_plan *plan = self->plan;
    const struct weir_lines_options options = {
        .command = plan->session.command,
        .things = {"message", "messages"},
        .done = "enqueued",
        /* In JSON a character may take six bytes, and other fields stand beside the
         * payload. */
        .line_size_max =
            has_fields(plan) ? 6 * plan->size_max + LINE_SLACK : plan->size_max,
        .batch = plan->batch,
        .quiet = plan->session.shared.quiet,
        .state = self,
        .fill = fill_draft,
        .send = send,
    };
    struct weir_lines_result lines;
    int code;

    if (self->drafts == NULL || self->receipts == NULL)
        return weir_command_fail(plan->session.command, "out of memory");
    code = weir_lines_run(&options, &lines);
    self->result->count = lines.count;
    self->result->elapsed_ns = lines.elapsed_ns;
    self->result->failed_line = lines.failed_line;
    return code;
}

int weir_enqueue_lines(const struct weir_enqueue_plan *plan,
                       struct weir_enqueue_result *result)
{
    const struct weir_heap *heap = weir_heap_system();
    struct lines self = {
        .plan = plan,
        .result = result,
        .drafts = weir_heap_zalloc_array(heap, plan->batch, sizeof *self.drafts),
        .receipts = weir_heap_zalloc_array(heap, plan->batch, sizeof *self.receipts),
    };
    int code;

    weir_arena_init(&self.texts, heap, FIELDS_SIZE_MAX);
    code = run(&self);
    weir_arena_fini(&self.texts);
    weir_heap_free(heap, self.drafts);
    weir_heap_free(heap, self.receipts);
    return code;
}
