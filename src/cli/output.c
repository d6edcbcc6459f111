/*
 * output.c - see output.h.
 */
#include "cli/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "weir/heap.h"

enum { TEXT_SIZE_MAX = 4 << 20, WIDTH_MIN = 40 };

enum weir_tone_use weir_output_tones(void)
{
    const char *no_color = getenv("NO_COLOR");
    const char *kind = getenv("TERM");

    if (!isatty(STDOUT_FILENO) || (no_color != NULL && no_color[0] != '\0') ||
        kind == NULL || strcmp(kind, "dumb") == 0)
        return WEIR_TONES_OFF;
    return WEIR_TONES_ON;
}

size_t weir_output_width(void)
{
    struct winsize size = {0};

    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 ||
        size.ws_col == 0)
        return 0;
    return size.ws_col > WIDTH_MIN ? size.ws_col : WIDTH_MIN;
}

/* Whether it could be written is asked at the end of the program. */
static int print(const struct weir_command *command, const struct weir_buf *text,
                 const char *end)
{
    enum weir_status status = weir_buf_status(text);

    if (status != WEIR_OK)
        return weir_command_fail(command, "print: %s", weir_status_text(status));
    fwrite(weir_buf_text(text), 1, text->size, stdout);
    fputs(end, stdout);
    return WEIR_EXIT_DONE;
}

enum weir_status weir_output_append_table(const struct weir_table *table,
                                          struct weir_buf *text)
{
    return weir_table_print(table, weir_output_width(), weir_output_tones(), text);
}

int weir_output_table(const struct weir_command *command, const struct weir_table *table)
{
    struct weir_buf text;
    enum weir_status status;
    int code;

    weir_buf_init(&text, weir_heap_system(), TEXT_SIZE_MAX);
    status = weir_output_append_table(table, &text);
    code = status == WEIR_OK
               ? print(command, &text, "")
               : weir_command_fail(command, "print: %s", weir_status_text(status));
    weir_buf_fini(&text);
    return code;
}

int weir_output_lines(const struct weir_command *command, const struct weir_buf *text)
{
    return print(command, text, "");
}

int weir_output_text(const struct weir_command *command, const struct weir_buf *text)
{
    return print(command, text, "\n");
}

int weir_output_bytes(const struct weir_command *command, struct weir_str bytes)
{
    if (fwrite(bytes.data, 1, bytes.size, stdout) == bytes.size)
        return WEIR_EXIT_DONE;
    return weir_command_fail(command, "print: cannot write");
}
