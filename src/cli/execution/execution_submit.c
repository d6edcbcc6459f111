/*
 * execution_submit.c - `weir submit`: one execution, or one per line of standard input.
 *
 * What is wrong with a draft is reported before the database is opened: nothing is
 * half-created.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/heap.h"
#include "base/noun.h"
#include "base/text.h"
#include "cli/content.h"
#include "cli/execution/execution_drafting.h"
#include "cli/execution/execution_session.h"
#include "cli/fields.h"
#include "cli/lines.h"
#include "cli/output.h"
#include "cli/reply.h"
#include "execution/draft.h"
#include "view/execution_info_records.h"
#include "weir/heap.h"

enum {
    BATCH_DEFAULT = 1000,
    KEYS_SIZE_MAX = 64 << 20,
};

static int run(const struct weir_command *self, int argc, char **argv);

struct submit_call {
    struct weir_execution_session session;
    struct weir_drafting drafting; /* of each, but for what its line says */
    struct weir_content content;
    uint32_t partitions; /* 0: the default */

    bool lines;
    const char *key_field; /* NULL: none */
    size_t batch;          /* 0: not given */

    /* lines */
    struct weir_execution_draft *drafts; /* owned; room for a batch */
    struct weir_submission *submissions; /* likewise */
    struct weir_arena keys;              /* of the pending drafts */
    int64_t duplicates;
};

static const struct weir_command_option OPTIONS[] = {
    WEIR_DRAFTING_OPTIONS(struct submit_call),
    WEIR_DRAFTING_ID_OPTION(struct submit_call, "its id; default a new one"),
    WEIR_OPTION(0, "lines", NULL, "one per line of standard input, its input",
                WEIR_AS_FLAG(struct submit_call, lines)),
    WEIR_OPTION(0, "key-field", "F", "lines are JSON objects; this field is the key",
                WEIR_AS_TEXT(struct submit_call, key_field)),
    WEIR_OPTION(0, "batch", "N", "lines per transaction, 1 to 10000; default 1000",
                WEIR_AS_NUMBER(struct submit_call, batch, 1, WEIR_BATCH_MAX)),
    WEIR_PARTITIONS_OPTION(struct submit_call, partitions),
};

const struct weir_command weir_cli_submit = {
    .name = "submit",
    .summary = "submit an execution, and print its id",
    .usage = "--lane LANE --kind KIND [OPTION...]",
    .details =
        "It waits in its lane until a worker claims it, and ends exactly once. A key\n"
        "or an id that is used again for the same prints the id of the one that is\n"
        "there, and for something else is refused.\n"
        "\n"
        "With --lines the ids are printed one per line, in the order of the lines,\n"
        "as their transactions commit. A line that is empty or too long ends it:\n"
        "what came before is submitted, and the line's number is said.\n"
        "\n"
        "  weir submit --lane mail --kind welcome --input '{\"to\": \"anna\"}'\n"
        "  weir submit --lane cpu --kind resize --input @cat.png --retries 3\n"
        "  weir submit --lane mail --kind bill --lines --key-field no <bills\n",
    WEIR_OPTIONS(OPTIONS),
    .uses_db = true,
    .run = run,
};

/* ---- options ----------------------------------------------------------------------- */

static int check_together(const struct weir_command *self, const struct submit_call *out)
{
    if (!out->lines && (out->key_field != NULL || out->batch > 0))
        return weir_command_misuse(self, "--batch and --key-field are for --lines");
    if (out->lines &&
        (out->drafting.input != NULL || (out->drafting.given & WEIR_DRAFTING_ID) != 0 ||
         out->drafting.draft.idempotency_key != NULL))
        return weir_command_misuse(
            self, "--input, --key and --id are of one execution; --lines makes many");
    return WEIR_EXIT_DONE;
}

/* The exit code, or -1 to go on. */
static int parse(const struct weir_command *self, int argc, char **argv,
                 struct submit_call *out)
{
    int code;

