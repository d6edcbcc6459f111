/*
 * console.c - one poll() over standard output and a signal file.
 *
 * write() is called only when poll() has promised room, and with no more than a pipe
 * takes without blocking; so the only place where the main thread waits is poll(), and
 * there it sees signals as well.
 */
#include "cli/console.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "weir/heap.h"
#include "weir/time.h"

#define HIDE_CURSOR "\033[?25l"
#define SHOW_CURSOR "\033[?25h"
#define CLEAR_SCREEN "\033[H\033[2J"
#define CLEAR_TO_END_OF_LINE "\033[K"
#define CLEAR_BELOW "\033[J"

enum { WIDTH_MIN = 20, HEIGHT_MIN = 4, OUTPUT_SIZE_MAX = 4 << 20 };

/* How long a reader that does not read is waited for: by the last words of a program that
 * was asked to stop, and by the few bytes that give the cursor back. */
enum { LAST_WAIT_LIMIT_MS = 1000, CURSOR_WAIT_LIMIT_MS = 100 };

static bool terminal_can_draw(void);
static void measure(struct weir_console *self);
static bool goes_on(const struct weir_console *self);
static void take_signals(struct weir_console *self);
static void pause_program(void);
static void write_if_room(const char *text);

enum weir_status weir_console_open(struct weir_console *self,
                                   enum weir_console_style style,
                                   struct weir_error *error)
{
    const char *no_color = getenv("NO_COLOR");
    struct sigaction hangup;
    sigset_t wanted;

    *self = (struct weir_console){.signal_fd = -1};
    self->live = style == WEIR_CONSOLE_LIVE_IF_TERMINAL && terminal_can_draw();
    if (self->live && (no_color == NULL || no_color[0] == '\0'))
        self->tones = WEIR_TONES_ON;

    sigemptyset(&wanted);
    sigaddset(&wanted, SIGINT);
    sigaddset(&wanted, SIGTERM);
    if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
        sigaddset(&wanted, SIGHUP); /* under nohup it stays ignored */
    if (self->live) {
        sigaddset(&wanted, SIGWINCH);
        sigaddset(&wanted, SIGTSTP);
    }
    self->signal_fd = signalfd(-1, &wanted, SFD_NONBLOCK | SFD_CLOEXEC);
    if (self->signal_fd < 0)
        return weir_error_set(error, WEIR_SYSTEM, "cannot wait for signals: %s",
                              strerror(errno));
    sigprocmask(SIG_BLOCK, &wanted, &self->mask_before);

    weir_buf_init(&self->output, weir_heap_system(), OUTPUT_SIZE_MAX);
    if (self->live)
        measure(self);
    return WEIR_OK;
}

void weir_console_close(struct weir_console *self)
{
    weir_console_release(self);
    weir_buf_fini(&self->output);
}

bool weir_console_draw(struct weir_console *self, struct weir_str frame)
{
    struct weir_buf *output = &self->output;
    size_t lines = 0;

    if (!self->live)
        return weir_console_write(self, frame);

    weir_buf_reset(output);
    if (self->signal_fd >= 0)
        weir_buf_append_text(output, HIDE_CURSOR);
    if (self->disturbed)
        weir_buf_append_text(output, CLEAR_SCREEN);
    else if (self->lines_drawn > 0)
        weir_buf_append_format(output, "\r\033[%zuA", self->lines_drawn);
    self->disturbed = false;

    /* A frame higher than the terminal would scroll away and could not be replaced. */
    while (frame.size > 0 && lines + 1 < self->height) {
        const char *end = memchr(frame.data, '\n', frame.size);
        size_t size = end != NULL ? (size_t)(end - frame.data) : frame.size;

        weir_buf_append(output, frame.data, size);
        weir_buf_append_text(output, CLEAR_TO_END_OF_LINE "\n");
        lines++;
        size += end != NULL;
        frame.data += size;
        frame.size -= size;
    }
    weir_buf_append_text(output, CLEAR_BELOW);
    self->lines_drawn = lines;
    return weir_console_write(self, weir_buf_get(output));
}

