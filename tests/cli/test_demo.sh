#!/usr/bin/env bash
# `weir demo`: bad values, the three forms of its output, and every way it can end.
. "$(dirname "$0")/../lib/tap.sh"

weir=${WEIR:-$root/build/release/weir}
escape=$'\033'

refuses_seconds() {
    local value=$1 result=0
    "$weir" demo --seconds "$value" >"$scratch/out" 2>"$scratch/err" || result=$?
    [ "$result" -eq 2 ] || { echo "exit code $result"; return 1; }
    [ ! -s "$scratch/out" ]
    grep -qF -- "--seconds is '$value', must be a number from 0.1 to 86400" "$scratch/err" ||
        { cat "$scratch/err"; return 1; }
}

# has TEXT...: each of them is in the output of the last demo.
has() {
    local text
    for text in "$@"; do
        grep -qF -- "$text" "$scratch/out" || { echo "no \"$text\""; cat "$scratch/out"; return 1; }
    done
}

ends_by_itself() {
    "$weir" demo --seconds 1 >"$scratch/out" 2>"$scratch/err"
    [ ! -s "$scratch/err" ]
    has 'executions ' 'failures ' 'panics survived ' 'workers unfinished 0' 'verdict: good'
}

shows_every_worker() {
    "$weir" demo --seconds 0.2 >"$scratch/out"
    has heartbeat burst flaky crashy courier-1 courier-2 janitor
}

# Five failures come before the first success; a second is enough for two of them.
shows_failures() {
    "$weir" demo --seconds 1 >"$scratch/out"
    grep -qE '^flaky +(backing off|running|ready) +[0-9]+ +[1-9][0-9]* +[1-9]' "$scratch/out" ||
        { cat "$scratch/out"; return 1; }
    has 'no answer'
}

# lacks PATTERN FILE: no line of it matches.
lacks() {
    if grep -nE -- "$1" "$2"; then return 1; fi
}

prints_no_escapes() {
    "$weir" demo --seconds 0.2 >"$scratch/out"
    lacks "$escape" "$scratch/out"
}

# Each line is one object: with its texts emptied, it has the shape of JSON.
prints_json() {
    local value='(""|null|[0-9]+)' object
    object="\\{(\"\":$value,?)*\\}"
    "$weir" demo --seconds 1.2 --json >"$scratch/out"
    sed 's/"[^"]*"/""/g' "$scratch/out" |
        sed -E "/^\\{(\"\":($value|$object|\\[($object,?)*\\]),?)+\\}\$/d" >"$scratch/odd"
    [ ! -s "$scratch/odd" ] || { cat "$scratch/odd"; return 1; }
    [ "$(grep -c '^{"event":"snapshot",' "$scratch/out")" -ge 2 ]
    tail -n 1 "$scratch/out" | grep -q '^{"event":"summary",.*,"verdict":"good"}$'
    ! command -v jq >/dev/null ||
        jq -es 'map(select(.event == "snapshot").workers | length == 7) | all' "$scratch/out"
}

# start ARG...: a demo in the background; returns once it has printed something.
start() {
    rm -f "$scratch/out"
    env --default-signal=HUP "$weir" demo "$@" >"$scratch/out" 2>"$scratch/err" &
    demo=$!
    until [ -s "$scratch/out" ]; do
        kill -0 "$demo"
        sleep 0.02
    done
}

ends_on() {
    local result=0
    start --seconds 60
    kill -s "$1" "$demo"
    wait "$demo" || result=$?
    [ "$result" -eq 0 ] || { echo "exit code $result"; cat "$scratch/err"; return 1; }
    has 'panics survived' 'verdict: good'
}

ends_json_on_a_signal() {
    start --seconds 60 --json
    kill -s TERM "$demo"
    wait "$demo"
    tail -n 1 "$scratch/out" | grep -q '"event":"summary"'
}

# The reader goes away after one line: the demo ends by itself, with a failure, in silence.
ends_without_a_reader() {
    local result
    set +e
    "$weir" demo --seconds 60 2>"$scratch/err" | head -n 1 >"$scratch/out"
    result=${PIPESTATUS[0]}
    set -e
    [ "$result" -eq 1 ] || { echo "exit code $result"; return 1; }
    [ ! -s "$scratch/err" ] || { cat "$scratch/err"; return 1; }
}