    weir_drafting_init(&out->drafting);
    code = weir_command_parse(self, argc, argv, out, sizeof *out);
    if (code >= 0)
        return code;
    code = check_together(self, out);
    if (code == WEIR_EXIT_DONE)
        code = weir_drafting_finish(&out->drafting, self, out->partitions);
    return code == WEIR_EXIT_DONE ? -1 : code;
}

/* ---- one --------------------------------------------------------------------------- */

static int tell_one(const struct submit_call *self,
                    const struct weir_submission *submission)
{
    const struct weir_session *session = &self->session.session;
    char id[WEIR_EXECUTION_ID_TEXT_SIZE];

    if (session->shared.json)
        return weir_reply_json(session, &weir_submission_record, submission);
    puts(weir_execution_id_format(&submission->id, id));
    if (submission->duplicate && !session->shared.quiet)
        weir_command_note(session->command, "it was there already");
    return WEIR_EXIT_DONE;
}

/* The library counts drafts, and here there is one. */
static int tell_refused(const struct submit_call *self, const struct weir_error *error)
{
    static const char COUNTED[] = "draft 1 of 1: ";
    bool counted = strncmp(error->text, COUNTED, strlen(COUNTED)) == 0;

    if (counted && error->status == WEIR_MISMATCH)
        return weir_command_fail(self->session.session.command, "%s",
                                 error->text + strlen(COUNTED));
    if (counted && error->status == WEIR_NOT_FOUND) /* nothing else is looked for */
        return weir_command_fail(self->session.session.command,
                                 "%s; 'weir budget list' lists all",
                                 error->text + strlen(COUNTED));
    return weir_execution_session_fail(&self->session, error);
}

static int submit_one(struct submit_call *self)
{
    struct weir_execution_draft draft = self->drafting.draft;
    struct weir_submission submission = {.duplicate = false};
    struct weir_error error = {0};

    draft.input = self->content.data;
    draft.input_size = self->content.size;
    if (weir_execution_submit(self->session.executions, NULL, &draft, 1, &submission,
                              &error) != WEIR_OK)
        return tell_refused(self, &error);
    return tell_one(self, &submission);
}

/* ---- lines ------------------------------------------------------------------------- */

static enum weir_status fill_key(struct submit_call *self, struct weir_str line,
                                 struct weir_execution_draft *draft,
                                 struct weir_error *error)
{
    struct weir_field field = {.name = self->key_field};
    enum weir_status status = weir_fields_read(line, &self->keys, &field, 1, error);

    if (status == WEIR_OK && field.found != WEIR_FIELD_GIVEN)
        status =
            weir_error_set(error, WEIR_INVALID, "has no field '%s'", self->key_field);
    draft->idempotency_key = field.text;
    return status;
}

static enum weir_status fill_draft(void *state, size_t index, struct weir_str line,
                                   struct weir_error *error)
{
    struct submit_call *self = state;
    struct weir_execution_draft *draft = &self->drafts[index];
    enum weir_status status = WEIR_OK;

    *draft = self->drafting.draft;
    draft->input = line.data;
    draft->input_size = line.size;
    if (self->key_field != NULL)
        status = fill_key(self, line, draft, error);
    if (status != WEIR_OK)
        return status;
    status = weir_execution_draft_check(
        draft,
        self->partitions > 0 ? self->partitions : WEIR_EXECUTION_PARTITIONS_DEFAULT,
        error);
    if (status != WEIR_OK)
        weir_error_prefix(error, "cannot be submitted");
    return status;
}

static enum weir_status send(void *state, size_t count, struct weir_error *error)
{
    struct submit_call *self = state;
    char id[WEIR_EXECUTION_ID_TEXT_SIZE];
    enum weir_status status = weir_execution_submit(
        self->session.executions, NULL, self->drafts, count, self->submissions, error);

    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        self->duplicates += self->submissions[i].duplicate;
        if (!self->session.session.shared.json)
            puts(weir_execution_id_format(&self->submissions[i].id, id));
    }
    if (status == WEIR_OK && !self->session.session.shared.json)
        fflush(stdout); /* whether it could be written is asked at the end */
    weir_arena_reset(&self->keys);
    return status;
}

