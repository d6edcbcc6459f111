#!/usr/bin/env bash
# `weir subscription ...`: list, pause, resume, seek and remove.
. "$(dirname "$0")/../kit/tap.sh"
. "$(dirname "$0")/../kit/server.sh"
. "$(dirname "$0")/../kit/cli.sh"

# queue NAME [MESSAGES]: of one partition.
queue() {
    ends 0 queue add "$1" --partitions 1
    for ((i = 1; i <= ${2:-0}; i++)); do "$weir" enqueue "$1" "$i" --quiet; done
}

# drain QUEUE NAME: what a relay of that name gets, in $scratch/drained.
drain() {
    "$weir" relay --queue "$1" --as "$2" --to stdout: --drain >"$scratch/drained" 2>"$scratch/drained.err"
}

# start NAME OPTION...: a relay in the background. Its output begins empty: the background shell empties
# the files late, and until then they have what the relay on the engine before has written.
start() {
    local name=$1
    shift
    : >"$scratch/$name"
    : >"$scratch/$name.err"
    "$weir" relay "$@" >"$scratch/$name" 2>"$scratch/$name.err" &
    echo $! >"$scratch/$name.pid"
}

until_true() {
    local n
    for ((n = 0; n < 600; n++)); do
        if "$@"; then return 0; fi
        sleep 0.1
    done
    echo "never came: $*"
    return 1
}

lines_of() {
    [ "$(wc -l <"$1")" -eq "$2" ]
}

# ended NAME CODE: a relay ends by itself, with this exit code.
ended() {
    local code=0
    wait "$(cat "$scratch/$1.pid")" || code=$?
    [ "$code" -eq "$2" ] || { echo "exit code $code"; cat "$scratch/$1.err"; return 1; }
}

lists() {
    queue listed 3
    drain listed archive
    ends 0 enqueue listed four
    ends 0 subscription list listed
    says queue subscription 'served by' processes paused waiting oldest 'dead letters' made
    grep -qE '^listed +archive +sink +0 +no +1 ' "$scratch/out" || { cat "$scratch/out"; return 1; }
    ends 0 subscription list --json
    json '.subscriptions[] | select(.queue == "listed") | .name == "archive" and
        .served_by == "sink" and .processes == 0 and .paused == false and .queue_paused == false and
        .waiting == 1 and .waiting_is_estimate == false and .oldest_age_seconds > 0 and
        .dead_letters == 0 and (.created_at | startswith("20"))'
    ends 0 subscription list listed --quiet
    [ "$(cat "$scratch/out")" = 'listed archive' ]
    refuses 1 "there is no queue 'lsted', did you mean 'listed'?" subscription list lsted
}

pauses_and_resumes() {
    queue held 2
    drain held archive
    drain held other
    ends 0 subscription pause held archive
    says "subscription 'archive' of queue 'held' is paused"
    ends 0 subscription pause held archive --json
    json '. == {"queue": "held", "subscription": "archive", "paused": true}'
    ends 0 subscription list held
    grep -qE '^held +archive +sink +0 +yes ' "$scratch/out"
    ends 0 enqueue held three
    start held --queue held --as archive --to stdout:
    drain held other
    lines_of "$scratch/drained" 1
    [ ! -s "$scratch/held" ]
    ends 0 subscription resume held archive
    says "subscription 'archive' of queue 'held' is being delivered"
    until_true lines_of "$scratch/held" 1
    kill "$(cat "$scratch/held.pid")"
    ended held 0
}

removes() {
    queue dropped 2
    drain dropped archive
    ends 0 enqueue dropped three
    ends 0 subscription remove dropped archive --dry-run
    says 'would be removed; 1 message waited for it, and 0 dead letters'
    ends 0 subscription remove dropped archive --json
    json '.removed and .waiting == 1 and .processes == 0 and .dead_letters == 0'
    ends 0 subscription list dropped --quiet
    [ ! -s "$scratch/out" ]
    refuses 1 "queue 'dropped' has no subscriptions" subscription remove dropped archive
}

refuses_while_it_is_served() {
    queue served 1
    start served --queue served --as archive --to stdout:
    until_true lines_of "$scratch/served" 1
    refuses 1 '--force removes it all the same' subscription remove served archive
    refuses 1 'would not be removed: it is served' subscription remove served archive --dry-run
    refuses 1 'say --yes' subscription remove served archive --force </dev/null
    ends 0 subscription remove served archive --force --yes
    says "subscription 'archive' of queue 'served' removed"
    ended served 1
    grep -qF 'subscription "archive" of queue "served" was removed' "$scratch/served.err"
    ends 0 subscription list served --quiet
    [ ! -s "$scratch/out" ] # not made again
}

