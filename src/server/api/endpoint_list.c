/*
 * endpoint_list.c - the endpoints: one row for each route.
 */
#include "base/count.h"
#include "server/api/answers.h"
#include "server/api/server_records.h"
#include "view/audit_records.h"
#include "view/budget_records.h"
#include "view/dead_letter_records.h"
#include "view/execution_info_records.h"
#include "view/flow_records.h"
#include "view/queue_records.h"
#include "view/status_records.h"
#include "view/subscription_records.h"
#include "view/token_records.h"
#include "view/wait_records.h"

#define PAGE_LIMIT                                                                       \
    {                                                                                    \
        .name = "limit", .type = WEIR_PARAMETER_NUMBER, .min = 1, .max = 1000,           \
        .about = "Rows of a page, at most; 100 if absent.",                              \
    }
#define PARAMETERS(list_) .parameters = (list_), .parameter_count = COUNT_OF(list_)
#define LIST_OF(record_, name_) .answer = &(record_), .list = (name_)

/* ---- parameters -------------------------------------------------------------------- */

static const char *dead_letter_status_at(size_t index)
{
    return weir_dead_letter_status_name((enum weir_dead_letter_status)index);
}

static const char *state_at(size_t index)
{
    return weir_public_state_name((enum weir_public_state)index);
}

static const struct weir_parameter READY[] = {
    {.name = "verbose", .about = "Also each part; needs a token."},
};

static const struct weir_parameter DEAD_LETTERS[] = {
    {.name = "status",
     .type = WEIR_PARAMETER_WORD,
     .about = "Only with this status; `pending` if absent.",
     .word = dead_letter_status_at,
     .word_count = WEIR_DEAD_LETTER_REQUEUED + 1},
    {.name = "queue", .about = "Only of this queue."},
    {.name = "subscription", .about = "Only of this subscription."},
    {.name = "partition",
     .type = WEIR_PARAMETER_NUMBER,
     .about = "Only of this partition; needs `queue`.",
     .min = 0,
     .max = 63},
    {.name = "key", .about = "Only of messages with this key."},
    {.name = "type", .about = "Only of messages of this type."},
    {.name = "since",
     .type = WEIR_PARAMETER_MOMENT,
     .about = "Only failed at this time or later."},
    {.name = "before",
     .type = WEIR_PARAMETER_MOMENT,
     .about = "Only failed before this time."},
    PAGE_LIMIT,
    {.name = "after", .about = "`after` of the page before."},
};

static const struct weir_parameter AUDIT[] = {
    {.name = "who", .about = "Only of this token or user."},
    {.name = "action", .about = "Only this action, or `queue.*` for a group."},
    {.name = "target", .about = "Only on this queue, execution or token."},
    {.name = "since",
     .type = WEIR_PARAMETER_MOMENT,
     .about = "Only at this time or later."},
    PAGE_LIMIT,
    {.name = "after",
     .type = WEIR_PARAMETER_NUMBER,
     .about = "`after` of the page before.",
     .min = 1,
     .max = INT64_MAX},
};

static const struct weir_parameter EXECUTIONS[] = {
    {.name = "state",
     .type = WEIR_PARAMETER_WORDS,
     .about = "Only in one of these states.",
     .word = state_at,
     .word_count = WEIR_STATE_COUNT},
    {.name = "lane", .about = "Only of this lane."},
    {.name = "kind", .about = "Only of this kind."},
    {.name = "namespace", .about = "Only of this namespace."},
    {.name = "flow", .about = "Only members of this flow."},
    {.name = "tag", .about = "Only with this tag: KEY:VALUE."},
    PAGE_LIMIT,
    {.name = "after",
     .type = WEIR_PARAMETER_NUMBER,
     .about = "`after` of the page before.",
     .min = 1,
     .max = INT64_MAX},
};

static const struct weir_parameter FLOWS[] = {
    {.name = "namespace", .about = "Only of this namespace."},
    PAGE_LIMIT,
    {.name = "after",
     .type = WEIR_PARAMETER_NUMBER,
     .about = "`after` of the page before.",
     .min = 1,
     .max = INT64_MAX},
};

