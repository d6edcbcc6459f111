/*
 * findings.c - see findings.h.
 */
#include "cli/doctor/findings.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/noun.h"
#include "base/text.h"
#include "cli/output.h"
#include "weir/heap.h"

enum { JSON_SIZE_MAX = 4 << 20, TEXT_SIZE = 400 };

void weir_findings_init(struct weir_findings *self)
{
    *self = (struct weir_findings){.counts = {0}};
    weir_record_list_init(&self->list, &weir_finding_record,
                          weir_command_shared().json ? WEIR_FORM_JSON : WEIR_FORM_TABLE,
                          0);
}

void weir_findings_fini(struct weir_findings *self)
{
    weir_record_list_fini(&self->list);
}

void weir_findings_add(struct weir_findings *self, enum weir_verdict verdict,
                       const char *check, const char *remedy, const char *format, ...)
{
    char found[TEXT_SIZE];
    va_list arguments;

    va_start(arguments, format);
    weir_text_format_list(found, sizeof found, format, arguments);
    va_end(arguments);

    self->counts[verdict]++;
    weir_record_list_add(&self->list,
                         &(struct weir_doctor_finding){check, verdict, found, remedy});
}

static int print_json(const struct weir_findings *self,
                      const struct weir_command *command)
{
    struct weir_buf json;
    int code;

    weir_buf_init(&json, weir_heap_system(), JSON_SIZE_MAX);
    weir_record_append_json(&weir_findings_record, &json, NULL, self, 0);
    code = weir_output_text(command, &json);
    weir_buf_fini(&json);
    return code;
}

static int print_table(const struct weir_findings *self,
                       const struct weir_command *command)
{
    size_t warnings = self->counts[WEIR_VERDICT_WARNING];
    size_t broken = self->counts[WEIR_VERDICT_BROKEN];
    int code = weir_output_table(command, &self->list.table);

    if (weir_command_shared().quiet)
        return code;
    if (warnings + broken == 0)
        printf("\nall is well\n");
    else
        printf("\n%zu broken, %zu %s\n", broken, warnings,
               WEIR_NOUN(warnings, "warning", "warnings"));
    return code;
}

int weir_findings_print(const struct weir_findings *self,
                        const struct weir_command *command)
{
    int code = weir_command_shared().json ? print_json(self, command)
                                          : print_table(self, command);

    return self->counts[WEIR_VERDICT_BROKEN] > 0 ? WEIR_EXIT_FAILED : code;
}
