/*
 * findings.c - see findings.h.
 */
#include "cli/doctor/findings.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/count.h"
#include "base/noun.h"
#include "base/text.h"
#include "weir/heap.h"

enum { JSON_SIZE_MAX = 4 << 20, TEXT_SIZE = 400 };

static const struct weir_table_column COLUMNS[] = {
    {.title = "check"},
    {.title = "verdict"},
    {.title = "found", .cut_to = 30},
    {.title = "what to do", .cut_to = 30, .rank = 1},
};

static const char *const NAMES[] = {"ok", "note", "warning", "broken"};
static const enum weir_tone TONES[] = {WEIR_TONE_GOOD, WEIR_TONE_PLAIN, WEIR_TONE_CAREFUL,
                                       WEIR_TONE_BAD};

void weir_findings_init(struct weir_findings *self)
{
    *self = (struct weir_findings){.counts = {0}};
    weir_table_init(&self->table, weir_heap_system(), COLUMNS, COUNT_OF(COLUMNS));
    weir_buf_init(&self->json, weir_heap_system(), JSON_SIZE_MAX);
}

void weir_findings_fini(struct weir_findings *self)
{
    weir_table_fini(&self->table);
    weir_buf_fini(&self->json);
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
    weir_table_add(&self->table, WEIR_TONE_PLAIN, "%s", check);
    weir_table_add(&self->table, TONES[verdict], "%s", NAMES[verdict]);
    weir_table_add(&self->table, WEIR_TONE_PLAIN, "%s", found);
    weir_table_add(&self->table, WEIR_TONE_PLAIN, "%s", remedy);
    weir_output_open(&self->json, NULL, "{");
    weir_output_add_text(&self->json, "check", check);
    weir_output_add_text(&self->json, "verdict", NAMES[verdict]);
    weir_output_add_text(&self->json, "found", found);
    weir_output_add_text(&self->json, "remedy", remedy);
    weir_buf_append_text(&self->json, "}");
}

static int print_json(const struct weir_findings *self,
                      const struct weir_command *command)
{
    struct weir_buf json;
    int code;

    weir_buf_init(&json, weir_heap_system(), JSON_SIZE_MAX);
    weir_output_open(&json, NULL, "{");
    weir_output_add_number(&json, "warnings",
                           (int64_t)self->counts[WEIR_VERDICT_WARNING]);
    weir_output_add_number(&json, "broken", (int64_t)self->counts[WEIR_VERDICT_BROKEN]);
    weir_output_open(&json, "findings", "[");
    weir_buf_append(&json, weir_buf_text(&self->json), self->json.size);
    weir_buf_append_text(&json, "]}");
    code = weir_output_text(command, &json);
    weir_buf_fini(&json);
    return code;
}

static int print_table(const struct weir_findings *self,
                       const struct weir_command *command)
{
    size_t warnings = self->counts[WEIR_VERDICT_WARNING];
    size_t broken = self->counts[WEIR_VERDICT_BROKEN];
    int code = weir_output_table(command, &self->table);

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
