/*
 * enqueue.c - `weir enqueue`: its options, and one message.
 */
#include "cli/message/enqueue.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/noun.h"
#include "cli/content.h"
#include "cli/output.h"
#include "cli/reply.h"
#include "outbox/names.h"
#include "outbox/queue/catalog.h"
#include "view/message_records.h"

enum { BATCH_DEFAULT = 1000, BATCH_MAX = 10000 };

#define TYPE_DEFAULT "message"

static int run(const struct weir_command *self, int argc, char **argv);

static const struct weir_command_option OPTIONS[] = {
    WEIR_OPTION('k', "key", "K", "messages of one key keep their order",
                WEIR_AS_TEXT(struct weir_enqueue_plan, draft.key)),
    WEIR_OPTION('p', "partition", "N", "instead of a key: this partition",
                WEIR_AS_NUMBER(struct weir_enqueue_plan, draft.route.partition, 0,
                               WEIR_PARTITIONS_MAX - 1),
                WEIR_ALSO_SET(struct weir_enqueue_plan, draft.route.pinned)),
    WEIR_OPTION('t', "type", "T", "what it is; default " TYPE_DEFAULT,
                WEIR_AS_TEXT(struct weir_enqueue_plan, draft.type),
                WEIR_ALSO_SET(struct weir_enqueue_plan, type_given)),
    WEIR_OPTION(
        0, "header", "NAME=VALUE", "a header; may be given 64 times",
        WEIR_AS_PAIR(struct weir_enqueue_plan, headers[0].name, headers[0].value, NULL),
        WEIR_IN_LIST(struct weir_enqueue_plan, headers, draft.header_count, "headers")),
    WEIR_OPTION(0, "file", "FILE", "the payload is in this file",
                WEIR_AS_TEXT(struct weir_enqueue_plan, file)),
    WEIR_OPTION(0, "lines", NULL, "one message per line of standard input",
                WEIR_AS_FLAG(struct weir_enqueue_plan, lines)),
    WEIR_OPTION(0, "batch", "N", "lines per transaction, 1 to 10000; default 1000",
                WEIR_AS_NUMBER(struct weir_enqueue_plan, batch, 1, BATCH_MAX)),
    WEIR_OPTION(0, "key-field", "F", "lines are JSON objects; this field is the key",
                WEIR_AS_TEXT(struct weir_enqueue_plan, key_field)),
    WEIR_OPTION(0, "type-field", "F", "... the type",
                WEIR_AS_TEXT(struct weir_enqueue_plan, type_field)),
    WEIR_OPTION(0, "payload-field", "F", "... the payload; else the whole line",
                WEIR_AS_TEXT(struct weir_enqueue_plan, payload_field)),
    WEIR_OPTION(0, "binary", NULL, "lines may hold any bytes, not only UTF-8",
                WEIR_AS_FLAG(struct weir_enqueue_plan, binary)),
    WEIR_OPTION(
        0, "size-max", "BYTES", "of a payload; default 65536, up to 16777216",
        WEIR_AS_NUMBER(struct weir_enqueue_plan, size_max, 1, WEIR_PAYLOAD_SIZE_MAX)),
};
static const struct weir_command_option OPERANDS[] = {
    WEIR_OPERAND("QUEUE", WEIR_AS_TEXT(struct weir_enqueue_plan, queue)),
    WEIR_OPERAND("PAYLOAD", WEIR_AS_TEXT(struct weir_enqueue_plan, payload),
                 .optional = true),
};

const struct weir_command weir_cli_enqueue = {
    .name = "enqueue",
    .summary = "put messages into a queue",
    .usage = "QUEUE [OPTION...] PAYLOAD | --file FILE | - | --lines",
    .details =
        "Enqueues one message: PAYLOAD, the content of a file, or for '-' all of\n"
        "standard input. With --lines each line of standard input is a message, and\n"
        "many of them are a transaction. A pipe that pauses is not held back: what\n"
        "it brought is enqueued after a moment.\n"
        "\n"
        "A line that is empty, too long or no JSON where JSON is wanted ends it:\n"
        "what came before is enqueued, and the line's number is said. A line\n"
        "without the field of --key-field or --type-field gets the key or type of\n"
        "the option; without that it is an error. A key of null is no key.\n"
        "\n"
        "  weir enqueue orders --key c42 '{\"total\": 5}'\n"
        "  tail -f orders.jsonl | weir enqueue orders --lines --key-field customer\n",
    WEIR_OPTIONS(OPTIONS),
    WEIR_OPERANDS(OPERANDS),
    .uses_db = true,
    .run = run,
};

