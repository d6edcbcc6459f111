/*
 * flow_add.c - `weir flow add` and `weir flow edge`.
 *
 * What is wrong with members, names and joins is reported before the database is opened.
 * What is added comes in one call, all or nothing, and a lost answer is asked for
 * again: the ids are the same.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/content.h"
#include "cli/execution/execution_words.h"
#include "cli/flow/flow_plan.h"
#include "cli/flow/flow_words.h"
#include "cli/reply.h"
#include "db/db.h"
#include "execution/flow/flow_store.h"

enum {
    FROM_SIZE_MAX = 64 << 20,
    TRIES_MAX = 5,
};

static int run_add(const struct weir_command *self, int argc, char **argv);
static int run_edge(const struct weir_command *self, int argc, char **argv);

struct add_call {
    struct weir_execution_session session;
    struct weir_flow_id flow;
    struct weir_flow_plan plan;
    struct weir_drafting drafting;
    struct weir_plan_ties ties;
    const char *from; /* NULL: none */
    int64_t revision; /* -1: whatever it is */
    uint32_t partitions;
    struct weir_content content;
    const char *name_space; /* of the flow */
};

#define REVISION_OPTION                                                                  \
    WEIR_OPTION(0, "revision", "N", "only if the flow is at this one",                   \
                WEIR_AS_NUMBER(struct add_call, revision, 0, INT64_MAX))

static const struct weir_command_option ADD_OPTIONS[] = {
    WEIR_OPTION('f', "from", "FILE", "many, as JSON; - for stdin",
                WEIR_AS_TEXT(struct add_call, from)),
    WEIR_PLAN_MEMBER_OPTIONS(struct add_call),
    REVISION_OPTION,
    WEIR_PARTITIONS_OPTION(struct add_call, partitions),
};
static const struct weir_command_option EDGE_OPTIONS[] = {
    WEIR_PLAN_JOIN_OPTIONS(struct add_call, "all, any or quorum:K; default all"),
    WEIR_PLAN_PASS_DATA_OPTION(struct add_call, "TO is given the result of FROM"),
    REVISION_OPTION,
    WEIR_PARTITIONS_OPTION(struct add_call, partitions),
};
static const struct weir_command_option OPERANDS[] = {
    WEIR_OPERAND("FLOW", WEIR_AS_FLOW_ID(struct add_call, flow),
                 .missing = "which flow? a FLOW is needed"),
};

const struct weir_command weir_cli_flow_add = {
    .name = "flow add",
    .summary = "add members to a flow, and say what they wait for",
    .usage = "FLOW --lane LANE --kind KIND [OPTION...] | FLOW --from FILE",
    .details =
        "Prints the ids, one per line. All are added, or none: no worker claims one\n"
        "before what it waits for is known. JSON is one object per line:\n"
        "\n"
        "  {\"name\": \"pack\", \"lane\": \"shop\", \"kind\": \"pack\"}\n"
        "  {\"name\": \"bill\", \"lane\": \"shop\", \"kind\": \"bill\", \"retries\": 3}\n"
        "  {\"name\": \"ship\", \"lane\": \"shop\", \"kind\": \"ship\",\n"
        "   \"after\": [\"pack\", \"bill\"], \"join\": \"all\"}      (on one line)\n"
        "  {\"from\": \"7-0193...\", \"to\": \"pack\", \"pass_data\": true}\n"
        "  {\"to\": \"ship\", \"join\": \"quorum:2\", \"cancel_remaining\": true}\n"
        "\n"
        "or one with lists of these: {\"members\": [], \"edges\": [], \"joins\": []}. A "
        "name\n"
        "is kept and shown, and no other member of the flow has it; edges use names of\n"
        "this call, or ids. Fields are called as the options, with a _ for a -; those\n"
        "that may be repeated are tags, capabilities and budgets.\n"
        "\n"
        "One result that is passed is given as it is; several are given as JSON, by\n"
        "name: {\"input\": OWN, \"results\": {\"pack\": RESULT, \"bill\": RESULT}}.\n",
    WEIR_OPTIONS(ADD_OPTIONS),
    WEIR_OPERANDS(OPERANDS),
    .uses_db = true,
    .run = run_add,
};

