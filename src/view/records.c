/*
 * records.c - see records.h.
 */
#include "view/records.h"

#include "view/audit_records.h"
#include "view/budget_records.h"
#include "view/dead_letter_records.h"
#include "view/execution_info_records.h"
#include "view/finding_records.h"
#include "view/flow_records.h"
#include "view/message_records.h"
#include "view/migration_records.h"
#include "view/queue_records.h"
#include "view/status_records.h"
#include "view/subscription_records.h"
#include "view/token_records.h"
#include "view/wait_records.h"

static const struct weir_record *const RECORDS[] = {
    &weir_status_record,
    &weir_executions_record,
    &weir_queue_record,
    &weir_partition_record,
    &weir_process_record,
    &weir_lane_record,
    &weir_queue_change_record,
    &weir_queue_paused_record,
    &weir_queue_removed_record,
    &weir_subscription_record,
    &weir_subscription_paused_record,
    &weir_subscription_removed_record,
    &weir_subscription_moved_record,
    &weir_partition_moved_record,
    &weir_enqueued_record,
    &weir_relayed_record,
    &weir_dead_letter_page_record,
    &weir_dead_letter_record,
    &weir_dead_letter_payload_record,
    &weir_dead_letters_claimed_record,
    &weir_dead_letters_decided_record,
    &weir_dead_letter_refused_record,
    &weir_dead_letters_swept_record,
    &weir_submission_record,
    &weir_lines_submitted_record,
    &weir_execution_page_record,
    &weir_execution_record,
    &weir_execution_detail_record,
    &weir_attempt_record,
    &weir_suspension_record,
    &weir_condition_record,
    &weir_execution_result_record,
    &weir_claimed_record,
    &weir_claim_settled_record,
    &weir_executions_operated_record,
    &weir_execution_refused_record,
    &weir_suspended_record,
    &weir_waitpoint_made_record,
    &weir_waitpoint_record,
    &weir_signal_record,
    &weir_signalled_record,
    &weir_key_rotated_record,
    &weir_token_record,
    &weir_token_made_record,
    &weir_tokens_revoked_record,
    &weir_audit_page_record,
    &weir_audit_row_record,
    &weir_worked_record,
    &weir_supervised_record,
    &weir_reconciler_record,
    &weir_flow_page_record,
    &weir_flow_record,
    &weir_flow_detail_record,
    &weir_edge_record,
    &weir_join_record,
    &weir_flow_created_record,
    &weir_flow_extended_record,
    &weir_member_added_record,
    &weir_flow_cancelled_record,
    &weir_budget_record,
    &weir_usage_record,
    &weir_budget_reply_record,
    &weir_migrated_record,
    &weir_roles_record,
    &weir_restored_record,
    &weir_findings_record,
    &weir_finding_record,
};

const struct weir_record *weir_records_at(size_t index)
{
    return index < COUNT_OF(RECORDS) ? RECORDS[index] : NULL;
}

void weir_records_append_reference(struct weir_buf *text)
{
    const struct weir_record *record;

    weir_buf_append_text(
        text,
        "# Fields of JSON output\n"
        "\n"
        "Generated from `src/view` by `weir help fields > docs/fields.md`; do not edit.\n"
        "[cli.md](cli.md) explains the commands. Durations are in seconds, times are in\n"
        "UTC (RFC 3339), and bytes that are not UTF-8 come as base64 under the key with\n"
        "`_base64` behind it.\n");
    for (size_t i = 0; (record = weir_records_at(i)) != NULL; i++) {
        weir_buf_append_text(text, "\n");
        weir_record_append_reference(record, text);
    }
}
