/*
 * answer_server.c - what the server knows by itself: no database is asked.
 */
#include "base/text.h"
#include "db/clock.h"
#include "server/api/answers.h"
#include "server/api/api.h"
#include "server/api/mount.h"
#include "server/api/server_records.h"
#include "weir/version.h"

enum { CHECK_NAME_SIZE = 160 };

enum weir_status weir_answer_livez(struct weir_api_call *call, struct weir_error *error)
{
    (void)error;
    weir_buf_append_text(&call->body, "ok\n");
    return WEIR_OK;
}

/* ---- readiness --------------------------------------------------------------------- */

static void add_database(struct weir_ready_row *ready, struct weir_mount *mount)
{
    struct weir_mount_status status;
    char name[CHECK_NAME_SIZE];
    struct weir_check_row row = {.name = name};

    weir_mount_read_status(mount, &status);
    weir_text_format(name, sizeof name, "database %s", weir_mount_name(mount));
    row.good = status.state == WEIR_MOUNT_READY;
    row.state = weir_mount_state_name(status.state);
    row.text = status.text;
    ready->ready = ready->ready || row.good;
    weir_record_list_add(&ready->checks, &row);
}

static void add_relay(void *state, const struct weir_relay_row *relay)
{
    struct weir_ready_row *ready = state;
    char name[CHECK_NAME_SIZE];
    struct weir_check_row row = {.name = name,
                                 .good = relay->text[0] == '\0',
                                 .state = relay->state,
                                 .text = relay->text};

    weir_text_format(name, sizeof name, "relay %s", relay->name);
    weir_record_list_add(&ready->checks, &row);
}

enum weir_status weir_answer_readyz(struct weir_api_call *call, struct weir_error *error)
{
    const struct weir_api_options *options = weir_api_options(call->api);
    struct weir_ready_row row = {.why = ""};

    (void)error;
    weir_record_list_init(&row.checks, &weir_check_record, WEIR_FORM_JSON, 0);
    for (size_t i = 0; i < options->mount_count; i++)
        add_database(&row, options->mounts[i]);
    if (!row.ready)
        row.why = "no database can be used";
    if (options->host.each_relay != NULL)
        options->host.each_relay(options->host.state, add_relay, &row);
    if (weir_api_is_draining(call->api)) {
        row.ready = false;
        row.why = "draining";
    }
    row.with_checks = weir_call_text(call, "verbose") != NULL &&
                      weir_grant_allows(&call->grant, WEIR_SCOPE_READ);
    weir_record_append_json(&weir_ready_record, &call->body, NULL, &row, 0);
    weir_record_list_fini(&row.checks);
    call->status = row.ready ? 200 : 503;
    return WEIR_OK;
}

/* ---- the rest ---------------------------------------------------------------------- */

enum weir_status weir_answer_metrics(struct weir_api_call *call, struct weir_error *error)
{
    const struct weir_api_options *options = weir_api_options(call->api);
    enum weir_metrics_format format =
        call->open_metrics ? WEIR_METRICS_OPEN : WEIR_METRICS_PROMETHEUS;
    struct weir_metrics_text text;

    (void)error;
    weir_metrics_text_init(&text, call->body.heap);
    weir_api_add_metrics(call->api, &text);
    if (options->host.add_metrics != NULL)
        options->host.add_metrics(options->host.state, &text);
    weir_metrics_text_family(&text, "weir_metrics_series_limited_total",
                             "Series that this answer leaves out.", WEIR_FAMILY_COUNTER);
    weir_metrics_text_add(&text, "", NULL, 0, (double)text.limited);
    weir_metrics_text_append(&text, format, &call->body);
    weir_metrics_text_fini(&text);
    call->type = weir_metrics_text_type(format);
    return WEIR_OK;
}

enum weir_status weir_answer_openapi(struct weir_api_call *call, struct weir_error *error)
{
    struct weir_str document = weir_api_openapi(call->api);

    (void)error;
    weir_buf_append(&call->body, document.data, document.size);
    return WEIR_OK;
}

enum weir_status weir_answer_version(struct weir_api_call *call, struct weir_error *error)
{
    struct weir_version_row row = {weir_version_string(),
                                   weir_api_options(call->api)->server_name};

    (void)error;
    weir_record_append_json(&weir_version_record, &call->body, NULL, &row, 0);
    return WEIR_OK;
}

struct relays {
    const struct weir_api_call *call;
    struct weir_record_list list;
};

static void add_row(void *state, const struct weir_relay_row *row)
{
    struct relays *self = state;

    if (weir_call_sees_queue(self->call, row->queue) &&
        weir_grant_covers(&self->call->grant, WEIR_RESTRICT_DATABASES, row->database))
        weir_record_list_add(&self->list, row);
}

enum weir_status weir_answer_relays(struct weir_api_call *call, struct weir_error *error)
{
    const struct weir_api_options *options = weir_api_options(call->api);
    struct relays self = {.call = call};

    (void)error;
    weir_record_list_init(&self.list, &weir_relay_record, WEIR_FORM_JSON,
                          weir_clock_wall_us());
    if (options->host.each_relay != NULL)
        options->host.each_relay(options->host.state, add_row, &self);
    weir_output_open(&call->body, NULL, "{");
    weir_record_list_append_json(&self.list, &call->body, call->match.endpoint->list);
    weir_buf_append_text(&call->body, "}");
    weir_record_list_fini(&self.list);
    return WEIR_OK;
}