static const struct weir_parameter BUDGETS[] = {
    PAGE_LIMIT,
    {.name = "after", .about = "Only budgets behind this name."},
};

/* ---- the rows ---------------------------------------------------------------------- */

const struct weir_endpoint weir_endpoints[] = {
    {.id = "get_livez",
     .path = "/livez",
     .about = "The process runs. No database is asked.",
     .type = "text/plain",
     .run = weir_answer_livez},
    {.id = "get_readyz",
     .path = "/readyz",
     .about = "The server takes requests: 200, or 503 while it stops or no database can "
              "be used.",
     PARAMETERS(READY),
     .token_optional = true,
     .answer = &weir_ready_record,
     .run = weir_answer_readyz},
    {.id = "get_metrics",
     .path = "/metrics",
     .scopes = WEIR_SCOPE_READ,
     .about = "Figures of this process, for Prometheus.",
     .type = "text/plain",
     .open_on_loopback = true,
     .run = weir_answer_metrics},
    {.id = "get_openapi",
     .path = "/openapi.json",
     .about = "This document.",
     .run = weir_answer_openapi},
    {.id = "get_version",
     .path = "/version",
     .about = "Which server answers.",
     .answer = &weir_version_record,
     .run = weir_answer_version},
    {.id = "list_relays",
     .path = "/v1/relays",
     .scopes = WEIR_SCOPE_READ,
     .about = "Relays of this server.",
     LIST_OF(weir_relay_record, "relays"),
     .run = weir_answer_relays},

    {.id = "get_status",
     .path = "/v1/status",
     .scopes = WEIR_SCOPE_READ,
     .at = WEIR_AT_DATABASE,
     .about = "What waits, which processes deliver, what fails.",
     .answer = &weir_status_record,
     .run = weir_answer_status},
    {.id = "list_processes",
     .path = "/v1/processes",
     .scopes = WEIR_SCOPE_READ,
     .at = WEIR_AT_DATABASE,
     .about = "Live processes.",
     LIST_OF(weir_process_record, "processes"),
     .run = weir_answer_processes},
    {.id = "get_schema",
     .path = "/v1/schema",
     .scopes = WEIR_SCOPE_READ,
     .at = WEIR_AT_DATABASE,
     .about = "Versions of the tables.",
     .answer = &weir_schema_record,
     .run = weir_answer_schema},
    {.id = "list_audit",
     .path = "/v1/audit",
     .scopes = WEIR_SCOPE_READ,
     .at = WEIR_AT_DATABASE,
     .about = "Actions of operators, newest first.",
     PARAMETERS(AUDIT),
     .answer = &weir_audit_page_record,
     .run = weir_answer_audit},
    {.id = "list_tokens",
     .path = "/v1/tokens",
     .scopes = WEIR_SCOPE_ADMIN,
     .at = WEIR_AT_DATABASE,
     .about = "Tokens of the database, without their texts.",
     LIST_OF(weir_token_record, "tokens"),
     .run = weir_answer_tokens},
    {.id = "list_queues",
     .path = "/v1/queues",
     .scopes = WEIR_SCOPE_READ,
     .at = WEIR_AT_DATABASE,
     .about = "Queues, by name.",
     LIST_OF(weir_queue_record, "queues"),
     .run = weir_answer_queues},
    {.id = "get_queue",
     .path = "/v1/queues/{queue}",
     .scopes = WEIR_SCOPE_READ,
     .at = WEIR_AT_DATABASE,
     .about = "One queue.",
     .answer = &weir_queue_record,
     .run = weir_answer_queue},
    {.id = "list_partitions",
     .path = "/v1/queues/{queue}/partitions",
     .scopes = WEIR_SCOPE_READ,
     .at = WEIR_AT_DATABASE,
     .about = "Partitions of a queue, for each subscription.",
     LIST_OF(weir_partition_record, "partitions"),
     .run = weir_answer_partitions},
    {.id = "list_subscriptions",
     .path = "/v1/queues/{queue}/subscriptions",
     .scopes = WEIR_SCOPE_READ,
     .at = WEIR_AT_DATABASE,
     .about = "Subscriptions of a queue, by name.",
     LIST_OF(weir_subscription_record, "subscriptions"),
     .run = weir_answer_subscriptions},

    {.id = "list_dead_letters",
     .path = "/v1/dead-letters",
     .scopes = WEIR_SCOPE_READ,
     .at = WEIR_AT_DATABASE,
     .about = "Dead letters, newest failure first.",
     PARAMETERS(DEAD_LETTERS),
     .answer = &weir_dead_letter_page_record,
     .run = weir_answer_dead_letters},
    {.id = "get_dead_letter",
     .path = "/v1/dead-letters/{id}",
     .scopes = WEIR_SCOPE_READ,
     .at = WEIR_AT_DATABASE,
     .about = "One dead letter; payload and headers need the scope content.",
     .answer = &weir_dead_letter_payload_record,
     .run = weir_answer_dead_letter},

    {.id = "list_executions",
     .path = "/v1/executions",
     .scopes = WEIR_SCOPE_READ,
     .at = WEIR_AT_ENGINE,
     .about = "Executions, newest first.",
     PARAMETERS(EXECUTIONS),
     .answer = &weir_execution_page_record,
     .run = weir_answer_executions},
    {.id = "get_execution",
     .path = "/v1/executions/{id}",
     .scopes = WEIR_SCOPE_READ,
     .at = WEIR_AT_ENGINE,
     .about = "One execution, its attempts, and why it does not move.",
     .answer = &weir_execution_detail_record,
     .run = weir_answer_execution},
    {.id = "get_execution_result",
     .path = "/v1/executions/{id}/result",
     .scopes = WEIR_SCOPE_CONTENT,
     .at = WEIR_AT_ENGINE,
     .about = "Its result; with Accept: application/octet-stream as it is.",
     .answer = &weir_execution_result_record,
     .run = weir_answer_execution_result},
    {.id = "list_execution_attempts",
     .path = "/v1/executions/{id}/attempts",
     .scopes = WEIR_SCOPE_READ,
     .at = WEIR_AT_ENGINE,
     .about = "Its attempts.",
     LIST_OF(weir_attempt_record, "attempts"),
     .run = weir_answer_execution_attempts},
    {.id = "list_execution_signals",
     .path = "/v1/executions/{id}/signals",
     .scopes = WEIR_SCOPE_CONTENT,
     .at = WEIR_AT_ENGINE,
     .about = "Signals that it has got, with their payloads.",
     LIST_OF(weir_signal_record, "signals"),
     .run = weir_answer_execution_signals},
    {.id = "list_execution_waitpoints",
     .path = "/v1/executions/{id}/waitpoints",
     .scopes = WEIR_SCOPE_READ,
     .at = WEIR_AT_ENGINE,
     .about = "Its waitpoints; never their tokens.",
     LIST_OF(weir_waitpoint_record, "waitpoints"),
     .run = weir_answer_execution_waitpoints},

    {.id = "list_flows",
     .path = "/v1/flows",
     .scopes = WEIR_SCOPE_READ,
     .at = WEIR_AT_ENGINE,
     .about = "Flows, newest first.",
     PARAMETERS(FLOWS),
     .answer = &weir_flow_page_record,
     .run = weir_answer_flows},
    {.id = "get_flow",
     .path = "/v1/flows/{flow}",
     .scopes = WEIR_SCOPE_READ,
     .at = WEIR_AT_ENGINE,
     .about = "One flow; its members are executions with `flow`.",
     .answer = &weir_flow_record,
     .run = weir_answer_flow},
    {.id = "list_budgets",
     .path = "/v1/budgets",
     .scopes = WEIR_SCOPE_READ,
     .at = WEIR_AT_ENGINE,
     .about = "Budgets, by name.",
     PARAMETERS(BUDGETS),
     LIST_OF(weir_budget_record, "budgets"),
     .run = weir_answer_budgets},
    {.id = "get_budget",
     .path = "/v1/budgets/{budget}",
     .scopes = WEIR_SCOPE_READ,
     .at = WEIR_AT_ENGINE,
     .about = "One budget.",
     .answer = &weir_budget_record,
     .run = weir_answer_budget},
};

const size_t weir_endpoint_count = COUNT_OF(weir_endpoints);