const struct weir_command weir_cli_flow_edge = {
    .name = "flow edge",
    .summary = "let members of a flow wait for another one",
    .usage = "FLOW FROM TO... [OPTION...]",
    .details =
        "FROM and TO are ids of members. TO must not have begun; how its edges are\n"
        "joined is said with the first of them. Edges that lead in a circle are "
        "refused.\n",
    WEIR_OPTIONS(EDGE_OPTIONS),
    WEIR_OPERANDS(OPERANDS),
    .reads_operands = true,
    .uses_db = true,
    .run = run_edge,
};

/* ---- options ----------------------------------------------------------------------- */

/* The exit code, or -1 to go on. */
static int parse(const struct weir_command *self, int argc, char **argv,
                 struct add_call *out)
{
    int code;

    *out = (struct add_call){.revision = -1};
    weir_drafting_init(&out->drafting);
    code = weir_command_parse(self, argc, argv, out, sizeof *out);
    weir_flow_plan_init(&out->plan, self, out->partitions);
    return code;
}

/* ---- the call ---------------------------------------------------------------------- */

static int tell_refused(struct add_call *self, struct weir_error *error)
{
    const char *name = weir_flow_plan_name_in(&self->plan, error->text);
    char text[sizeof error->text];

    if (name != NULL) {
        weir_text_format(text, sizeof text, "%s (\"%s\")", error->text, name);
        memcpy(error->text, text, sizeof text);
    }
    return weir_flow_fail(&self->session, error);
}

/*
 * Members are of the namespace of their flow. A role that may add to it need not have the
 * right to read the state of its members, which weir_flow_get() returns.
 */
static enum weir_status read_name_space(struct add_call *self, struct weir_error *error)
{
    struct weir_db *db = self->session.session.db;
    struct weir_connection *connection = NULL;
    struct weir_flow_row row;
    char id[WEIR_FLOW_ID_TEXT_SIZE];
    enum weir_status status = weir_db_acquire(db, &connection, error);

    if (status == WEIR_OK)
        status = weir_flow_find(connection, &self->flow, WEIR_FLOW_UNLOCKED,
                                &self->plan.arena, &row, error);
    if (status == WEIR_OK)
        self->name_space = row.name_space.data; /* copies end in a zero */
    if (status == WEIR_NO_ROW)
        status = weir_error_set(error, WEIR_NOT_FOUND, "there is no flow %s",
                                weir_flow_id_format(&self->flow, id));
    weir_db_release(db, connection);
    return status;
}

static int extend(struct add_call *self, int64_t *revision)
{
    struct weir_executions *executions = self->session.executions;
    struct weir_flow_extension extension;
    struct weir_error error = {0};
    enum weir_status status;
    int code;

    if (read_name_space(self, &error) != WEIR_OK)
        return weir_flow_fail(&self->session, &error);
    code = weir_flow_plan_settle(&self->plan, executions, &self->flow, self->name_space,
                                 &extension);
    if (code != WEIR_EXIT_DONE)
        return code;
    extension.revision = self->revision;
    /* After a lost answer a revision may be what this call has made of it. */
    for (int tries = 1;; tries++) {
        status =
            weir_flow_extend(executions, NULL, &self->flow, &extension, revision, &error);
        if (status != WEIR_IN_DOUBT || tries == TRIES_MAX || self->revision >= 0)
            break;
    }
    return status == WEIR_OK ? WEIR_EXIT_DONE : tell_refused(self, &error);
}

/* ---- telling ----------------------------------------------------------------------- */

static void print_ids(const struct add_call *self)
{
    bool names = !self->session.session.shared.quiet;
    char id[WEIR_EXECUTION_ID_TEXT_SIZE];

    for (size_t i = 0; i < weir_flow_plan_member_count(&self->plan); i++) {
        const struct weir_plan_member *member = weir_flow_plan_member(&self->plan, i);

        weir_execution_id_format(&member->id, id);
        if (names && member->name != NULL)
            printf("%s  %s\n", id, member->name);
        else
            puts(id);
    }
}

