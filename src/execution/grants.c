/*
 * grants.c - see grants.h.
 */
#include "execution/grants.h"

#include "base/count.h"
#include "execution/store/store_columns.h"

const struct weir_role_right weir_executions_grants[] = {
    {"term", "runtime", "SELECT, INSERT", ""}, /* a term is for ever */
    {"awaited", "runtime", "SELECT, UPDATE", ""},

    {"term", "producer", "SELECT", ""},
    {"term", "producer", "INSERT", "kind, digest, text"},
    {"execution", "producer", "INSERT", WEIR_NEW_COLUMNS ", turn"},
    {"execution", "producer", "SELECT", "no, uuid, part, digest, flow, name"},
    {"flow", "producer", "SELECT", ""},
    {"flow", "producer", "INSERT", "uuid, part, created_us, namespace, kind"},
    {"flow", "producer", "UPDATE", "members, edges, unfinished, revision"},
    {"edge", "producer", "INSERT",
     "upstream, downstream, flow, state, passes_data, opened_epoch"},
    {"edge", "producer", "SELECT", "upstream, downstream"},
    {"edge_group", "producer", "INSERT",
     "downstream, flow, policy, cancel_remaining, quorum, total, succeeded, failed,"
     " skipped, state, cancel_us"},
    {"budget", "producer", "SELECT", ""},
    {"spent", "producer", "INSERT", "no, budget, dimension, amount, era"},
    {"input", "producer", "INSERT", "no, bytes"},
    {"tag", "producer", "INSERT", "no, key, value"},
    {"idempotency", "producer", "SELECT", ""},
    {"idempotency", "producer", "INSERT", WEIR_KEY_COLUMNS},
    {"idempotency", "producer", "UPDATE", "uuid, part, digest, until_us"},
    {"awaited", "producer", "SELECT", ""},

    {"input", "viewer", "SELECT", "no"},
    {"result", "viewer", "SELECT", "no"},
    {"passed", "viewer", "SELECT", "downstream, upstream, uuid, part, name"},
    {"secret", "viewer", "SELECT", "key_id, active, until_us"},
};

const size_t weir_executions_right_count = COUNT_OF(weir_executions_grants);
