/*
 * enqueue_lines.c - one message per line of standard input, many per transaction.
 *
 * Lines are not copied: messages point into the block that was read, which moves only when
 * nothing is pending any more.
 *
 *   block   | pending, as drafts | line | line | beginning of a li ... |  room  |
 *                                ^ parsed                              ^ used
 *
 *   I1  every pending draft points into the block below `parsed`, or into the arena
 *   I2  messages are enqueued in the order of their lines: at any moment those of the first
 *       `line_sent` lines are, and no other
 *
 * So after a failure the user knows with which line to go on.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/heap.h"
#include "base/utf8.h"
#include "cli/enqueue.h"
#include "cli/fields.h"
#include "cli/progress.h"
#include "outbox/names.h"
#include "weir/heap.h"

/* A pipe that pauses for so long may be slow: what it brought is not held back. */
enum { PAUSE_MS = 100 };

enum { BLOCK_SIZE = 4 << 20, FIELDS_SIZE_MAX = 256 << 20, LINE_SLACK = 128 << 10 };

enum { FIELD_KEY, FIELD_TYPE, FIELD_PAYLOAD, FIELD_COUNT };

struct lines {
    const struct weir_enqueue_plan *plan;
    struct weir_enqueue_result *result;
    struct weir_progress progress;

    char *block; /* owned */
    size_t capacity;
    size_t parsed;
    size_t used;
    size_t line_size_max;
    int64_t bytes; /* read so far */
    bool ended;

    struct weir_draft *drafts;     /* owned; room for a batch */
    struct weir_receipt *receipts; /* likewise */
    size_t count;                  /* pending */
    struct weir_arena texts;       /* of the pending drafts */
    int64_t line;                  /* number of the last one parsed */
    int64_t line_sent;             /* ... enqueued */
};

static volatile sig_atomic_t interrupted;

static int open_lines(struct lines *self);
static void close_lines(struct lines *self);
static int read_more(struct lines *self);
static int parse_block(struct lines *self);
static int add_line(struct lines *self, char *text, size_t size);
static int send_pending(struct lines *self);
static int stop_at_line(struct lines *self, const char *why);

static void interrupt(int signal_number)
{
    (void)signal_number;
    interrupted = 1;
}

/* Without SA_RESTART: a read that waits is to end. */
static void listen_for_signals(void)
{
    struct sigaction action = {.sa_handler = interrupt};

    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

static int tell_interrupted(const struct lines *self)
{
    return weir_command_fail(self->plan->session.command,
                             "interrupted; enqueued up to line %" PRId64
                             ", messages: %" PRId64,
                             self->line_sent, self->result->count);
}

int weir_enqueue_lines(const struct weir_enqueue_plan *plan,
                       struct weir_enqueue_result *result)
{
    struct lines self = {.plan = plan, .result = result};
    int code = open_lines(&self);

    listen_for_signals();
    while (code == WEIR_EXIT_DONE && !self.ended && !interrupted) {
        code = read_more(&self);
        if (code == WEIR_EXIT_DONE)
            code = parse_block(&self);
    }
    if (code == WEIR_EXIT_DONE)
        code = send_pending(&self);
    result->elapsed_ns = weir_progress_elapsed_ns(&self.progress);
    weir_progress_end(&self.progress);
    if (code == WEIR_EXIT_DONE && interrupted)
        code = tell_interrupted(&self);
    close_lines(&self);
    return code;
}

/* ---- life --------------------------------------------------------------------------------- */

/* Of a file the size is known, and so how much is left. */
static int64_t size_of_input(void)
{
    struct stat found;

    if (fstat(STDIN_FILENO, &found) != 0 || !S_ISREG(found.st_mode))
        return 0;
    return found.st_size;
}

static int open_lines(struct lines *self)
{
    const struct weir_enqueue_plan *plan = self->plan;
    const struct weir_heap *heap = weir_heap_system();
    bool fields = plan->key_field != NULL || plan->type_field != NULL ||
                  plan->payload_field != NULL;

    /* In JSON a character may take six bytes, and other fields stand beside the payload. */
    self->line_size_max = fields ? 6 * plan->size_max + LINE_SLACK : plan->size_max;
    self->capacity = BLOCK_SIZE + self->line_size_max;
    weir_arena_init(&self->texts, heap, FIELDS_SIZE_MAX);
    self->block = weir_heap_alloc(heap, self->capacity);
    self->drafts = weir_heap_zalloc_array(heap, plan->batch, sizeof *self->drafts);
    self->receipts = weir_heap_zalloc_array(heap, plan->batch, sizeof *self->receipts);
    weir_progress_begin(&self->progress, "messages", size_of_input(),
                        plan->session.shared.quiet ? WEIR_PROGRESS_OFF
                                                   : WEIR_PROGRESS_ON_TERMINAL);
    if (self->block == NULL || self->drafts == NULL || self->receipts == NULL)
        return weir_command_fail(plan->session.command, "out of memory");
    return WEIR_EXIT_DONE;
}

static void close_lines(struct lines *self)
{
    const struct weir_heap *heap = weir_heap_system();

    weir_arena_fini(&self->texts);
    weir_heap_free(heap, self->block);
    weir_heap_free(heap, self->drafts);
    weir_heap_free(heap, self->receipts);
}

/* ---- reading ------------------------------------------------------------------------------ */

/* Nothing is pending: what was not parsed yet goes to the front. */
static void move_rest(struct lines *self)
{
    memmove(self->block, self->block + self->parsed, self->used - self->parsed);
    self->used -= self->parsed;
    self->parsed = 0;
}

/* While messages are pending, wait a moment only; then send them first. */
static int wait_for_input(struct lines *self)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    int ready = self->count > 0 ? poll(&input, 1, PAUSE_MS) : 1;

    return ready == 0 ? send_pending(self) : WEIR_EXIT_DONE;
}

