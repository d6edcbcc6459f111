/*
 * reply.c - see reply.h.
 */
#include "cli/reply.h"

#include <stdarg.h>
#include <stdio.h>

#include "db/clock.h"
#include "weir/heap.h"

enum { JSON_SIZE_MAX = 512 << 20 };

enum weir_form weir_reply_form(const struct weir_session *session)
{
    return session->shared.json ? WEIR_FORM_JSON : WEIR_FORM_TABLE;
}

int weir_reply_json(const struct weir_session *session, const struct weir_record *record,
                    const void *row)
{
    struct weir_buf json;
    int code;

    weir_buf_init(&json, weir_heap_system(), JSON_SIZE_MAX);
    weir_record_append_json(record, &json, NULL, row, weir_clock_wall_us());
    code = weir_output_text(session->command, &json);
    weir_buf_fini(&json);
    return code;
}

int weir_reply(const struct weir_session *session, const struct weir_record *record,
               const void *row, const char *format, ...)
{
    va_list arguments;

    if (session->shared.json)
        return weir_reply_json(session, record, row);
    if (session->shared.quiet)
        return WEIR_EXIT_DONE;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
    return WEIR_EXIT_DONE;
}

int weir_reply_list(const struct weir_session *session, const char *name,
                    const struct weir_record_list *rows)
{
    struct weir_buf json;
    int code;

    if (!session->shared.json)
        return weir_output_table(session->command, &rows->table);
    weir_buf_init(&json, weir_heap_system(), JSON_SIZE_MAX);
    weir_output_open(&json, NULL, "{");
    weir_record_list_append_json(rows, &json, name);
    weir_buf_append_text(&json, "}");
    code = weir_output_text(session->command, &json);
    weir_buf_fini(&json);
    return code;
}
