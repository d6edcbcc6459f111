/*
 * findings.h - what `weir doctor` has found, one row per check.
 *
 *   check      found                    what to do
 *   ok         schema 1
 *   warning    synchronous_commit off   set it to on
 *
 * Memory   Copies the texts.
 */
#ifndef WEIR_CLI_DOCTOR_FINDINGS_H
#define WEIR_CLI_DOCTOR_FINDINGS_H

#include "cli/command.h"
#include "view/finding_records.h"

void weir_findings_init(struct weir_findings *self);
void weir_findings_fini(struct weir_findings *self);

/* One check: its name, how it went, what to do ("" for nothing), what was found. */
void weir_findings_add(struct weir_findings *self, enum weir_verdict verdict,
                       const char *check, const char *remedy, const char *format, ...)
    WEIR_PRINTF(5, 6);

/* Print all of it. WEIR_EXIT_FAILED when something is broken. */
WEIR_CHECKED int weir_findings_print(const struct weir_findings *self,
                                     const struct weir_command *command);

#endif
