/*
 * tx_watchdog.c - cancels the statement of a transactional handler whose budget is over.
 *
 * A worker of its own, on a thread that runs no user code and waits for no lock of the
 * database: on SQLite the lease keeper itself waits for the handler's transaction. It
 * sleeps until the first deadline that it knows of. A call whose deadline comes sooner
 * wakes it: the first one after a rest, and then one per budget. A handler that goes on
 * with another statement is cancelled again, at every turn.
 */
#include "base/arith.h"
#include "base/heap.h"
#include "base/no_memory.h"
#include "outbox/delivery/tx.h"
#include "outbox/outbox.h"

/* How soon a handler that ignores that its time is over is interrupted again. */
#define AGAIN_NS WEIR_MILLISECONDS(100)

/*
 * A call that begins while we look is seen, or finds `watch_ns` at WEIR_FOREVER and
 * rings; or, at the end, compares with what we sleep for. Its deadline is in place
 * before it looks.
 */
static enum weir_status watch(struct weir_context *context, void *state,
                              struct weir_directive *out, struct weir_error *error)
{
    struct weir_outbox *outbox = state;
    int64_t now_ns = weir_context_now(context);
    int64_t next_ns = WEIR_FOREVER;

    (void)error;
    atomic_store(&outbox->watch_ns, WEIR_FOREVER);
    for (uint32_t i = 0; i < outbox->options.handlers; i++) {
        int64_t deadline_ns = weir_tx_cancel_late(&outbox->transactions[i], now_ns);

        if (deadline_ns <= now_ns)
            deadline_ns = weir_sat_add_i64(now_ns, AGAIN_NS);
        if (deadline_ns < next_ns)
            next_ns = deadline_ns;
    }
    atomic_store(&outbox->watch_ns, next_ns);
    *out = next_ns == WEIR_FOREVER ? weir_idle()
                                   : weir_sleep_for(weir_sat_sub_i64(next_ns, now_ns));
    return WEIR_OK;
}

void weir_tx_watchdog_note(struct weir_outbox *outbox, int64_t deadline_ns)
{
    if (deadline_ns < atomic_load(&outbox->watch_ns))
        weir_outbox_notify(outbox, WEIR_NOTIFY_TX_WATCHDOG);
}

bool weir_tx_watchdog_is_needed(const struct weir_outbox *outbox)
{
    for (size_t i = 0; i < outbox->subscriber_count; i++) {
        if (weir_subscriber_is_transactional(outbox->subscribers[i]))
            return true;
    }
    return false;
}

static enum weir_status make_transactions(struct weir_outbox *outbox,
                                          struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    outbox->transactions = weir_heap_zalloc_array(outbox->heap, outbox->options.handlers,
                                                  sizeof *outbox->transactions);
    if (outbox->transactions == NULL)
        return weir_no_memory(error, "start the transactions");
    for (uint32_t i = 0; i < outbox->options.handlers && status == WEIR_OK; i++) {
        status = weir_tx_init(&outbox->transactions[i]);
        outbox->transaction_count += status == WEIR_OK;
    }
    return status == WEIR_OK ? status
                             : weir_error_set(error, status, "start the transactions");
}

enum weir_status weir_tx_watchdog_spawn(struct weir_outbox *outbox,
                                        struct weir_error *error)
{
    struct weir_outbox_worker_options options = {.category = "tx_watchdog"};
    enum weir_status status;

    if (!weir_tx_watchdog_is_needed(outbox))
        return WEIR_OK;
    status = make_transactions(outbox, error);
    if (status != WEIR_OK)
        return status;
    atomic_store(&outbox->watch_ns, WEIR_FOREVER);
    weir_worker_options_init(&options.worker);
    options.worker.name = "tx_watchdog";
    options.worker.action = watch;
    options.worker.state = outbox;
    options.worker.notifiers = &outbox->notifiers[WEIR_NOTIFY_TX_WATCHDOG];
    options.worker.notifier_count = 1;
    options.worker.pace = weir_pace_none();
    options.worker.worker_class = WEIR_WORKER_RESERVED;
    return weir_outbox_spawn(outbox, &options, error);
}

bool weir_tx_watchdog_abandon(struct weir_outbox *outbox)
{
    bool all = true;

    for (size_t i = 0; i < outbox->transaction_count; i++)
        all = weir_tx_abandon(&outbox->transactions[i]) && all;
    return all;
}

void weir_tx_watchdog_dismiss(struct weir_outbox *outbox)
{
    for (size_t i = 0; i < outbox->transaction_count; i++)
        weir_tx_fini(&outbox->transactions[i]);
    weir_heap_free(outbox->heap, outbox->transactions);
    outbox->transactions = NULL;
    outbox->transaction_count = 0;
}
