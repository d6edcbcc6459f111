/*
 * lines.c - see lines.h.
 *
 * Lines are not copied: things point into the block that was read, which moves only
 * when nothing is pending any more.
 *
 *   block   | pending, as things | line | line | beginning of a li ... |  room  |
 *                                ^ parsed                              ^ used
 *
 *   I1  every pending thing points into the block below `parsed`, or to memory of its own
 *   I2  things are sent in the order of their lines: at any moment those of the first
 *       `line_sent` lines are, and no other
 */
#include "cli/lines.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/heap.h"
#include "cli/progress.h"
#include "weir/heap.h"

/* A pipe that pauses for so long may be slow: what it brought is not held back. */
enum { PAUSE_MS = 100 };

enum { BLOCK_SIZE = 4 << 20 };

struct lines {
    const struct weir_lines_options *options;
    struct weir_lines_result *result;
    struct weir_progress progress;

    char *block; /* owned */
    size_t capacity;
    size_t parsed;
    size_t used;
    int64_t bytes; /* read so far */
    bool ended;

    size_t count;      /* pending */
    int64_t line;      /* number of the last one parsed */
    int64_t line_sent; /* ... sent */
};

static volatile sig_atomic_t interrupted;

static int open_lines(struct lines *self);
static int read_more(struct lines *self);
static int parse_block(struct lines *self);
static int add_line(struct lines *self, struct weir_str line);
static int send_pending(struct lines *self);

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
    return weir_command_fail(self->options->command,
                             "interrupted; %s up to line %" PRId64 ", %s: %" PRId64,
                             self->options->done, self->line_sent,
                             self->options->things.many, self->result->count);
}

int weir_lines_run(const struct weir_lines_options *options,
                   struct weir_lines_result *result)
{
    struct lines self = {.options = options, .result = result};
    int code;

    *result = (struct weir_lines_result){.count = 0};
    code = open_lines(&self);
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
    weir_heap_free(weir_heap_system(), self.block);
    return code;
}

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
    const struct weir_lines_options *options = self->options;

    self->capacity = BLOCK_SIZE + options->line_size_max;
    self->block = weir_heap_alloc(weir_heap_system(), self->capacity);
    weir_progress_begin(&self->progress, options->things, size_of_input(),
                        options->quiet ? WEIR_PROGRESS_OFF : WEIR_PROGRESS_ON_TERMINAL);
    if (self->block == NULL)
        return weir_command_fail(options->command, "out of memory");
    return WEIR_EXIT_DONE;
}

/* ---- reading ----------------------------------------------------------------------- */

/* Nothing is pending: what was not parsed yet goes to the front. */
static void move_rest(struct lines *self)
{
    memmove(self->block, self->block + self->parsed, self->used - self->parsed);
    self->used -= self->parsed;
    self->parsed = 0;
}

/* While something is pending, wait a moment only; then send it first. */
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
                   : weir_command_fail(self->options->command,
                                       "cannot read standard input: %s; %s before "
                                       "that: %" PRId64,
                                       strerror(reason), self->options->done,
                                       self->result->count);
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
        const char *line = self->block + self->parsed;
        size_t left = self->used - self->parsed;
        const char *end = memchr(line, '\n', left);
        size_t size = end != NULL ? (size_t)(end - line) : left;

        if (end == NULL && !self->ended && left <= self->options->line_size_max)
            break;
        self->line++;
        self->parsed += end != NULL ? size + 1 : left;
        code = add_line(self, (struct weir_str){line, size});
    }
    return code;
}

/* ---- one line ---------------------------------------------------------------------- */

/* What came before the line is sent; the line itself is reported and ends it all. */
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
    return weir_command_fail(self->options->command,
                             "line %" PRId64 " %s; %s before it: %" PRId64, line, why,
                             self->options->done, self->result->count);
}

static enum weir_status fill(struct lines *self, struct weir_str line,
                             struct weir_error *error)
{
    const struct weir_lines_options *options = self->options;

    if (line.size == 0)
        return weir_error_set(error, WEIR_INVALID, "is empty");
    if (line.size > options->line_size_max)
        return weir_error_set(error, WEIR_INVALID, "is longer than %zu bytes",
                              options->line_size_max);
    return options->fill(options->state, self->count, line, error);
}

static int add_line(struct lines *self, struct weir_str line)
{
    struct weir_error error = {0};

    if (fill(self, line, &error) != WEIR_OK)
        return stop_at_line(self, error.text);
    self->count++;
    return self->count == self->options->batch ? send_pending(self) : WEIR_EXIT_DONE;
}

/* ---- sending ----------------------------------------------------------------------- */

static int tell_send_failure(struct lines *self, const struct weir_error *error)
{
    weir_progress_end(&self->progress);
    self->result->failed_line = self->line_sent + 1;
    return weir_command_fail(
        self->options->command, "%s; %" PRId64 " %s %s, of the lines up to %" PRId64 "%s",
        error->text, self->result->count,
        WEIR_NOUN(self->result->count, self->options->things.one,
                  self->options->things.many),
        self->options->done, self->line_sent,
        error->status == WEIR_IN_DOUBT ? "; whether the next lines were is not known"
                                       : "");
}

static int send_pending(struct lines *self)
{
    struct weir_lines_result *result = self->result;
    struct weir_error error = {0};

    if (self->count == 0)
        return WEIR_EXIT_DONE;
    if (self->options->send(self->options->state, self->count, &error) != WEIR_OK)
        return tell_send_failure(self, &error);
    result->count += (int64_t)self->count;
    self->line_sent = self->line;
    self->count = 0;
    weir_progress_note(&self->progress, result->count, self->bytes);
    return WEIR_EXIT_DONE;
}
