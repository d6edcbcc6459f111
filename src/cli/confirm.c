/*
 * confirm.c - see confirm.h.
 */
#include "cli/confirm.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

int weir_confirm(const struct weir_command *command, const char *format, ...)
{
    char answer[16] = "";
    va_list arguments;

    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
        return weir_command_fail(command, "standard input is no terminal, so no question "
                                          "can be asked; say --yes to confirm");
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputs("? [y/N] ", stderr);
    fflush(stderr);
    if (fgets(answer, sizeof answer, stdin) != NULL) {
        answer[strcspn(answer, "\r\n")] = '\0';
        if (strcasecmp(answer, "y") == 0 || strcasecmp(answer, "yes") == 0)
            return WEIR_EXIT_DONE;
    }
    return weir_command_fail(command, "nothing was done");
}
