#!/usr/bin/env bash
# `weir queue ...`: add, set, list, pause, resume and remove.
. "$(dirname "$0")/../kit/tap.sh"
. "$(dirname "$0")/../kit/server.sh"
. "$(dirname "$0")/../kit/cli.sh"

adds_once() {
    ends 0 queue add once --partitions 8
    says "queue 'once' added, 8 partitions"
    ends 0 queue add once --partitions 8
    says "queue 'once' exists, 8 partitions"
    ends 0 queue add once --partitions 8 --json
    json '. == {"queue": "once", "partitions": 8, "added": false, "changed": [],
        "unread": "keep", "backlog_max": 0, "attempts_max": 0,
        "dead_letter_retention_seconds": 0, "retain_seconds": 0}'
}

refuses_another_number() {
    ends 0 queue add fixed --partitions 4
    refuses 1 'has 4 partitions, not 2 as asked for' queue add fixed --partitions 2
}

keeps_policies() {
    ends 0 queue add limited --partitions 1 --backlog-max 3 --unread keep
    ends 0 queue list --json
    json '.queues[] | select(.name == "limited") | .backlog_max == 3'
    ends 0 queue add limited --partitions 1 --unread drop --backlog-max 0
    ends 0 queue list --json
    json '.queues[] | select(.name == "limited") | .backlog_max == 0'
}

changes_only_what_is_named() {
    ends 0 queue add named --partitions 2 --backlog-max 3 --attempts-max 5
    says 'unread keep, backlog-max 3, attempts-max 5, dead-letter-retention none'
    ends 0 queue add named --partitions 2 --backlog-max 0 --dead-letter-retention 7d
    says "queue 'named' changed, 2 partitions"
    says 'unread keep, backlog-max none (was 3), attempts-max 5, dead-letter-retention 7 d (was none)'
    ends 0 queue add named --partitions 2
    says "queue 'named' exists, 2 partitions"
    says 'unread keep, backlog-max none, attempts-max 5, dead-letter-retention 7 d'
}

retains() {
    ends 0 queue add kept --partitions 2 --retain 7d
    says 'dead-letter-retention none, retain 7 d'
    ends 0 queue set kept --retain 1h --json
    json '.changed == ["retain_seconds"] and .retain_seconds == 3600'
    ends 0 status
    grep -qE "^'kept' keeps 1 h: everything since 20[0-9T:.Z -]+ is there$" "$scratch/out" ||
        { cat "$scratch/out"; return 1; }
    ends 0 status kept --json
    json '.queues[0] | .retain_seconds == 3600 and (.complete_since | startswith("20"))'
    ends 0 queue set kept --retain 0
    says 'retain none (was 1 h)'
    ends 0 status kept
    if grep -q ' keeps ' "$scratch/out"; then cat "$scratch/out"; return 1; fi
    refuses 2 '--retain is' queue set kept --retain soon
}

sets() {
    ends 0 queue add policed --partitions 2 --attempts-max 5
    ends 0 queue set policed --backlog-max 9 --attempts-max 5
    says "queue 'policed' changed, 2 partitions"
    says 'unread keep, backlog-max 9 (was none), attempts-max 5, dead-letter-retention none'
    ends 0 queue list
    grep -qE '^policed .* backlog-max 9, attempts-max 5$' "$scratch/out" || { cat "$scratch/out"; return 1; }
    ends 0 queue set policed --unread drop --json
    json '. == {"queue": "policed", "partitions": 2, "added": false, "changed": ["unread"],
        "unread": "drop", "backlog_max": 9, "attempts_max": 5,
        "dead_letter_retention_seconds": 0, "retain_seconds": 0}'
    refuses 1 "there is no queue 'nowhere'" queue set nowhere --backlog-max 9
    refuses 1 "there is no queue 'nowhere'" status nowhere
}

lists() {
    ends 0 queue add listed --partitions 2
    ends 0 enqueue listed one
    ends 0 queue list
    says 'queue ' partitions paused subscriptions waiting oldest in/s out/s 'set aside' 'dead letters' policies
    grep -qE '^listed +2 +no +0 +1 +[0-9.]+ m?s +[0-9.]+ +- +0 +0 +-$' "$scratch/out" || { cat "$scratch/out"; return 1; }
    ends 0 queue list --json
    json '.queues[] | select(.name == "listed") | .partitions == 2 and .waiting == 1 and
        .paused == false and .subscriptions == 0 and .oldest_age_seconds > 0 and
        .set_aside == 0 and .dead_letters == 0 and .waiting_is_estimate == false'
    ends 0 queue list --quiet
    grep -qx listed "$scratch/out"
}