static int tell_lines(const struct submit_call *self,
                      const struct weir_lines_result *result)
{
    const struct weir_session *session = &self->session.session;
    const struct weir_lines_submitted row = {
        .count = result->count,
        .duplicates = self->duplicates,
        .elapsed_ns = result->elapsed_ns,
        .failed_line = result->failed_line > 0 ? result->failed_line : -1,
    };
    double seconds = (double)result->elapsed_ns / 1e9;
    char duplicates[64] = "";

    if (session->shared.json)
        return weir_reply_json(session, &weir_lines_submitted_record, &row);
    if (self->duplicates > 0)
        weir_text_format(duplicates, sizeof duplicates,
                         "; %" PRId64 " of them were there already", self->duplicates);
    if (!session->shared.quiet)
        fprintf(stderr, "%" PRId64 " %s in %.2f s, %.0f/s%s\n", result->count,
                WEIR_NOUN(result->count, "execution", "executions"), seconds,
                seconds > 0 ? (double)result->count / seconds : 0.0, duplicates);
    return WEIR_EXIT_DONE;
}

static int run_lines(struct submit_call *self)
{
    const struct weir_session *session = &self->session.session;
    const struct weir_lines_options options = {
        .command = session->command,
        .things = {"execution", "executions"},
        .done = "submitted",
        .line_size_max = WEIR_INPUT_SIZE_MAX,
        .batch = self->batch,
        .quiet = session->shared.quiet,
        .state = self,
        .fill = fill_draft,
        .send = send,
    };
    struct weir_lines_result result;
    int code, told;

    if (self->drafts == NULL || self->submissions == NULL)
        return weir_command_fail(session->command, "out of memory");
    code = weir_lines_run(&options, &result);
    if (code != WEIR_EXIT_DONE && !session->shared.json)
        return code;
    told = tell_lines(self, &result);
    return code != WEIR_EXIT_DONE ? code : told;
}

static int submit_lines(struct submit_call *self)
{
    const struct weir_heap *heap = weir_heap_system();
    int code;

    self->batch = self->batch > 0 ? self->batch : BATCH_DEFAULT;
    self->drafts = weir_heap_zalloc_array(heap, self->batch, sizeof *self->drafts);
    self->submissions =
        weir_heap_zalloc_array(heap, self->batch, sizeof *self->submissions);
    weir_arena_init(&self->keys, heap, KEYS_SIZE_MAX);
    code = run_lines(self);
    weir_arena_fini(&self->keys);
    weir_heap_free(heap, self->drafts);
    weir_heap_free(heap, self->submissions);
    return code;
}

static int run(const struct weir_command *self, int argc, char **argv)
{
    struct submit_call submit_call = {.lines = false};
    int code = parse(self, argc, argv, &submit_call);

    if (code >= 0)
        return code;
    code = WEIR_EXIT_DONE;
    if (submit_call.drafting.input != NULL)
        code = weir_content_take(&submit_call.content, self, "input",
                                 submit_call.drafting.input, WEIR_INPUT_SIZE_MAX);
    if (code == WEIR_EXIT_DONE) {
        code = weir_execution_session_open(&submit_call.session, self,
                                           WEIR_EXECUTION_SESSION_SILENT,
                                           &(struct weir_execution_session_wishes){
                                               .partitions = submit_call.partitions});
        if (code == WEIR_EXIT_DONE)
            code =
                submit_call.lines ? submit_lines(&submit_call) : submit_one(&submit_call);
        weir_execution_session_close(&submit_call.session);
    }
    weir_content_fini(&submit_call.content);
    return code;
}
