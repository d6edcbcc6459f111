/*
 * manual.h - weir(1), made from the table of commands.
 */
#ifndef WEIR_CLI_HELP_MANUAL_H
#define WEIR_CLI_HELP_MANUAL_H

/* Print it to standard output, for `man`. */
void weir_manual_print(void);

#endif
