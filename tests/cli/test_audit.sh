#!/usr/bin/env bash
# `weir audit list`, and the rows that the commands of operators leave.
. "$(dirname "$0")/../kit/tap.sh"
. "$(dirname "$0")/../kit/server.sh"
. "$(dirname "$0")/../kit/cli.sh"

rows() {
    "$weir" audit list --quiet --limit 1000 | wc -l
}

# leaves ACTION OUTCOME CODE ARG...: the command leaves one row of this action and outcome.
leaves() {
    local action=$1 outcome=$2 code=$3 before
    shift 3
    before=$(rows)
    ends "$code" "$@"
    [ "$(rows)" -eq $((before + 1)) ] || { echo "$(($(rows) - before)) rows of: weir $*"; return 1; }
    ends 0 audit list --limit 1 --json
    json ".audit[0] | .action == \"$action\" and .outcome == \"$outcome\" and .from == \"cli\" and .who == \"$(id -un)\""
}

# no_row CODE ARG...
no_row() {
    local before
    before=$(rows)
    ends "$@"
    [ "$(rows)" -eq "$before" ] || { echo "a row of: weir $*"; return 1; }
}

commands_leave_one_row() {
    leaves queue.add ok 0 queue add orders --partitions 1
    leaves queue.set ok 0 queue set orders --attempts-max 5
    leaves queue.pause ok 0 queue pause orders
    leaves queue.resume ok 0 queue resume orders
    ends 0 enqueue orders one
    ends 0 enqueue orders two
    ends 0 relay --queue orders --to 'exec:exit 65' --drain --as sour || true
    leaves subscription.pause ok 0 subscription pause orders sour
    leaves subscription.resume ok 0 subscription resume orders sour
    leaves subscription.seek ok 0 subscription seek orders sour --to now
    leaves dead_letter.claim ok 0 dlq claim --limit 1 --for 1min --json
    leaves dead_letter.requeue ok 0 dlq requeue --all --yes
    leaves dead_letter.discard ok 0 dlq discard --all --yes
    leaves dead_letter.cleanup ok 0 dlq cleanup --yes
    leaves subscription.remove ok 0 subscription remove orders sour --force --yes
    leaves queue.remove ok 0 queue remove orders --force --yes
    leaves token.create ok 0 token create --name ci --scope read
    leaves token.rotate ok 0 token rotate ci
    leaves token.revoke ok 0 token revoke ci
}

refused_commands_leave_one_row() {
    leaves queue.set not_found 1 queue set none --attempts-max 5
    leaves queue.pause not_found 1 queue pause none
    leaves queue.remove not_found 1 queue remove none
    leaves subscription.pause not_found 1 subscription pause none x
    leaves subscription.remove not_found 1 subscription remove none x
    leaves subscription.seek not_found 1 subscription seek none x --to now
    leaves dead_letter.requeue not_found 1 dlq requeue 12345
    leaves dead_letter.requeue not_found 1 dlq requeue --all --queue none --yes
    leaves token.revoke not_found 1 token revoke none
}

other_commands_leave_none() {
    no_row 0 queue list
    no_row 0 status
    no_row 0 dlq list
    no_row 0 audit list
    no_row 0 token list
    no_row 0 migrate
    no_row 2 queue pause
    ends 0 queue add mail --partitions 1
    no_row 0 enqueue mail one
    no_row 0 relay --queue mail --to stdout: --drain
    no_row 0 subscription seek mail default --to now --dry-run
    no_row 0 dlq requeue --all --dry-run
    no_row 0 queue remove mail --dry-run
}

executions_leave_one_row() {
    ends 0 submit --lane mail --kind welcome --quiet
    local id
    id=$(cat "$scratch/out")
    leaves execution.prioritise ok 0 execution prioritise "$id" --priority 3
    leaves execution.cancel ok 0 execution cancel "$id" --reason 'not needed'
    json '.audit[0].reason == "not needed"'
    leaves execution.cancel not_found 1 execution cancel 1-00000000-0000-0000-0000-000000000000
    leaves budget.create ok 0 budget create bank --hard calls=5
    leaves budget.reset ok 0 budget reset bank
    leaves key.rotate ok 0 key rotate k9
    leaves flow.cancel not_found 1 flow cancel 00000000-0000-0000-0000-000000000001
}

lists_by_filter_and_page() {
    ends 0 queue add filtered --partitions 1
    ends 0 queue pause filtered
    ends 0 queue resume filtered
    ends 0 audit list --target filtered
    says who action target outcome queue.add queue.pause queue.resume
    ends 0 audit list --target filtered --action 'queue.*' --limit 2 --json
    json '(.audit | length) == 2 and .audit[0].action == "queue.resume" and .after != null'
    local mark
    mark=$(jq -r .after "$scratch/out")
    ends 0 audit list --target filtered --limit 2 --after "$mark" --json
    json '(.audit | length) == 1 and .audit[0].action == "queue.add" and .after == null'
    ends 0 audit list --target filtered --action queue.pause --who "$(id -un)" --since 1h --json
    json '(.audit | length) == 1 and .audit[0].before == "delivered" and .audit[0].after == "paused"'
    ends 0 audit list --who none
    says 'no rows'
    refuses 2 'limit' audit list --limit 1001
}

a_migration_leaves_a_row() {
    ends 0 audit list --action schema.migrate --json
    json '.audit[-1] | .target == "outbox" and .before == "0" and .outcome == "ok"'
}

for engine in $engines; do
    use_engine "$engine"
    it "a migration that changes something leaves a row on $engine" a_migration_leaves_a_row
    it "each command of an operator leaves one row on $engine" commands_leave_one_row
    it "each refused command leaves one row on $engine" refused_commands_leave_one_row
    it "other commands leave no row on $engine" other_commands_leave_none
    it "audit list filters and pages on $engine" lists_by_filter_and_page
    if [ "$engine" != mariadb ]; then
        it "commands on executions leave one row on $engine" executions_leave_one_row
    fi
done

finish
