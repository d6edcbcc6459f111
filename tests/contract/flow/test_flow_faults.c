/*
 * Without memory a call says so, leaves nothing half done, and works when it is made
 * again.
 */
#include "contract/flow/flow_fixture.h"
#include "kit/outbox/outbox_fixture.h"

/* `call` until it gets all the memory it wants, with one allocation after the other
 * failing. */
#define WITHOUT_MEMORY(call)                                                             \
    for (uint64_t n = 1; n < 10000; n++) {                                               \
        enum weir_status got;                                                            \
        weir_faulty_heap_fail_at(&fixture->heap, n);                                     \
        got = (call);                                                                    \
        weir_faulty_heap_fail_at(&fixture->heap, 0);                                     \
        if (got == WEIR_OK)                                                              \
            break;                                                                       \
        check_status(got, WEIR_NO_MEMORY);                                               \
    }

FLOW_TEST(calls, that_find_no_memory_leave_nothing_half_done)
{
    static const struct weir_tag TAG = {"tenant.plan", "gold"};
    const char *lane = "orders";
    const struct weir_claim_options options = flow_fixture_claimant(&lane, "anna");
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");
    struct weir_executions *executions =
        flow_fixture_open_with(fixture, fixture->db, outbox);
    struct weir_execution_draft draft = flow_fixture_draft("orders");
    struct weir_settlement settlement = {.result = "ok", .result_size = 2};
    struct weir_submission submission = {.duplicate = false};
    struct weir_claimed *claimed = NULL;
    struct flow_fixture_view view;
    void *result = NULL;
    size_t count = 0;

    draft.input = "in";
    draft.input_size = 2;
    draft.tags = &TAG;
    draft.tag_count = 1;
    draft.idempotency_key = "once";
    WITHOUT_MEMORY(
        weir_execution_submit(executions, NULL, &draft, 1, &submission, &fixture->error));
    check(!submission.duplicate);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_execution"), 1);

    WITHOUT_MEMORY(
        weir_execution_claim(executions, &options, 1, &claimed, &count, &fixture->error));
    check_int(count, 1);
    check_int(claimed->claim.epoch, 1);
    settlement.claim = claimed->claim;
    weir_claimed_free(executions, claimed);

    WITHOUT_MEMORY(weir_execution_settle(executions, &settlement, 1, &fixture->error));
    check_status(settlement.status, WEIR_OK);
    WITHOUT_MEMORY(weir_execution_get(executions, &submission.id, flow_fixture_note,
                                      &view, &fixture->error));
    check_int(view.info.state, WEIR_STATE_COMPLETED);
    check_int(view.info.attempts, 1);
    WITHOUT_MEMORY(weir_execution_result(executions, &submission.id, &result, &count,
                                         &fixture->error));
    check_int(count, 2);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_log"), 3);
    weir_executions_free(executions, result);
    weir_executions_destroy(executions);
    weir_outbox_destroy(outbox);
}
