#!/usr/bin/env bash
# `weir demo --flow`: orders as flows, workers that are killed, and a verdict that is bad when
# something was broken.
. "$(dirname "$0")/../kit/tap.sh"
. "$(dirname "$0")/../kit/server.sh"
. "$(dirname "$0")/../kit/cli.sh"

escape=$'\033'
export TMPDIR=$scratch/tmp
mkdir "$TMPDIR"

lacks() {
    if grep -nE -- "$1" "$2"; then return 1; fi
}

left_nothing() {
    [ -z "$(ls "$TMPDIR")" ] || { ls "$TMPDIR"; return 1; }
}

# Long enough for workers that are killed, a bank that is busy and an order that is refused. The budget
# holds some back, unless the machine is too slow to get that far.
accounts_for_every_order() {
    ends 0 demo --flow --seconds 2 --json
    [ ! -s "$scratch/err" ]
    json '.verdict == "good" and (.reason | startswith("all "))'
    json '.placed > 11 and .placed == .shipped + .refused and .refused > 0'
    json '.killed > 0 and .tried_again > 0 and .budget_resets > 0'
    json '.workers == 3 and .calls_per_second == 8 and .latency_p50_seconds > 0'
    json '.held_back_most > 0 or .latency_p50_seconds > 2'
    left_nothing
}

keeps_to_the_width() {
    local width
    for width in 40 80; do
        on_a_terminal "$width" "$weir demo --flow --seconds 0.3" </dev/null
        sed -E "s/${escape}\[[0-9;?]*[A-Za-z]//g; s/\r//g; /^[0-9.]+ m?s on /,\$d" \
            "$scratch/out" >"$scratch/plain"
        grep -q '^reserve ' "$scratch/plain"
        lacks ".{$((width + 1))}" "$scratch/plain"
        says 's on SQLite: workers killed ' ' orders ended once: ' 'verdict: good'
    done
}

# start ARG...: a demo in the background; returns once it has printed something.
start() {
    rm -f "$scratch/demo.out"
    "$weir" demo --flow --seconds 30 "$@" >"$scratch/demo.out" 2>"$scratch/demo.err" &
    demo=$!
    until_true test -s "$scratch/demo.out"
}

# those PID: and whoever descends from it.
those() {
    local child
    echo "$1"
    for child in $(pgrep -P "$1"); do those "$child"; done
}

# The foreman, and somebody who works.
has_workers() {
    [ "$(those "$demo" | wc -l)" -ge 3 ]
}

# The newest, unless the foreman was faster.
break_a_worker() {
    kill -s SEGV "$(pgrep -P "$(pgrep -P "$demo")" | tail -n 1)"
}

# An execution that nobody does is put beside the orders, and a worker breaks. What is printed has no
# escapes.
notices_what_is_broken() {
    local result=0
    start --dir "$scratch/kept"
    until_true break_a_worker
    ends 0 submit --lane nowhere --kind stray --db "sqlite:$scratch/kept/demo.db"
    kill -s TERM "$demo"
    wait "$demo" || result=$?
    [ "$result" -eq 1 ]
    grep -qxF 'executions that have not ended: 1; workers that broke: 1' "$scratch/demo.out"
    [ "$(tail -n 1 "$scratch/demo.out")" = 'verdict: bad' ]
    grep -qE '^  1 s  placed [0-9]+  on the way [0-9]+  suspended [0-9]+  held [0-9]+  shipped ' \
        "$scratch/demo.out"
    lacks "$escape" "$scratch/demo.out"
    refuses 1 'is there already' demo --flow --dir "$scratch/kept"
}

# One that nobody has waited for yet is gone as well.
all_gone() {
    ! ps -o stat= -p "$*" | grep -qv '^Z'
}

leaves_nobody_behind() {
    local family
    start
    until_true has_workers
    mapfile -t family < <(those "$demo")
    kill -s KILL "$demo"
    wait "$demo" || true
    until_true all_gone "${family[@]}"
    rm -r "$TMPDIR"/weir-demo-*
}

it 'refuses --flow with --db' \
    refuses 2 '--flow and --db exclude each other' demo --flow --db sqlite:x.db
it 'refuses a rate that it could not keep' \
    refuses 2 '--rate is 51, must be from 1 to 50 with --flow' demo --flow --rate 51
it 'accounts for every order, and leaves no folder' accounts_for_every_order
it 'notices what is broken, and prints a line a second' notices_what_is_broken
it 'leaves no process behind when it is killed' leaves_nobody_behind
if on_a_terminal 80 true </dev/null; then
    it 'keeps to the width of the terminal' keeps_to_the_width
else
    echo '# no pseudo-terminal can be had here: one case less'
fi

finish
