#!/usr/bin/env bash
# `weir dlq ...`: dead letters as their operator sees them.
. "$(dirname "$0")/../kit/tap.sh"
. "$(dirname "$0")/../kit/server.sh"
. "$(dirname "$0")/../kit/cli.sh"

rejecter=$scratch/rejecter
gcc -std=c11 -I"$root/include" "$root/tests/cli/rejecter.c" "$(dirname "$weir")/libweir.a" \
    -lsqlite3 -lpq -lmariadb -pthread -lm -o "$rejecter"

# letters QUEUE COUNT [ENQUEUE-OPTION...]: so many dead letters in a queue of two partitions; in
# partition 0, unless a key chooses.
letters() {
    local queue=$1 count=$2
    shift 2
    [[ "$*" == *--key* ]] || set -- --partition 0 "$@"
    "$weir" queue add "$queue" --partitions 2 --quiet
    seq 1 "$count" | "$weir" enqueue "$queue" --lines --quiet "$@"
    "$rejecter" "$WEIR_DB" "$queue" default "$count"
}

# ids QUEUE [OPTION...]: of its letters, newest first.
ids() {
    "$weir" dlq list --queue "$@" --quiet
}

lists() {
    letters listed 2 --type greeting --key bob
    ends 0 dlq list --queue listed
    says 'id' 'subscription' 'status' 'attempts' 'failed' 'reason'
    grep -qE '^ *[0-9]+ +listed +default +[01] +2 +bob +greeting +pending +0 +[0-9.]+ m?s ago +no good: 2$' \
        "$scratch/out" || { cat "$scratch/out"; return 1; }
    ends 0 dlq list --queue listed --json
    json '.after == null and (.dead_letters | length) == 2 and .dead_letters[0].seq == 2'
    json '.dead_letters[1] | .queue == "listed" and .subscription == "default" and
        .key == "bob" and .type == "greeting" and .status == "pending" and
        .attempts == 0 and .reason == "no good: 1" and (.uid | length) == 32 and
        .deadline_at == null and .completed_at == null and .requeued_uid == null and
        .payload_size == 1 and (has("payload") | not) and (.failed_at | test("Z$"))'
    ends 0 dlq list --queue listed --quiet
    [ "$(wc -l <"$scratch/out")" -eq 2 ]
}

pages() {
    local mark
    letters paged 5
    ends 0 dlq list --queue paged --limit 3 --json
    json '[.dead_letters[].seq] == [5, 4, 3] and .after != null'
    mark=$(jq -r .after "$scratch/out")
    ends 0 dlq list --queue paged --limit 3 --after "$mark" --json
    json '[.dead_letters[].seq] == [2, 1] and .after == null'
    ends 0 dlq list --queue paged --limit 3
    says "there are more: --after $mark"
}

filters() {
    letters filtered 2 --key anna --type a
    letters filtered 1 --type b
    ends 0 dlq list --queue filtered --key anna --json
    json '.dead_letters | length == 2'
    ends 0 dlq list --queue filtered --type b --json
    json '.dead_letters | length == 1'
    ends 0 dlq list --queue filtered --since 1h --json
    json '.dead_letters | length == 3'
    ends 0 dlq list --queue filtered --before 1h
    says 'no dead letters'
    ends 0 dlq list --queue filtered --type b --partition 1 --json
    json '.dead_letters == []'
    ends 0 dlq list --queue filtered --status resolved --json
    json '.dead_letters == []'
}

shows() {
    local id
    letters shown 1 --header trace=4bf9
    id=$(ids shown)
    ends 0 dlq show "$id"
    says "dead letter   $id" 'of            shown/default/0/1' 'trace: 4bf9' 'no good: 1'
    ends 0 dlq show "$id" --json
    json '.payload == "1" and .headers == {"trace": "4bf9"}'
    ends 0 dlq show "$id" --quiet
    [ "$(cat "$scratch/out")" = 1 ]
    refuses 1 'there is no dead letter 999999' dlq show 999999
}