/* ---- options ----------------------------------------------------------------------- */

/* Which payload, and only one. */
static int check_payload(const struct weir_command *self, struct weir_enqueue_plan *plan)
{
    int sources = plan->lines + (plan->file != NULL) + (plan->payload != NULL);

    if (sources == 0)
        return weir_command_misuse(
            self, "no payload: give PAYLOAD, --file FILE, '-' or --lines");
    if (sources > 1)
        return weir_command_misuse(
            self, "one of PAYLOAD, --file FILE, '-' and --lines is enough");
    if (plan->payload != NULL && strcmp(plan->payload, "-") == 0) {
        plan->file = "-";
        plan->payload = NULL;
    }
    return WEIR_EXIT_DONE;
}

static int check_together(const struct weir_command *self,
                          const struct weir_enqueue_plan *plan)
{
    bool for_lines = plan->key_field != NULL || plan->type_field != NULL ||
                     plan->payload_field != NULL || plan->batch != 0 || plan->binary;

    if (for_lines && !plan->lines)
        return weir_command_misuse(self,
                                   "--batch, --binary and --...-field are for --lines");
    if (plan->draft.route.pinned && (plan->draft.key != NULL || plan->key_field != NULL))
        return weir_command_misuse(self, "a key chooses the partition: give only one");
    return WEIR_EXIT_DONE;
}

/* The exit code, or -1 to go on. */
static int parse(const struct weir_command *self, int argc, char **argv,
                 struct weir_enqueue_plan *plan)
{
    int code = weir_command_parse(self, argc, argv, plan, sizeof *plan);

    if (code >= 0)
        return code;
    code = check_payload(self, plan);
    if (code == WEIR_EXIT_DONE)
        code = check_together(self, plan);
    if (plan->batch == 0)
        plan->batch = BATCH_DEFAULT;
    return code == WEIR_EXIT_DONE ? -1 : code;
}

/* ---- sending ----------------------------------------------------------------------- */

struct enqueue_call {
    const struct weir_enqueue_plan *plan;
    const struct weir_draft *drafts;
    size_t count;
    struct weir_receipt *receipts;
};

static enum weir_status enqueue(struct weir_outbox *outbox,
                                struct weir_connection *connection, void *argument,
                                struct weir_error *error)
{
    const struct enqueue_call *enqueue_call = argument;

    return weir_enqueue_batch(outbox, connection, enqueue_call->plan->queue,
                              enqueue_call->drafts, enqueue_call->count,
                              enqueue_call->receipts, error);
}

enum weir_status weir_enqueue_send(const struct weir_enqueue_plan *plan,
                                   const struct weir_draft *drafts, size_t count,
                                   struct weir_receipt *receipts,
                                   struct weir_error *error)
{
    struct enqueue_call enqueue_call = {plan, drafts, count, receipts};

    return weir_outbox_transact(plan->session.outbox, enqueue, &enqueue_call, error);
}

/* ---- one message ------------------------------------------------------------------- */

static int enqueue_one(const struct weir_enqueue_plan *plan,
                       struct weir_enqueue_result *result)
{
    struct weir_draft draft = plan->draft;
    struct weir_error error = {0};
    struct weir_content content = {.data = plan->payload};
    int code = WEIR_EXIT_DONE;