# A subscription that is gone has nothing left, which is not the end that --drain waits for.
ends_a_drain_with_that_reason() {
    queue draining 1
    start draining --queue draining --as archive --to 'exec:exit 75' --drain
    until_true grep -q 'draining: .*trying again' "$scratch/draining.err" # of its sink
    ends 0 subscription remove draining archive --force --yes
    ended draining 1
    grep -qF 'subscription "archive" of queue "draining" was removed' "$scratch/draining.err"
}

keeps_dead_letters() {
    queue rejected 1
    "$weir" relay --queue rejected --as archive --to 'exec:exit 65' --drain 2>/dev/null
    refuses 1 'has 1 dead letter to decide on; --force' subscription remove rejected archive
    refuses 1 'has dead letters to decide on' subscription remove rejected archive --dry-run
    ends 0 subscription remove rejected archive --force --yes
    ends 0 dlq list --queue rejected --json
    json '.dead_letters == [] or .letters == []'
}

# numbers: the numbers of what was drained, and those of replays in brackets.
numbers() {
    jq -r 'if .headers."weir-replay" == "true" then "(\(.seq))" else "\(.seq)" end' "$scratch/drained" |
        paste -sd ' '
}

# A second subscription that is not served keeps the log.
seeks() {
    queue moved
    drain moved holder
    for i in 1 2 3 4 5 6 7; do "$weir" enqueue moved "$i" --quiet; done
    drain moved archive
    ends 0 subscription seek moved archive --to 6 --dry-run
    says 'would be moved; 2 messages would come again; message 6 would be next'
    ends 0 subscription seek moved archive --to 6
    says "subscription 'archive' of queue 'moved' moved; 2 messages come again; message 6 is next"
    drain moved archive
    [ "$(numbers)" = '(6) (7)' ]
    ends 0 enqueue moved 8
    ends 0 subscription seek moved archive --to now --json
    json '. == {"queue": "moved", "subscription": "archive", "moved": true,
        "partitions": [{"partition": 0, "from": 8, "to": 9}]}'
    ends 0 enqueue moved 9
    drain moved archive
    [ "$(numbers)" = 9 ]
    refuses 1 'there is no message 11 of partition 0 yet' subscription seek moved archive --to 11
    ends 0 subscription seek moved archive --to 10
    says 'nothing lies between'
    ends 0 subscription seek moved archive --to 2999-01-01
}

goes_to_a_time() {
    local moment
    queue timed
    drain timed holder
    for i in 1 2 3; do "$weir" enqueue timed "$i" --quiet; done
    drain timed archive
    moment=$(jq -r 'select(.seq == 2) | .created_at' "$scratch/drained")
    ends 0 subscription seek timed archive --to "$moment"
    drain timed archive
    [ "$(numbers)" = '(2) (3)' ]
    ends 0 subscription seek timed archive --to 1999-12-31
    says 'message 1 is next'
}

for engine in $engines; do
    use_engine "$engine"
    it "lists subscriptions on $engine" lists
    it "pauses and resumes one on $engine" pauses_and_resumes
    it "moves one on $engine" seeks
    it "moves one to a time on $engine" goes_to_a_time
    it "removes one on $engine" removes
    it "refuses to remove one that is served on $engine" refuses_while_it_is_served
    it "ends a drain whose subscription was removed on $engine" ends_a_drain_with_that_reason
    it "refuses to remove one with dead letters on $engine" keeps_dead_letters
    it "names a missing queue on $engine" \
        refuses 1 "there is no queue 'nowhere'" subscription pause nowhere x
    it "names a missing subscription on $engine" \
        refuses 1 "queue 'listed' has no subscription 'x'; 'weir subscription list listed' shows them" \
        subscription pause listed x
done

it 'wants a queue' refuses 2 'no QUEUE given' subscription pause
it 'wants a name' refuses 2 'no NAME given' subscription remove orders
it 'takes one subscription' refuses 2 "unexpected argument 'c'" subscription remove a b c
it 'refuses a bad name' refuses 2 'ASCII' subscription pause listed 'a b'
it 'suggests a command' refuses 2 "did you mean 'remove'?" subscription remvoe x y

it 'wants a place' refuses 2 'where to? --to PLACE is needed' subscription seek a b
it 'refuses a place that is none' refuses 2 "--to is 'yesterday'" subscription seek a b --to yesterday
it 'refuses number 0' refuses 2 "--to is '0'" subscription seek a b --to 0

finish
