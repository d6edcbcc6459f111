/*
 * child.c - see child.h.
 *
 *   I1  until `ended` the process and the guard of its group exist, if only as zombies:
 *       so their numbers belong to no other process, and killing them hits no other
 *       process
 *
 * What the group has besides the process dies with it: a handler is over when its
 * message is, and a forgotten background job would keep our pipes open and its work
 * going behind our back.
 */
#include "sink/util/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/count.h"
#include "base/text.h"
#include "sink/util/quiet.h"
#include "sink/util/spawn.h"

/* Without a pid_fd the end is looked for this often. */
enum { LOOK_MS = 5, READ_SIZE = 4096, PIPES = 3, READ_END = 0, WRITE_END = 1 };

static void close_fd(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

/* ---- opening ----------------------------------------------------------------------- */

/* Our end does not block. */
static int make_pipe(int ends[2], int ours)
{
    int number = weir_spawn_pipe(ends);

    if (number != 0) {
        ends[0] = ends[1] = -1;
        return number;
    }
    return fcntl(ends[ours], F_SETFL, O_NONBLOCK) == 0 ? 0 : errno;
}

/* The guard first: a process that was there before it could be left behind. */
static int start(struct weir_child *self, const struct weir_child_options *options,
                 int pipes[PIPES][2])
{
    struct weir_spawn_options spawn = {
        .command = options->command,
        .environment = options->environment,
        .in = pipes[0][READ_END],
        .out = options->answers ? pipes[1][WRITE_END] : STDOUT_FILENO,
        .err = pipes[2][WRITE_END],
    };
    int number = weir_guard_open(&self->guard);

    spawn.group = self->guard.pid;
    if (number == 0)
        number = weir_spawn(&spawn, &self->pid);
    if (number != 0)
        weir_guard_close(&self->guard);
    return number;
}

int weir_child_open(struct weir_child *self, const struct weir_child_options *options)
{
    int pipes[PIPES][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
    int number;

    *self = (struct weir_child){.pid_fd = -1, .in = -1, .out = -1, .err = -1};
    number = make_pipe(pipes[0], WRITE_END);
    if (number == 0 && options->answers)
        number = make_pipe(pipes[1], READ_END);
    if (number == 0)
        number = make_pipe(pipes[2], READ_END);
    if (number == 0)
        number = start(self, options, pipes);
    if (number == 0) {
        self->pid_fd = pidfd_open(self->pid, 0);
        self->in = pipes[0][WRITE_END];
        self->out = pipes[1][READ_END];
        self->err = pipes[2][READ_END];
        pipes[0][WRITE_END] = pipes[1][READ_END] = pipes[2][READ_END] = -1;
    }
    for (int i = 0; i < PIPES; i++) {
        close_fd(&pipes[i][0]);
        close_fd(&pipes[i][1]);
    }
    return number;
}

/* ---- what it says ------------------------------------------------------------------ */

/* The line of standard error that is complete becomes the last words. */
static void end_line(struct weir_child *self)
{
    if (self->line_size > 0) {
        self->line[self->line_size] = '\0';
        memcpy(self->words, self->line, self->line_size + 1);
    }
    self->line_size = 0;
}

/* Of a long line the beginning counts. Control characters would garble what people
 * read. */
static void hear(struct weir_child *self, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        char byte = bytes[i];

        if (byte == '\n')
            end_line(self);
        else if (self->line_size < sizeof self->line - 1 && byte != '\r')
            self->line[self->line_size++] = (unsigned char)byte < ' ' ? ' ' : byte;
    }
}

/* Read what is there; at the end of it the pipe is closed. */
static void read_err(struct weir_child *self)
{
    char bytes[READ_SIZE];
    ssize_t got = 1;

    while (self->err >= 0 && got > 0) {
        got = read(self->err, bytes, sizeof bytes);
        if (got > 0)
            hear(self, bytes, (size_t)got);
        else if (got == 0 || (errno != EAGAIN && errno != EINTR))
            close_fd(&self->err);
    }
}

/* Only as much as there is room for: a child that says too much waits. */
static void read_out(struct weir_child *self)
{
    size_t room = sizeof self->answer - self->answer_size;
    ssize_t got;

    if (self->out < 0 || room == 0)
        return;
    got = read(self->out, self->answer + self->answer_size, room);
    if (got > 0)
        self->answer_size += (size_t)got;
    else if (got == 0 || (errno != EAGAIN && errno != EINTR))
        close_fd(&self->out);
}

static void write_in(struct weir_child *self, struct weir_child_wait *wait)
{
    ssize_t written;

    if (self->in >= 0 && wait->input.size > 0) {
        written = weir_quiet_write(self->in, wait->input.data, wait->input.size);
        if (written > 0) {
            wait->input.data += written;
            wait->input.size -= (size_t)written;
        } else if (written < 0 && errno != EAGAIN && errno != EINTR) {
            close_fd(&self->in); /* it does not want to hear more: its code tells */
        }
    }
    if (wait->end_input && wait->input.size == 0)
        close_fd(&self->in);
}

/* ---- its end ----------------------------------------------------------------------- */

/* Has it ended? It stays a zombie. */
static bool has_ended(const struct weir_child *self)
{
    siginfo_t info = {0};

    return waitid(P_PID, (id_t)self->pid, &info, WEXITED | WNOWAIT | WNOHANG) != 0 ||
           info.si_pid != 0;
}

/* It has ended, or is about to: hear its last words, end its group, reap it. */
static void reap(struct weir_child *self)
{
    pid_t reaped;

    WEIR_ASSERT(!self->ended);
    (void)kill(self->pid, SIGKILL); /* it may have left the group */
    weir_guard_close(&self->guard);
    do
        reaped = waitpid(self->pid, &self->code, 0);
    while (reaped < 0 && errno == EINTR);
    if (reaped != self->pid)
        self->code = -1;
    self->ended = true;
    read_err(self);
    end_line(self);
    read_out(self);
}

/* Others of the group that was asked may have something to tidy up. A process that holds
 * none of our pipes is not waited for. */
static bool is_deserted(const struct weir_child *self)
{
    return !self->asked || (self->out < 0 && self->err < 0);
}

void weir_child_step(struct weir_child *self, struct weir_child_wait *wait)
{
    bool has_input = self->in >= 0 && wait->input.size > 0;
    bool has_room = self->answer_size < sizeof self->answer;
    struct pollfd ready[] = {
        {.fd = self->gone ? -1 : self->pid_fd, .events = POLLIN},
        {.fd = has_input ? self->in : -1, .events = POLLOUT},
        {.fd = has_room ? self->out : -1, .events = POLLIN},
        {.fd = self->err, .events = POLLIN},
    };
    int for_ms = self->pid_fd < 0 && wait->for_ms > LOOK_MS ? LOOK_MS : wait->for_ms;

    if (self->ended)
        return;
    if (wait->end_input && wait->input.size == 0)
        close_fd(&self->in);
    if (poll(ready, COUNT_OF(ready), for_ms) > 0) {
        if (ready[1].revents != 0)
            write_in(self, wait);
        if (ready[2].revents != 0)
            read_out(self);
        if (ready[3].revents != 0)
            read_err(self);
    }
    if (!self->gone && (self->pid_fd < 0 || ready[0].revents != 0))
        self->gone = has_ended(self);
    if (self->gone && is_deserted(self))
        reap(self);
}

bool weir_child_take_answer(struct weir_child *self, char *out, size_t *size)
{
    const char *newline = memchr(self->answer, '\n', self->answer_size);
    size_t passed;

    if (newline == NULL)
        return false;
    *size = (size_t)(newline - self->answer);
    passed = *size + 1;
    memcpy(out, self->answer, *size);
    self->answer_size -= passed;
    memmove(self->answer, self->answer + passed, self->answer_size);
    return true;
}

bool weir_child_says_too_much(const struct weir_child *self)
{
    return self->answer_size == sizeof self->answer &&
           memchr(self->answer, '\n', self->answer_size) == NULL;
}

bool weir_child_is_silent(const struct weir_child *self)
{
    return self->answer_size == 0;
}

void weir_child_drain(struct weir_child *self, struct weir_buf *out)
{
    do {
        weir_buf_append(out, self->answer, self->answer_size);
        self->answer_size = 0;
        read_out(self);
    } while (self->answer_size > 0);
}

void weir_child_ask(struct weir_child *self)
{
    if (self->pid == 0 || self->ended)
        return;
    self->asked = true;
    (void)kill(-self->guard.pid, SIGTERM);
}

void weir_child_kill(struct weir_child *self)
{
    if (self->pid != 0 && !self->ended)
        reap(self);
}

void weir_child_close(struct weir_child *self)
{
    weir_child_kill(self);
    close_fd(&self->pid_fd);
    close_fd(&self->in);
    close_fd(&self->out);
    close_fd(&self->err);
}

void weir_child_tell(const struct weir_child *self, char *out, size_t size)
{
    const char *before = self->words[0] != '\0' ? ": " : "";
    const char *signal_name;

    if (self->code == -1) {
        (void)weir_text_format(out, size, "ended, other code took its exit code%s%s",
                               before, self->words);
    } else if (WIFSIGNALED(self->code)) {
        signal_name = sigdescr_np(WTERMSIG(self->code));
        (void)weir_text_format(
            out, size, "killed by signal %d (%s)%s%s", WTERMSIG(self->code),
            signal_name != NULL ? signal_name : "unknown", before, self->words);
    } else {
        (void)weir_text_format(out, size, "exit code %d%s%s", WEXITSTATUS(self->code),
                               before, self->words);
    }
}