bool weir_console_write(struct weir_console *self, struct weir_str text)
{
    while (text.size > 0 && goes_on(self)) {
        struct pollfd files[2] = {
            {.fd = STDOUT_FILENO, .events = POLLOUT},
            {.fd = self->signal_fd, .events = POLLIN},
        };
        int wait_limit_ms = self->signal_fd >= 0 ? -1 : LAST_WAIT_LIMIT_MS;
        int ready = poll(files, 2, wait_limit_ms);
        ssize_t written;

        if (ready <= 0) {
            if (ready == 0)
                self->write_errno = ETIMEDOUT;
            else if (errno != EINTR)
                self->write_errno = errno;
            continue;
        }
        if (files[1].revents != 0)
            take_signals(self);
        if (files[0].revents == 0)
            continue;
        written =
            write(STDOUT_FILENO, text.data, text.size < PIPE_BUF ? text.size : PIPE_BUF);
        if (written >= 0) {
            text.data += written;
            text.size -= (size_t)written;
        } else if (errno != EINTR && errno != EAGAIN) {
            self->write_errno = errno;
        }
    }
    return goes_on(self);
}

bool weir_console_wait(struct weir_console *self, int64_t timeout_ns)
{
    struct pollfd file = {.fd = self->signal_fd, .events = POLLIN};
    int64_t timeout_ms = timeout_ns / WEIR_MILLISECONDS(1) + 1;

    if (timeout_ns <= 0)
        timeout_ms = 0;
    if (timeout_ms > INT_MAX)
        timeout_ms = INT_MAX;
    if (poll(&file, 1, (int)timeout_ms) > 0)
        take_signals(self);
    return goes_on(self);
}

void weir_console_go_on(struct weir_console *self)
{
    self->stop_asked = false;
}

void weir_console_release(struct weir_console *self)
{
    if (self->signal_fd < 0)
        return;
    close(self->signal_fd);
    self->signal_fd = -1;
    self->stop_asked = false;
    if (self->live)
        write_if_room("\r" CLEAR_TO_END_OF_LINE SHOW_CURSOR);

    /* A shell starts background jobs with SIGINT ignored; here the second one shall
     * count. */
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    sigprocmask(SIG_SETMASK, &self->mask_before, NULL);
}

void weir_console_show_cursor(void)
{
    if (terminal_can_draw())
        write_if_room(SHOW_CURSOR);
}

static bool terminal_can_draw(void)
{
    const char *kind = getenv("TERM");

    return isatty(STDOUT_FILENO) && kind != NULL && kind[0] != '\0' &&
           strcmp(kind, "dumb") != 0;
}

/* Terminals that do not know their size (serial lines) say 0. */
static void measure(struct weir_console *self)
{
    struct winsize size = {0};

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 ||
        size.ws_row == 0) {
        size.ws_col = 80;
        size.ws_row = 24;
    }
    self->width = size.ws_col > WIDTH_MIN ? size.ws_col : WIDTH_MIN;
    self->height = size.ws_row > HEIGHT_MIN ? size.ws_row : HEIGHT_MIN;
}

static bool goes_on(const struct weir_console *self)
{
    return !self->stop_asked && self->write_errno == 0;
}

static void take_signals(struct weir_console *self)
{
    struct signalfd_siginfo info;

    while (read(self->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        switch (info.ssi_signo) {
        case SIGTSTP:
            pause_program();
            measure(self);
            self->disturbed = true;
            break;
        case SIGWINCH:
            measure(self);
            self->disturbed = true;
            break;
        default:
            self->stop_asked = true;
            break;
        }
    }
}

/* What the terminal's Ctrl-Z does, with the cursor given back meanwhile. */
static void pause_program(void)
{
    write_if_room(SHOW_CURSOR);
    raise(SIGSTOP);
}

/* For a few bytes that are worth a try and not worth waiting for. */
static void write_if_room(const char *text)
{
    struct pollfd file = {.fd = STDOUT_FILENO, .events = POLLOUT};

    if (poll(&file, 1, CURSOR_WAIT_LIMIT_MS) > 0 &&
        write(STDOUT_FILENO, text, strlen(text)) < 0)
        return; /* it is not visible, then */
}
