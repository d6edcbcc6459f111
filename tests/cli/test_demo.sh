#!/usr/bin/env bash
# `weir demo`: its options, the forms of its output, every way it can end, and that its verdict is
# bad when something was broken.
. "$(dirname "$0")/../kit/tap.sh"
. "$(dirname "$0")/../kit/server.sh"
. "$(dirname "$0")/../kit/cli.sh"

escape=$'\033'
queue=weir-demo
export TMPDIR=$scratch/tmp
mkdir "$TMPDIR"

# lacks PATTERN FILE: no line of it matches.
lacks() {
    if grep -nE -- "$1" "$2"; then return 1; fi
}

left_nothing() {
    [ -z "$(ls "$TMPDIR")" ] || { ls "$TMPDIR"; return 1; }
}

# --- the end of its own accord --------------------------------------------------------------

# gives_a_verdict ENGINE OPTION...: and names the engine.
gives_a_verdict() {
    local name=$1
    shift
    ends 0 demo --seconds 1 --rate 500 "$@"
    [ ! -s "$scratch/err" ]
    says " s on $name: delivered " 'tried again ' 'dead letters ' 'from commit to handler: p50 ' \
        ' committed orders arrived in order; ' ' rolled back, none of them seen'
    [ "$(tail -n 1 "$scratch/out")" = 'verdict: good' ]
}

# Long enough for orders that are rolled back, that fail and that are rejected.
accounts_for_every_order() {
    ends 0 demo --seconds 4 --rate 1000 --json "$@"
    json '.verdict == "good" and (.reason | startswith("all "))'
    json '.committed == .delivered + .dead_letters and .committed > 0'
    json '.rolled_back > 0 and .tried_again > 0 and .dead_letters > 0'
    json '.rate == 1000 and .producers == 4 and .partitions == 8 and .seconds >= 4'
    json '.latency_p50_seconds > 0 and .latency_p50_seconds <= .latency_p99_seconds
        and .latency_p99_seconds <= .latency_max_seconds'
}

prints_a_line_a_second() {
    ends 0 demo --seconds 2.5
    [ "$(grep -cE '^ +[12] s  in [0-9]+/s  out [0-9]+/s  on the way [0-9]+  p50 ' \
        "$scratch/out")" -eq 2 ]
    lacks "$escape" "$scratch/out"
}

is_quiet() {
    ends 0 demo --seconds 1.2 --quiet
    lacks '/s  out ' "$scratch/out"
    says 'verdict: good'
}

leaves_no_folder() {
    ends 0 demo --seconds 0.3
    left_nothing
}

needs_no_configuration() {
    WEIR_DB=sqlite:$scratch/important.db ends 0 demo --seconds 0.3
    [ ! -e "$scratch/important.db" ]
}

keeps_the_folder() {
    ends 0 demo --seconds 0.5 --rate 1000 --dir "$scratch/kept" --quiet
    says 'kept; look at it with: weir status weir-demo --db sqlite:'
    ends 0 status "$queue" --db "sqlite:$scratch/kept/demo.db" --json
    json '.queues[0].waiting == 0 and ([.partitions[].seq] | add) > 0'
    refuses 1 'is there already' demo --dir "$scratch/kept"
}

takes_any_path() {
    ends 0 demo --seconds 0.3 --dir "$scratch/100%? sure"
    [ -e "$scratch/100%? sure/demo.db" ]
}

# --- in a database that is there ------------------------------------------------------------

leaves_no_trace() {
    ends 0 queue list --quiet
    lacks "$queue" "$scratch/out"
}

makes_missing_tables() {
    local url
    url=$(new_database "$1" empty)
    ends 0 demo --seconds 0.5 --db "$url"
    ends 0 queue list --db "$url"
}

takes_the_place_of_an_empty_one() {
    ends 0 queue add "$queue" --partitions 2
    ends 0 demo --seconds 0.5 --db "$WEIR_DB"
    leaves_no_trace
}