static int print_json(const struct add_call *self, int64_t revision)
{
    struct weir_flow_extended row = {.flow = self->flow, .revision = revision};
    int code;

    weir_record_list_init(&row.members, &weir_member_added_record, WEIR_FORM_JSON, 0);
    for (size_t i = 0; i < weir_flow_plan_member_count(&self->plan); i++) {
        const struct weir_plan_member *member = weir_flow_plan_member(&self->plan, i);

        weir_record_list_add(&row.members,
                             &(struct weir_member_added){member->id, member->name});
    }
    code = weir_reply_json(&self->session.session, &weir_flow_extended_record, &row);
    weir_record_list_fini(&row.members);
    return code;
}

static int add(struct add_call *self, const struct weir_command *command)
{
    int64_t revision = 0;
    int code = weir_execution_session_open(
        &self->session, command, WEIR_EXECUTION_SESSION_SILENT,
        &(struct weir_execution_session_wishes){.partitions = self->partitions});

    if (code == WEIR_EXIT_DONE)
        code = extend(self, &revision);
    if (code == WEIR_EXIT_DONE && self->session.session.shared.json)
        code = print_json(self, revision);
    else if (code == WEIR_EXIT_DONE)
        print_ids(self);
    weir_execution_session_close(&self->session);
    return code;
}

/* ---- add --------------------------------------------------------------------------- */

static int plan_one(const struct weir_command *command, struct add_call *self)
{
    struct weir_drafting *drafting = &self->drafting;
    int code = weir_drafting_finish(drafting, command, self->partitions);

    if (code == WEIR_EXIT_DONE)
        code = weir_flow_plan_add_member(&self->plan, drafting, &self->ties);
    if (code == WEIR_EXIT_DONE && drafting->input != NULL)
        code = weir_content_take(&self->content, command, "input", drafting->input,
                                 WEIR_INPUT_SIZE_MAX);
    drafting->draft.input = self->content.data;
    drafting->draft.input_size = self->content.size;
    return code;
}

static int plan_many(const struct weir_command *command, struct add_call *self)
{
    int code;

    if (self->drafting.given != 0 || self->ties.after != NULL || self->ties.joined ||
        self->ties.passes_data || self->ties.name != NULL)
        return weir_command_misuse(
            command, "--from has all that is to be known of members; the other options "
                     "are of one");
    code = weir_content_read(&self->content, command, "members", self->from,
                             FROM_SIZE_MAX, "; add them in several calls");
    if (code != WEIR_EXIT_DONE)
        return code;
    return weir_flow_plan_read(&self->plan,
                               (struct weir_str){self->content.data, self->content.size});
}

static struct add_call add_call; /* too large for a stack */

static int run_add(const struct weir_command *self, int argc, char **argv)
{
    int code = parse(self, argc, argv, &add_call);

    if (code >= 0)
        return code;
    code = add_call.from != NULL ? plan_many(self, &add_call) : plan_one(self, &add_call);
    if (code == WEIR_EXIT_DONE)
        code = add(&add_call, self);
    weir_flow_plan_fini(&add_call.plan);
    weir_content_fini(&add_call.content);
    return code;
}

/* ---- edge -------------------------------------------------------------------------- */

static int plan_edges(const struct weir_command *command, struct add_call *self, int argc,
                      char **argv)
{
    const char *from = optind < argc ? argv[optind++] : NULL;
    struct weir_execution_id id;
    int code = WEIR_EXIT_DONE;

    if (from == NULL || optind >= argc)
        return weir_command_misuse(command,
                                   "from where to where? FROM and TO are needed");
    code = weir_execution_take_id(command, from, &id);
    for (; optind < argc && code == WEIR_EXIT_DONE; optind++) {
        struct weir_plan_end to = {.word = argv[optind]};

        code = weir_execution_take_id(command, to.word, &id);
        if (code == WEIR_EXIT_DONE)
            code = weir_flow_plan_add_edge(&self->plan, from, to, self->ties.passes_data);
        if (code == WEIR_EXIT_DONE && self->ties.joined)
            code = weir_flow_plan_add_join(&self->plan, to, &self->ties.join);
    }
    return code;
}

static int run_edge(const struct weir_command *self, int argc, char **argv)
{
    int code = parse(self, argc, argv, &add_call);

    if (code >= 0)
        return code;
    code = plan_edges(self, &add_call, argc, argv);
    if (code == WEIR_EXIT_DONE)
        code = add(&add_call, self);
    weir_flow_plan_fini(&add_call.plan);
    return code;
}
