/*
 * execution_exec.c - see execution_exec.h.
 */
#include "cli/execution/execution_exec.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <sysexits.h>

#include "base/buf.h"
#include "base/count.h"
#include "base/text.h"
#include "cli/execution/execution_words.h"
#include "cli/output.h"
#include "sink/util/child.h"
#include "sink/util/environment.h"
#include "weir/heap.h"

enum { NUMBER_SIZE = 24, TAGS_SIZE_MAX = 120 * 1024, TOLD_SIZE = 512 };

/* Nothing rings when the claim is lost: it is looked at now and then, while something
 * runs. Between SIGTERM and SIGKILL is less than the second that a worker waits when it
 * is stopped. The worker says that a claim is lost when a tenth of the lease is left;
 * half of that is for the process, and the other half for two looks. */
enum { LOOK_MS_MAX = 50, LOOK_SHARE = 40, KILL_MS_MAX = 800, KILL_SHARE = 20 };

/* One process and what it has said. */
struct run {
    const struct weir_execution_exec *exec;
    struct weir_child child;
    struct weir_buf output;
    int64_t asked_ns; /* when it was asked to end, if it was */
    bool too_much;    /* more output than a result may have */
};

static enum weir_status init_environment(struct weir_environment *self,
                                         const struct weir_execution_exec *exec,
                                         const struct weir_claimed *claimed,
                                         const char *tags)
{
    char token[WEIR_EXECUTION_TOKEN_SIZE], id[WEIR_EXECUTION_ID_TEXT_SIZE];
    char attempt[NUMBER_SIZE], epoch[NUMBER_SIZE];
    const struct weir_environment_variable variables[] = {
        {"WEIR_TOKEN", weir_execution_token_format(&claimed->claim, token)},
        {"WEIR_ID", weir_execution_id_format(&claimed->claim.id, id)},
        {"WEIR_NAMESPACE", claimed->name_space},
        {"WEIR_LANE", claimed->lane},
        {"WEIR_KIND", claimed->kind},
        {"WEIR_NAME", claimed->name},
        {"WEIR_ATTEMPT", attempt},
        {"WEIR_ATTEMPT_TYPE", weir_attempt_type_name(claimed->type)},
        {"WEIR_EPOCH", epoch},
        {"WEIR_TAGS", tags},
        {"WEIR_DB", exec->db},
        {"WEIR_PREFIX", exec->prefix},
    };

    weir_text_format(attempt, sizeof attempt, "%" PRId32, claimed->attempt);
    weir_text_format(epoch, sizeof epoch, "%" PRId64, claimed->claim.epoch);
    return weir_environment_init(self, weir_heap_system(), variables,
                                 COUNT_OF(variables));
}

/* Owes a weir_environment_fini(), also when it fails. */
static enum weir_status make_environment(struct weir_environment *self,
                                         const struct weir_execution_exec *exec,
                                         const struct weir_claimed *claimed)
{
    struct weir_buf tags;
    enum weir_status status, tags_status;

    weir_buf_init(&tags, weir_heap_system(), TAGS_SIZE_MAX);
    weir_output_open(&tags, NULL, "{");
    for (size_t i = 0; i < claimed->tag_count; i++)
        weir_output_add_text(&tags, claimed->tags[i].key, claimed->tags[i].value);
    weir_buf_append_text(&tags, "}");
    tags_status = weir_buf_status(&tags);
    status = init_environment(self, exec, claimed,
                              tags_status == WEIR_OK ? weir_buf_text(&tags) : "");
    weir_buf_fini(&tags);
    return status == WEIR_OK ? tags_status : status;
}

/* ---- the process ------------------------------------------------------------------- */

static int64_t share_ms(const struct run *self, int share, int64_t max_ms)
{
    int64_t part_ms = self->exec->lease_ms / share;

    return part_ms < max_ms ? part_ms : max_ms;
}

static bool is_wait_limit_over(const struct run *self, int64_t now_ns)
{
    return self->child.asked &&
           now_ns - self->asked_ns >=
               share_ms(self, KILL_SHARE, KILL_MS_MAX) * WEIR_MILLISECONDS(1);
}

/* The stop signal, its grace, and output without end. */
static void restrain(struct run *self, struct weir_context *context)
{
    int64_t now_ns = weir_context_now(context);

    self->too_much = weir_buf_status(&self->output) != WEIR_OK;
    if (self->too_much || is_wait_limit_over(self, now_ns)) {
        weir_child_kill(&self->child);
    } else if (!self->child.asked && weir_context_cancelled(context)) {
        weir_child_ask(&self->child);
        self->asked_ns = now_ns;
    }
}

/* Until it has ended, by itself or not. */
static void attend(struct run *self, struct weir_context *context,
                   const struct weir_claimed *claimed)
{
    struct weir_child_wait wait = {
        .input = {claimed->input, claimed->input_size},
        .end_input = true,
        .for_ms = (int)share_ms(self, LOOK_SHARE, LOOK_MS_MAX),
    };

    while (!self->child.ended) {
        weir_child_step(&self->child, &wait);
        weir_child_drain(&self->child, &self->output);
        if (!self->child.ended)
            restrain(self, context);
    }
    self->too_much = weir_buf_status(&self->output) != WEIR_OK;
}

/* ---- the answer -------------------------------------------------------------------- */

static enum weir_answer judge(const struct run *self, struct weir_task *task)
{
    const struct weir_child *child = &self->child;
    bool exited = child->code != -1 && WIFEXITED(child->code);
    int code = exited ? WEXITSTATUS(child->code) : EXIT_FAILURE;
    const char *words = child->words;
    char told[TOLD_SIZE];

    weir_child_tell(child, told, sizeof told);
    if (self->too_much)
        return weir_task_fail_for_good(task, "standard output has more than %d bytes",
                                       WEIR_RESULT_SIZE_MAX);
    if (code == EX_TEMPFAIL)
        return weir_task_delay(task, self->exec->delay_ms);
    if (code == EX_DATAERR)
        return weir_task_fail_for_good(task, "%s", words[0] != '\0' ? words : told);
    if (child->asked)
        return WEIR_NOT_ANSWERED; /* we ended it */
    if (code == EXIT_SUCCESS)
        return weir_task_complete(task, weir_buf_text(&self->output), self->output.size);
    return weir_task_fail(task, "%s", told);
}

static enum weir_answer run(struct weir_context *context,
                            const struct weir_execution_exec *exec,
                            struct weir_task *task, char *const *environment)
{
    const struct weir_child_options options = {
        .command = exec->command,
        .environment = environment,
        .answers = true,
    };
    struct run run = {.exec = exec};
    enum weir_answer answer;
    char why[64];
    int number = weir_child_open(&run.child, &options);

    if (number != 0)
        return weir_task_fail(task, "start a process: %s",
                              strerror_r(number, why, sizeof why));
    weir_buf_init(&run.output, weir_heap_system(), WEIR_RESULT_SIZE_MAX);
    attend(&run, context, weir_task_claimed(task));
    answer = judge(&run, task);
    weir_child_close(&run.child);
    weir_buf_fini(&run.output);
    return answer;
}

enum weir_answer weir_execution_exec_run(struct weir_context *context, void *state,
                                         struct weir_task *task)
{
    const struct weir_execution_exec *exec = state;
    struct weir_environment environment;
    enum weir_status status =
        make_environment(&environment, exec, weir_task_claimed(task));
    enum weir_answer answer;

    if (status == WEIR_OK)
        answer = run(context, exec, task, environment.list);
    else
        answer = weir_task_fail(task, "start a process: %s", weir_status_text(status));
    weir_environment_fini(&environment);
    return answer;
}