refuses_a_queue_in_use() {
    ends 0 queue add "$queue" --partitions 2
    ends 0 enqueue "$queue" hello
    refuses 1 "with 1 message and 0 dead letters; remove it with 'weir queue remove" \
        demo --db "$WEIR_DB"
    [ "$(waiting "$queue")" -eq 1 ]
    ends 0 queue remove "$queue" --force --yes
}

# Two at once would find each other's orders.
refuses_a_second_one() {
    start --db "$WEIR_DB"
    refuses 1 'another demo is at work there' demo --db "$WEIR_DB"
    kill -s TERM "$demo"
    wait "$demo"
    grep -qF 'verdict: good' "$scratch/demo.out"
    leaves_no_trace
}

# --- signals and readers --------------------------------------------------------------------

# start ARG...: a demo in the background; returns once it has printed something.
start() {
    rm -f "$scratch/demo.out"
    env --default-signal=HUP "$weir" demo --rate 300 "$@" >"$scratch/demo.out" \
        2>"$scratch/demo.err" &
    demo=$!
    until [ -s "$scratch/demo.out" ]; do
        kill -0 "$demo"
        sleep 0.02
    done
}

# ended CODE: the demo in the background ends so.
ended() {
    local result=0
    wait "$demo" || result=$?
    [ "$result" -eq "$1" ] ||
        { echo "exit code $result"; cat "$scratch/demo.out" "$scratch/demo.err"; return 1; }
}

ends_on() {
    start
    kill -s "$1" "$demo"
    ended 0
    grep -qxF 'verdict: good' "$scratch/demo.out"
    left_nothing
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
    left_nothing
}

# Nobody reads, the pipe is full: SIGTERM still ends it.
ends_with_a_reader_that_sleeps() {
    local fifo=$scratch/fifo
    mkfifo "$fifo"
    exec 3<>"$fifo"
    head -c 65536 /dev/zero >&3 # as much as a pipe holds
    "$weir" demo --seconds 60 --dir "$scratch/asleep" >"$fifo" 2>"$scratch/err" &
    demo=$!
    until orders_flow "$scratch/asleep"; do sleep 0.02; done
    kill -s TERM "$demo"
    ended 1
    exec 3<&-
}

fails_on_a_full_disk() {
    local result=0
    "$weir" demo --seconds 60 >/dev/full 2>"$scratch/err" || result=$?
    [ "$result" -eq 1 ] || { echo "exit code $result"; return 1; }
    grep -qF 'No space left on device' "$scratch/err"
}

# --- a promise that is broken ---------------------------------------------------------------

# orders_flow FOLDER: the demo in it has delivered something.
orders_flow() {
    "$weir" status "$queue" --db "sqlite:$1/demo.db" --json 2>/dev/null |
        jq -e '([.partitions[].seq] | add) > 0' >/dev/null
}

# notices FOLDER PAYLOAD TEXT: a message that the shop did not send makes the verdict bad, and is
# called that.
notices() {
    start --dir "$scratch/$1" --seconds 60
    ends 0 enqueue "$queue" --key Ada "$2" --db "sqlite:$scratch/$1/demo.db"
    kill -s TERM "$demo"
    ended 1
    grep -qF "$3" "$scratch/demo.out"
    [ "$(tail -n 1 "$scratch/demo.out")" = 'verdict: bad' ]
}

# Delivery is stopped from outside, so the last orders cannot arrive.
notices_orders_that_never_arrive() {
    start --dir "$scratch/paused"
    ends 0 queue pause "$queue" --db "sqlite:$scratch/paused/demo.db"
    until [ "$(WEIR_DB=sqlite:$scratch/paused/demo.db waiting "$queue")" -gt 1000 ]; do
        sleep 0.05
    done
    kill -s TERM "$demo"
    ended 1
    grep -qE '^committed orders that never arrived: [0-9,]+ ' "$scratch/demo.out"
    [ "$(tail -n 1 "$scratch/demo.out")" = 'verdict: bad' ]
}