# Nobody reads, the pipe is full: SIGTERM still ends it.
ends_with_a_reader_that_sleeps() {
    local result=0 fifo=$scratch/fifo
    mkfifo "$fifo"
    exec 3<>"$fifo"
    head -c 65536 /dev/zero >&3 # as much as a pipe holds
    "$weir" demo --seconds 60 >"$fifo" 2>"$scratch/err" &
    demo=$!
    # It listens once it has blocked SIGTERM. (All of them are blocked for a moment while
    # a thread is started.)
    # Before that it is the shell, about to become the program.
    until grep -q '^weir$' "/proc/$demo/comm" &&
        grep -qE '^SigBlk:.*4..[23]$' "/proc/$demo/status"; do sleep 0.02; done
    kill -s TERM "$demo"
    wait "$demo" || result=$?
    exec 3<&-
    [ "$result" -eq 1 ] || { echo "exit code $result"; return 1; }
}

fails_on_a_full_disk() {
    local result=0
    "$weir" demo --seconds 60 >/dev/full 2>"$scratch/err" || result=$?
    [ "$result" -eq 1 ] || { echo "exit code $result"; return 1; }
    grep -qF 'No space left on device' "$scratch/err"
}

# on_a_terminal COLUMNS COMMAND: what a terminal of that width would get.
on_a_terminal() {
    TERM=xterm script -qec "stty cols $1 rows 24; $2" /dev/null </dev/null >"$scratch/out"
}

draws_in_place() {
    local output up="${escape}\[[0-9]+A"
    on_a_terminal 80 "$weir demo --seconds 0.5"
    has "${escape}[?25l" 'verdict: good'
    grep -qE "$up" "$scratch/out"
    output=$(<"$scratch/out")
    [[ ${output##*"${escape}[?25l"} == *"${escape}[?25h"* ]] # shown after it was last hidden
}

uses_no_colour() {
    on_a_terminal 80 "NO_COLOR=1 $weir demo --seconds 0.3"
    lacks "${escape}\[[0-9;]*m" "$scratch/out"
}

uses_colour() {
    on_a_terminal 80 "env -u NO_COLOR $weir demo --seconds 0.3"
    grep -qE "${escape}\[[0-9;]+m" "$scratch/out"
}

# No line that is drawn over is longer than the terminal is wide, at any width.
keeps_to_the_width() {
    local width
    for width in 20 40 79 80 120; do
        on_a_terminal "$width" "$weir demo --seconds 0.3"
        sed -E "s/${escape}\[[0-9;?]*[A-Za-z]//g; s/\r//g; /s: executions/,\$d" \
            "$scratch/out" >"$scratch/plain"
        [ -s "$scratch/plain" ]
        lacks ".{$((width + 1))}" "$scratch/plain"
    done
}

for value in abc -1 0 0.05 1e9 86401 '' . 1.2.3 ' 1' 1s inf nan 0x5; do
    it "refuses --seconds '$value'" refuses_seconds "$value"
done
it 'ends by itself with a verdict' ends_by_itself
it 'shows every worker' shows_every_worker
it 'shows failures and their backoff' shows_failures
it 'prints no escapes without a terminal' prints_no_escapes
it 'prints one JSON object per line' prints_json
it 'ends with a summary on SIGTERM' ends_on TERM
it 'ends with a summary on SIGINT' ends_on INT
it 'ends with a summary on SIGHUP' ends_on HUP
it 'ends with a JSON summary on a signal' ends_json_on_a_signal
it 'ends when its reader has gone' ends_without_a_reader
it 'ends when its reader reads no more' ends_with_a_reader_that_sleeps
it 'fails when the disk is full' fails_on_a_full_disk
if on_a_terminal 80 true; then
    it 'draws in place on a terminal and gives the cursor back' draws_in_place
    it 'uses colour on a terminal' uses_colour
    it 'uses no colour with NO_COLOR' uses_no_colour
    it 'keeps to the width of the terminal' keeps_to_the_width
else
    echo '# no pseudo-terminal can be had here: four cases less'
fi

finish