    content.size = plan->payload != NULL ? strlen(plan->payload) : 0;
    if (plan->file != NULL)
        code =
            weir_content_read(&content, plan->session.command, "payload", plan->file,
                              plan->size_max, "; --size-max allows more, up to 16777216");
    draft.payload = content.data;
    draft.payload_size = content.size;
    if (code == WEIR_EXIT_DONE &&
        weir_enqueue_send(plan, &draft, 1, &result->receipt, &error) != WEIR_OK)
        code = weir_session_fail(&plan->session, &error, plan->queue);
    if (code == WEIR_EXIT_DONE) {
        result->count = 1;
        result->first_id = result->last_id = result->receipt.id;
    }
    weir_content_fini(&content);
    return code;
}

/* ---- the end ----------------------------------------------------------------------- */

static int tell_json(const struct weir_enqueue_plan *plan,
                     const struct weir_enqueue_result *result)
{
    const struct weir_enqueued row = {
        .queue = plan->queue,
        .count = result->count,
        .first_id = result->first_id,
        .last_id = result->last_id,
        .lines = plan->lines,
        .elapsed_ns = result->elapsed_ns,
        .failed_line = plan->lines && result->failed_line > 0 ? result->failed_line : -1,
        .receipt = result->receipt,
    };

    return weir_reply_json(&plan->session, &weir_enqueued_record, &row);
}

static int tell(const struct weir_enqueue_plan *plan,
                const struct weir_enqueue_result *result)
{
    double seconds = (double)result->elapsed_ns / 1e9;
    char uid[WEIR_UID_TEXT_SIZE];

    if (plan->session.shared.json)
        return tell_json(plan, result);
    if (plan->session.shared.quiet)
        return WEIR_EXIT_DONE;
    if (plan->lines)
        printf("%" PRId64 " %s in %.2f s, %.0f/s\n", result->count,
               WEIR_NOUN(result->count, "message", "messages"), seconds,
               seconds > 0 ? (double)result->count / seconds : 0.0);
    else
        printf("enqueued in partition %" PRId32 " as %s\n", result->receipt.partition,
               weir_uid_format(result->receipt.uid, uid));
    return WEIR_EXIT_DONE;
}

/* Before anything is read: what is wrong for every message is reported at once. */
static int check_queue(const struct weir_enqueue_plan *plan)
{
    struct weir_connection *connection = NULL;
    struct weir_queue_row row;
    struct weir_error error = {0};
    struct weir_draft draft = plan->draft;
    enum weir_status status = weir_queue_name_check("queue name", plan->queue, &error);

    if (status == WEIR_OK)
        status = weir_draft_check(&draft, plan->size_max, &error);
    if (status == WEIR_OK)
        status = weir_db_acquire(plan->session.db, &connection, &error);
    if (status == WEIR_OK)
        status = weir_catalog_find_queue(connection, plan->queue, &row, &error);
    if (status == WEIR_OK && draft.route.pinned)
        status = weir_partition_check(plan->queue, draft.route.partition, row.partitions,
                                      &error);
    weir_db_release(plan->session.db, connection);
    return status == WEIR_OK ? WEIR_EXIT_DONE
                             : weir_session_fail(&plan->session, &error, plan->queue);
}

static int run(const struct weir_command *self, int argc, char **argv)
{
    struct weir_enqueue_plan plan = {
        .draft = {.type = TYPE_DEFAULT},
        .size_max = WEIR_PAYLOAD_SIZE_DEFAULT,
    };
    struct weir_enqueue_result result = {0};
    int code = parse(self, argc, argv, &plan);

    if (code >= 0)
        return code;
    plan.draft.headers = plan.headers;
    code = weir_session_open(
        &plan.session, self, WEIR_SESSION_OUTBOX,
        &(struct weir_session_wishes){.payload_size_max = plan.size_max});
    if (code == WEIR_EXIT_DONE)
        code = check_queue(&plan);
    if (code == WEIR_EXIT_DONE)
        code =
            plan.lines ? weir_enqueue_lines(&plan, &result) : enqueue_one(&plan, &result);
    if (code == WEIR_EXIT_DONE || (plan.session.shared.json && result.count > 0)) {
        int told = tell(&plan, &result);

        code = code != WEIR_EXIT_DONE ? code : told;
    }
    weir_session_close(&plan.session);
    return code;
}