# --- on a terminal --------------------------------------------------------------------------

draws_in_place() {
    local output up="${escape}\[[0-9]+A"
    on_a_terminal 80 "$weir demo --seconds 0.5" </dev/null
    says "${escape}[?25l" 'verdict: good'
    grep -qE "$up" "$scratch/out"
    output=$(<"$scratch/out")
    [[ ${output##*"${escape}[?25l"} == *"${escape}[?25h"* ]] # shown after it was last hidden
}

uses_no_colour() {
    on_a_terminal 80 "NO_COLOR=1 $weir demo --seconds 0.3" </dev/null
    lacks "${escape}\[[0-9;]*m" "$scratch/out"
}

uses_colour() {
    on_a_terminal 80 "env -u NO_COLOR $weir demo --seconds 0.3" </dev/null
    grep -qE "${escape}\[[0-9;]+m" "$scratch/out"
}

# No line that is drawn over is longer than the terminal is wide, at any width.
keeps_to_the_width() {
    local width
    for width in 20 40 79 80 120; do
        on_a_terminal "$width" "$weir demo --seconds 0.3" </dev/null
        sed -E "s/${escape}\[[0-9;?]*[A-Za-z]//g; s/\r//g; s/µ/u/g; /^[0-9.]+ m?s on /,\$d" \
            "$scratch/out" >"$scratch/plain"
        [ -s "$scratch/plain" ]
        lacks ".{$((width + 1))}" "$scratch/plain"
    done
}

# terminal COMMAND: a real one of 80 columns and 24 rows, with a shell in it that runs this and
# outlives Ctrl-C. It is gone when the case ends.
terminal() {
    socket=$(mktemp -u "$scratch/tmux.XXXXXX")
    trap 'tmux -S "$socket" kill-server' EXIT
    TERM=xterm tmux -u -S "$socket" -f /dev/null new-session -d -x 80 -y 24 \
        "sh -c 'trap : INT; $1; echo code \$?; exec sleep 60'"
}

screen() {
    tmux -u -S "$socket" capture-pane -p >"$scratch/screen"
}

# until_screen PATTERN: wait until it is to be seen.
until_screen() {
    screen
    until grep -qE -- "$1" "$scratch/screen"; do
        sleep 0.05
        screen
    done
}

press() {
    tmux -S "$socket" send-keys "$@"
}

# The third word of a row is its total; 1,234 in groups.
delivered_so_far() {
    screen
    awk '$1 == "delivered" { gsub(",", "", $3); print $3 }' "$scratch/screen"
}

shows_a_table_that_moves() {
    local before
    terminal "$weir demo --seconds 120 --rate 300"
    until_screen '^delivered +[1-9]'
    before=$(delivered_so_far)
    until [ "$(delivered_so_far)" -gt "$before" ]; do sleep 0.05; done
    grep -qE '^weir demo: a shop on SQLite, 4 producers, 8 partitions, ' "$scratch/screen"
    grep -qE '^from commit to handler: p50 .*, p99 ' "$scratch/screen"
    grep -qE '^7 +[0-9,]+ +[0-9]+ ' "$scratch/screen" # the last partition
    grep -qE '^in order: ' "$scratch/screen"
    grep -qxF 'Ctrl-C ends it' "$scratch/screen"
    press C-c
    until_screen '^code 0$'
    grep -qxF 'verdict: good' "$scratch/screen"
}

# With the queue paused the last orders never come, so the first Ctrl-C does not end it. A pause
# takes a moment: it is there when more wait than any hiccup explains.
ends_at_the_second_ctrl_c() {
    terminal "$weir demo --seconds 120 --rate 300"
    until_screen '^delivered +[1-9]'
    ends 0 queue pause "$queue" --db "sqlite:$(echo "$TMPDIR"/weir-demo-*)/demo.db"
    until_screen '^on the way +[0-9]+,[0-9]+'
    press C-c
    until_screen '^waiting for the last orders; Ctrl-C ends at once$'
    press C-c
    until_screen '^code 130$'
    left_nothing
}

for value in abc -1 0 0.05 1e9 86401 '' . 1.2.3 ' 1' 1s inf nan 0x5; do
    it "refuses --seconds '$value'" \
        refuses 2 "--seconds is '$value', must be a number from 0.1 to 86400" \
        demo --seconds "$value"
done
for value in 0 10001 -5 1.5 many ''; do
    it "refuses --rate '$value'" refuses 2 "--rate is '$value'" demo --rate "$value"
done
it 'refuses --dir with --db' \
    refuses 2 '--dir and --db exclude each other' demo --dir "$scratch" --db sqlite:x.db
it 'refuses a folder without a name' refuses 2 '--dir is empty' demo --dir ''
it 'refuses a folder that cannot be made' \
    refuses 1 'cannot make the folder' demo --dir /dev/null/demo
it 'makes no file that --db names' refuses 1 'does not exist' demo --db "sqlite:$scratch/none.db"
it 'tells that nobody listens' \
    refuses 1 'is the server running' demo --db postgresql://127.0.0.1:1/app
it 'tells that nobody listens for MariaDB either' \
    refuses 1 'is the server running' demo --db mariadb://127.0.0.1:1/app

it 'gives a verdict' gives_a_verdict SQLite
it 'accounts for every order' accounts_for_every_order
it 'prints a line a second, without escapes' prints_a_line_a_second
it 'prints only the end with --quiet' is_quiet
it 'leaves no folder behind' leaves_no_folder
it 'needs no configuration, and heeds none' needs_no_configuration
it 'keeps a folder that was given' keeps_the_folder
it 'takes a path with characters of a URL' takes_any_path

declare -A names=([sqlite]=SQLite [postgresql]=PostgreSQL [mariadb]=MariaDB)
for engine in $engines; do
    use_engine "$engine"
    it "gives a verdict in a database that is there, on $engine" \
        gives_a_verdict "${names[$engine]}" --db "$WEIR_DB"
    it "accounts for every order there, on $engine" accounts_for_every_order --db "$WEIR_DB"
    it "leaves no trace there, on $engine" leaves_no_trace
    it "takes the place of an empty queue, on $engine" takes_the_place_of_an_empty_one
    it "refuses a queue that is in use, on $engine" refuses_a_queue_in_use
    it "refuses to be the second, on $engine" refuses_a_second_one
done
unset WEIR_DB
for engine in postgresql mariadb; do
    it "makes the tables of weir where there are none, on $engine" makes_missing_tables "$engine"
done

it 'ends with a verdict on SIGTERM' ends_on TERM
it 'ends with a verdict on SIGINT' ends_on INT
it 'ends with a verdict on SIGHUP' ends_on HUP
it 'ends when its reader has gone' ends_without_a_reader
it 'ends when its reader reads no more' ends_with_a_reader_that_sleeps
it 'fails when the disk is full' fails_on_a_full_disk

it 'notices a message with no order behind it' \
    notices forged '{"order": 1000000}' 'messages that no order stands behind: 1 '
it 'notices a message that names no order' \
    notices nameless 'good morning' 'messages that no order stands behind: 1 '
it 'notices an order that comes twice' \
    notices twice '{"order": 1}' 'orders that came under two numbers: 1'
it 'notices orders that never arrive' notices_orders_that_never_arrive

if on_a_terminal 80 true </dev/null; then
    it 'draws in place on a terminal and gives the cursor back' draws_in_place
    it 'uses colour on a terminal' uses_colour
    it 'uses no colour with NO_COLOR' uses_no_colour
    it 'keeps to the width of the terminal' keeps_to_the_width
    it 'shows a table that moves, and ends at Ctrl-C' shows_a_table_that_moves
    it 'ends at once at the second Ctrl-C, and leaves no folder' ends_at_the_second_ctrl_c
else
    echo '# no pseudo-terminal can be had here: six cases less'
fi

finish
