/*
 * execution_supervise.c - `weir supervise`: the reconcilers, until it is stopped.
 */
#include <stdio.h>

#include "cli/execution/execution_supervision.h"
#include "cli/interrupt.h"
#include "cli/reply.h"
#include "view/execution_info_records.h"

#define LOOK_PERIOD WEIR_MILLISECONDS(500)

static int run(const struct weir_command *self, int argc, char **argv);

struct supervise_call {
    struct weir_execution_session session;
    struct weir_execution_supervision supervision;
    int64_t grace_ns;
    int64_t partitions; /* 0: the default */
};

static const struct weir_command_option OPTIONS[] = {
    WEIR_EXECUTION_SUPERVISION_OPTIONS(struct supervise_call),
    WEIR_GRACE_OPTION(struct supervise_call, grace_ns),
    WEIR_PARTITIONS_OPTION(struct supervise_call, partitions),
};

const struct weir_command weir_cli_supervise = {
    .name = "supervise",
    .summary = "put right what is overdue, until it is stopped",
    .usage = "[OPTION...]",
    .details =
        "Workers vanish and times pass. Each reconciler looks for one kind of thing\n"
        "that is overdue, and sleeps until the next one is due, at most:\n"
        "\n"
        "  lease_expiry            leases that were not renewed             1.5s\n"
        "  attempt_timeout         attempts over their time limit           2s\n"
        "  delayed_promoter        delays that are over, retries too        750ms\n"
        "  execution_deadline      executions over their deadline           5s\n"
        "  suspension_timeout      suspensions over their time limit        2s\n"
        "  budget_reset            budgets whose period is over             15s\n"
        "  dependency              members whose dependencies have ended    15s\n"
        "  edge_cancel_dispatcher  members that a join does not need        1s\n"
        "  edge_cancel_reconciler  what a crash left of that                10s\n"
        "  housekeeping            what has ended longer ago than retention 60s\n"
        "\n"
        "One must run somewhere; any number may run on a database. 'weir work' has\n"
        "one of its own. SIGTERM and Ctrl-C stop it cleanly; a second one ends it\n"
        "at once. At the end it prints what was done.\n",
    WEIR_OPTIONS(OPTIONS),
    .uses_db = true,
    .run = run,
};

static int tell(const struct supervise_call *self, size_t unfinished)
{
    const struct weir_session *session = &self->session.session;
    const struct weir_supervised row = {self->supervision.infos, self->supervision.count,
                                        unfinished};
    int code = WEIR_EXIT_DONE;

    if (session->shared.json)
        code = weir_reply_json(session, &weir_supervised_record, &row);
    else if (!session->shared.quiet)
        code = weir_execution_supervision_print(&self->supervision);
    if (unfinished > 0)
        code = weir_command_fail(session->command,
                                 "%zu reconcilers did not end within the grace; what "
                                 "they had begun is undone",
                                 unfinished);
    return code;
}

static int supervise(struct supervise_call *self)
{
    struct weir_error error = {0};
    enum weir_status status = weir_interrupt_listen(&error);
    size_t unfinished;

    if (status == WEIR_OK)
        status = weir_execution_supervision_start(&self->supervision,
                                                  self->session.executions, &error);
    weir_interrupt_admit();
    if (status != WEIR_OK)
        return weir_execution_session_fail(&self->session, &error);
    while (weir_interrupt_wait(LOOK_PERIOD))
        weir_execution_supervision_watch(&self->supervision);
    unfinished = weir_execution_supervision_stop(&self->supervision, self->grace_ns);
    return tell(self, unfinished);
}

static int run(const struct weir_command *self, int argc, char **argv)
{
    static struct supervise_call supervise_call; /* too large for a stack */
    int code;

    weir_execution_supervision_init(&supervise_call.supervision, self);
    supervise_call.grace_ns = WEIR_GRACE_DEFAULT;
    code = weir_command_parse(self, argc, argv, &supervise_call, sizeof supervise_call);
    if (code >= 0)
        return code;
    code = weir_execution_session_open(
        &supervise_call.session, self, WEIR_EXECUTION_SESSION_TELLING,
        &(struct weir_execution_session_wishes){
            .partitions = (uint32_t)supervise_call.partitions,
        });
    if (code == WEIR_EXIT_DONE)
        code = supervise(&supervise_call);
    weir_execution_supervision_close(&supervise_call.supervision);
    weir_execution_session_close(&supervise_call.session);
    return code;
}