claims() {
    local token id
    letters claimed 3
    ends 0 dlq claim --queue claimed --limit 2 --for 1h --json
    json '(.dead_letters | length) == 2 and .dead_letters[0].payload == "1" and
        .dead_letters[0].status == "reprocessing" and (.token | type) == "string"'
    token=$(jq -r .token "$scratch/out")
    id=$(jq '.dead_letters[0].id' "$scratch/out")
    refuses 1 'under another token' dlq resolve "$id" --token 4711
    ends 0 dlq resolve "$id" --token "$token"
    says '1 dead letter resolved'
    ends 0 dlq resolve "$id" --token "$token"
    ends 0 dlq reject $((id + 1)) --token "$token" --reason 'still bad' --json
    json '. == {"rejected": 1, "refused": []}'
    ends 0 dlq show $((id + 1)) --json
    json '.status == "pending" and .attempts == 1 and .reason == "still bad"'
    ends 0 dlq claim --queue claimed --for 1ms
    says 'claimed 2: --token '
}

tells_what_was_refused() {
    local token id
    letters mixed 2
    ends 0 dlq claim --queue mixed --limit 1 --quiet
    token=$(head -n 1 "$scratch/out")
    id=$(tail -n 1 "$scratch/out")
    ends 1 dlq resolve "$id" $((id + 1)) 888888 --token "$token" --json
    json '.resolved == 1 and ([.refused[].why] ==
        ["another owner holds the lease", "there is no such thing"])'
    grep -qF '2 of 3 dead letters not resolved' "$scratch/err"
}

requeues_one() {
    local id
    letters again 1
    id=$(ids again)
    ends 0 dlq requeue "$id"
    says '1 dead letter requeued'
    [ "$(waiting again)" -eq 1 ]
    refuses 1 'is resolved and was not requeued' dlq requeue "$id"
    "$rejecter" "$WEIR_DB" again default 1
    ends 0 dlq show "$(ids again)" --json
    json '.seq == 2 and .headers."weir-requeues" == "1" and
        (.headers."weir-requeued-from" | test("^again/default/0/1/[0-9a-f]{32}$"))'
    ends 0 dlq list --queue again --status resolved
    says requeued
}

requeues_all() {
    letters bulk 7
    ends 0 dlq requeue --all --queue bulk --dry-run
    says '7 dead letters would be requeued'
    refuses 1 'say --yes' dlq requeue --all --queue bulk </dev/null
    [ "$(waiting bulk)" -eq 0 ]
    ends 0 dlq requeue --all --queue bulk --limit 2 --yes
    says '2 dead letters requeued'
    ends 0 dlq requeue --all --queue bulk --yes --json
    json '. == {"requeued": 5, "dry_run": false}'
    [ "$(waiting bulk)" -eq 7 ]
    ends 0 dlq requeue --all --queue bulk --yes
    says '0 dead letters requeued'
}