static int read_more(struct lines *self)
{
    int code = wait_for_input(self);
    ssize_t size;

    if (code == WEIR_EXIT_DONE && self->used == self->capacity)
        code = send_pending(self); /* the rest can move then */
    if (code != WEIR_EXIT_DONE)
        return code;
    if (self->count == 0)
        move_rest(self);

    size = read(STDIN_FILENO, self->block + self->used, self->capacity - self->used);
    if (size < 0 && errno != EINTR && errno != EAGAIN) {
        int reason = errno;

        code = send_pending(self);
        return code != WEIR_EXIT_DONE
                   ? code
                   : weir_command_fail(self->plan->session.command,
                                       "cannot read standard input: %s; enqueued "
                                       "before that: %" PRId64,
                                       strerror(reason), self->result->count);
    }
    self->ended = size == 0;
    if (size > 0) {
        self->used += (size_t)size;
        self->bytes += size;
    }
    return WEIR_EXIT_DONE;
}

static int parse_block(struct lines *self)
{
    int code = WEIR_EXIT_DONE;

    while (code == WEIR_EXIT_DONE && self->parsed < self->used) {
        char *line = self->block + self->parsed;
        size_t left = self->used - self->parsed;
        char *end = memchr(line, '\n', left);

        if (end == NULL && !self->ended && left <= self->line_size_max)
            break;
        self->line++;
        self->parsed += end != NULL ? (size_t)(end - line) + 1 : left;
        code = add_line(self, line, end != NULL ? (size_t)(end - line) : left);
    }
    return code;
}

/* ---- one line ----------------------------------------------------------------------------- */

/* What came before the line is sent; the line itself is told and ends it all. */
static int stop_at_line(struct lines *self, const char *why)
{
    int64_t line = self->line;
    int code;

    self->line = line - 1;
    code = send_pending(self);
    if (code != WEIR_EXIT_DONE)
        return code;
    self->result->failed_line = line;
    weir_progress_end(&self->progress);
    return weir_command_fail(self->plan->session.command,
                             "line %" PRId64 " %s; enqueued before it: %" PRId64, line,
                             why, self->result->count);
}

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

static enum weir_status fill_draft(struct lines *self, struct weir_str line,
                                   struct weir_draft *draft, struct weir_error *error)
{
    const struct weir_enqueue_plan *plan = self->plan;
    enum weir_status status = WEIR_OK;

    *draft = plan->draft;
    draft->payload = line.data;
    draft->payload_size = line.size;
    if (line.size == 0)
        return weir_error_set(error, WEIR_INVALID, "is empty");
    if (line.size > self->line_size_max)
        return weir_error_set(error, WEIR_INVALID, "is longer than %zu bytes",
                              self->line_size_max);
    if (plan->key_field != NULL || plan->type_field != NULL ||
        plan->payload_field != NULL)
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

static int add_line(struct lines *self, char *text, size_t size)
{
    struct weir_error error = {0};

    if (fill_draft(self, (struct weir_str){text, size}, &self->drafts[self->count],
                   &error) != WEIR_OK)
        return stop_at_line(self, error.text);
    self->count++;
    return self->count == self->plan->batch ? send_pending(self) : WEIR_EXIT_DONE;
}

/* ---- sending ------------------------------------------------------------------------------ */

static int tell_send_failure(struct lines *self, const struct weir_error *error)
{
    weir_progress_end(&self->progress);
    self->result->failed_line = self->line_sent + 1;
    return weir_command_fail(self->plan->session.command,
                             "%s; %" PRId64 " messages were enqueued, those of the lines "
                             "up to %" PRId64 "%s",
                             error->text, self->result->count, self->line_sent,
                             error->status == WEIR_IN_DOUBT
                                 ? "; whether the next lines were is not known"
                                 : "");
}

static int send_pending(struct lines *self)
{
    struct weir_enqueue_result *result = self->result;
    struct weir_error error = {0};

    if (self->count == 0)
        return WEIR_EXIT_DONE;
    if (weir_enqueue_send(self->plan, self->drafts, self->count, self->receipts,
                          &error) != WEIR_OK)
        return tell_send_failure(self, &error);
    if (result->count == 0)
        result->first_id = self->receipts[0].id;
    result->last_id = self->receipts[self->count - 1].id;
    result->count += (int64_t)self->count;
    self->line_sent = self->line;
    self->count = 0;
    weir_arena_reset(&self->texts);
    weir_progress_note(&self->progress, result->count, self->bytes);
    return WEIR_EXIT_DONE;
}