pauses_and_resumes() {
    ends 0 queue add stopped --partitions 2
    ends 0 queue pause stopped
    says "queue 'stopped' is paused"
    ends 0 queue pause stopped --json
    json '. == {"queue": "stopped", "paused": true}'
    ends 0 queue list
    grep -qE '^stopped +2 +yes ' "$scratch/out"
    ends 0 enqueue stopped 'still accepted'
    ends 0 queue resume stopped
    says "queue 'stopped' is being delivered"
    ends 0 queue list
    grep -qE '^stopped +2 +no ' "$scratch/out"
}

removes_what_is_empty() {
    ends 0 queue add empty --partitions 2
    ends 0 queue remove empty --dry-run
    says 'would be removed'
    ends 0 status empty
    ends 0 queue remove empty
    says "queue 'empty' removed"
    refuses 1 "there is no queue 'empty'" status empty
}

refuses_to_remove_what_waits() {
    ends 0 queue add full --partitions 2
    ends 0 enqueue full one
    refuses 1 'messages that wait; --force removes them too' queue remove full
    refuses 1 'would not be removed' queue remove full --dry-run
    [ "$(waiting full)" -eq 1 ]
}

# Standard input is no terminal here, so there is nobody to ask.
wants_yes_for_force() {
    ends 0 queue add precious --partitions 2
    ends 0 enqueue precious one
    refuses 1 'say --yes' queue remove precious --force </dev/null
    ends 0 queue remove precious --force --dry-run
    says 'would be removed' '1 waiting message'
    [ "$(waiting precious)" -eq 1 ]
    ends 0 queue remove precious --force --yes --json
    json '.removed and .waiting == 1'
    refuses 1 "there is no queue 'precious'" status precious
}

# asks ANSWER: what becomes of a queue that is to be removed on a terminal.
asks() {
    ends 0 queue add asked --partitions 2
    ends 0 enqueue asked one
    echo "$1" | on_a_terminal 80 "$weir queue remove asked --force" || true
    grep -qF "Remove queue 'asked' with" "$scratch/out" || { cat "$scratch/out"; return 1; }
}

asks_on_a_terminal() {
    asks n
    grep -qF 'nothing was done' "$scratch/out"
    [ "$(waiting asked)" -ge 1 ]
    asks yes
    refuses 1 "there is no queue 'asked'" status asked
}

for engine in $engines; do
    use_engine "$engine"
    it "adds a queue once on $engine" adds_once
    it "refuses another number of partitions on $engine" refuses_another_number
    it "keeps policies on $engine" keeps_policies
    it "changes only the policies that are named on $engine" changes_only_what_is_named
    it "sets policies of a queue that exists on $engine" sets
    it "retains what was delivered, and tells since when, on $engine" retains
    it "lists queues on $engine" lists
    it "pauses and resumes on $engine" pauses_and_resumes
    it "removes an empty queue on $engine" removes_what_is_empty
    it "refuses to remove what waits on $engine" refuses_to_remove_what_waits
    it "wants --yes for --force on $engine" wants_yes_for_force
    it "names a missing queue on $engine" \
        refuses 1 "there is no queue 'nowhere'" queue pause nowhere
done
if on_a_terminal 80 true </dev/null; then
    it 'asks on a terminal before it removes' asks_on_a_terminal
else
    echo '# no pseudo-terminal can be had here: one case less'
fi

it 'wants a number of partitions' refuses 2 '--partitions N is needed' queue add x
it 'wants a power of two' refuses 2 'must be a power of two' queue add x --partitions 3
it 'refuses 0 partitions' refuses 2 'from 1 to 64' queue add x --partitions 0
it 'refuses 65 partitions' refuses 2 'from 1 to 64' queue add x --partitions 65
it 'refuses partitions that are no number' \
    refuses 2 "--partitions is 'many'" queue add x --partitions many
it 'refuses an unknown policy' \
    refuses 2 'must be keep or drop' queue add x --partitions 1 --unread burn
it 'refuses a negative limit' \
    refuses 2 "--backlog-max is '-1'" queue add x --partitions 1 --backlog-max -1
it 'wants a policy to set' refuses 2 'no policy given' queue set x
it 'sets no partitions' refuses 2 "--partitions" queue set x --partitions 2
it 'refuses a bad name' refuses 2 'ASCII' queue add 'a b' --partitions 1
it 'wants a name' refuses 2 'no NAME given' queue add --partitions 1
it 'wants a queue' refuses 2 'no QUEUE given' queue pause
it 'takes one queue' refuses 2 "unexpected argument 'b'" queue remove a b

finish