# statused STATUS SEQ...: these are the letters of that status, newest first, in text and in JSON.
statused() {
    local status=$1
    shift
    ends 0 dlq list --queue statused --status "$status" --json
    jq -r '.dead_letters[].seq' "$scratch/out" | diff - <(printf '%s\n' "$@")
    ends 0 dlq list --queue statused --status "$status"
    [ "$(tail -n +2 "$scratch/out" | grep -c statused)" -eq $# ]
}

lists_by_every_status() {
    local token
    letters statused 5
    mapfile -t id < <(ids statused)
    token=$("$weir" dlq claim --queue statused --limit 1 --for 1h --quiet | head -n 1)
    ends 0 dlq resolve "${id[4]}" --token "$token"
    ends 0 dlq claim --queue statused --limit 1 --for 1h
    ends 0 dlq discard "${id[2]}"
    ends 0 dlq requeue "${id[1]}"
    statused pending 5
    statused reprocessing 2
    statused resolved 4 1
    statused requeued 4
    says requeued
    statused discarded 3
    statused any 5 4 3 2 1
    ends 0 dlq list --queue statused --status requeued --json
    json '.dead_letters[0] | .status == "resolved" and (.requeued_uid | length) == 32'
    ends 0 dlq list --help
    says 'pending, reprocessing, resolved, requeued, discarded or any'
}

discards_and_cleans_up() {
    letters given_up 4
    ends 0 dlq discard "$(ids given_up --limit 1)"
    says '1 dead letter discarded'
    refuses 1 'say --yes' dlq discard --all --queue given_up </dev/null
    ends 0 dlq discard --all --queue given_up --limit 2 --yes
    says '2 dead letters discarded'
    ends 0 dlq cleanup --queue given_up --dry-run --json
    json '. == {"removed": 3, "dry_run": true}'
    refuses 1 'say --yes' dlq cleanup --queue given_up </dev/null
    ends 0 dlq cleanup --queue given_up --yes
    says '3 dead letters removed'
    ends 0 dlq list --queue given_up --status any --json
    json '.dead_letters | length == 1'
}

names_what_is_missing() {
    refuses 1 "there is no queue 'nowhere'" dlq list --queue nowhere
    refuses 1 'no subscription "nobody"' dlq list --subscription nobody
    "$weir" queue add two --partitions 2 --quiet
    refuses 2 'partition' dlq list --queue two --partition 5
}

keeps_policies() {
    ends 0 queue add policies --partitions 1 --attempts-max 5 --dead-letter-retention 7d
    ends 0 queue list --json
    json '.queues[] | select(.name == "policies") |
        .attempts_max == 5 and .dead_letter_retention_seconds == 604800'
}

# What it would write over and over on a terminal is gone at the end.
draws_progress() {
    letters drawn 3
    on_a_terminal 80 "$weir dlq requeue --all --queue drawn --yes"
    grep -qF '3 dead letters requeued' "$scratch/out"
}

for engine in $engines; do
    use_engine "$engine"
    it "lists dead letters on $engine" lists
    it "lists page by page on $engine" pages
    it "filters on $engine" filters
    it "shows one on $engine" shows
    it "claims, resolves and rejects on $engine" claims
    it "tells what was refused on $engine" tells_what_was_refused
    it "requeues one on $engine" requeues_one
    it "requeues all on $engine" requeues_all
    it "lists by every status on $engine" lists_by_every_status
    it "discards and cleans up on $engine" discards_and_cleans_up
    it "names what is missing on $engine" names_what_is_missing
    it "keeps the policies of a queue on $engine" keeps_policies
done
if on_a_terminal 80 true </dev/null; then
    it 'requeues on a terminal' draws_progress
else
    echo '# no pseudo-terminal can be had here: one case less'
fi

it 'wants a token to resolve' refuses 2 '--token N is needed' dlq resolve 1
it 'wants ids to resolve' refuses 2 'ids are needed' dlq resolve --token 1
it 'wants a reason to reject' refuses 2 '--reason TEXT is needed' dlq reject 1 --token 1
it 'wants ids or --all' refuses 2 'ids, or --all' dlq requeue
it 'takes ids or --all' refuses 2 'either ids or --all' dlq discard 1 --all
it 'has no filters for ids' refuses 2 'for --all' dlq requeue 1 --queue x
it 'has no token for --all' refuses 2 '--token is for ids' dlq requeue --all --token 5
it 'refuses an id that is none' refuses 2 "'x1' is no id" dlq discard x1
it 'refuses an unknown status' refuses 2 'must be pending' dlq list --status lost
it 'refuses a mark that is none' refuses 2 "--after is 'x'" dlq list --after x
it 'refuses a limit of 0' refuses 2 "--limit is '0'" dlq list --limit 0
it 'refuses a limit beyond a page' refuses 2 'from 0 to 10000' dlq list --limit 10001
it 'refuses a duration that is none' refuses 2 "--for is 'long'" dlq claim --for long
it 'refuses ids to clean up' refuses 2 'takes no ids' dlq cleanup 5
it 'wants one id to show' refuses 2 'one ID is needed' dlq show
it 'explains the group' prints "$("$weir" help dlq)" "$weir" dlq --help

finish
