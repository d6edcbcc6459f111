#!/usr/bin/env bash
# `weir bench`: what it measures, and that it leaves nothing behind. Whether a figure is good is
# not asked here.
. "$(dirname "$0")/../kit/tap.sh"
. "$(dirname "$0")/../kit/server.sh"
. "$(dirname "$0")/../kit/cli.sh"

# But for those of the execution engine.
queues() {
    "$weir" queue list --quiet | grep -v '^execution\.' || true
}

# PostgreSQL removes rows by the ten thousand, and may keep some until there are more.
leaves_nothing() {
    [ -z "$(queues)" ] || { echo 'left:'; queues; return 1; }
    [ "$engine" != postgresql ] || return 0
    ends 0 doctor
    says 'about 0 delivered messages'
}

measures() {
    ends 0 bench --messages 500 --batch 10
    says '500 messages of 200 bytes, 10 per transaction, 1 producer' \
        'profile high_throughput, 64 partitions, 4 leased handlers' \
        'end to end' 'from commit to handler when idle, 200 messages' \
        'order        verified in all 64 partitions'
    grep -qE '^enqueue +[0-9]+/s, 500 messages in ' "$scratch/out"
    [ ! -s "$scratch/err" ]
    [ -z "$(queues)" ]
}

names_settings() {
    says 'commits survive a crash'
    case $engine in
        sqlite) says 'journal_mode wal, synchronous full' ;;
        postgresql) says 'fsync on, synchronous_commit on' ;;
        mariadb) says 'innodb_doublewrite on, innodb_flush_log_at_trx_commit 1' 'log_bin off' ;;
    esac
}

prints_json() {
    ends 0 bench --messages 330 --batch 7 --size 64 --producers 3 --handlers 2 --json
    json '.enqueue.count == 330 and .end_to_end.count == 330 and .latency.count == 200 and
        .in_order and .out_of_order == 0 and .repeated == 0 and .undelivered == 0 and
        .enqueue.per_second > 0 and .end_to_end.seconds > 0 and .latency.p50 <= .latency.p99 and
        .messages == 330 and .batch == 7 and .size == 64 and .producers == 3 and
        .handlers == 2 and .partitions == 64 and .profile == "high_throughput" and
        .durable and (.settings | length) > 0 and (.database | length) > 0'
}

# Fewer than a batch, and than there are partitions or producers.
takes_one_message() {
    ends 0 bench --messages 1 --producers 2 --json
    json '.enqueue.count == 1 and .end_to_end.count == 1 and .latency.count == 1 and .in_order'
}

ends_in_time() {
    ends 0 bench --messages 1000000000 --size 16 --seconds 1 --json
    json '.enqueue.count < 1000000000 and .enqueue.count > 0 and .in_order'
    [ -z "$(queues)" ]
}

# begin OPTION...: in the background, until its queue is there; its process is $running.
begin() {
    env --default-signal=INT "$weir" bench "$@" >"$scratch/bench.out" 2>"$scratch/bench.err" &
    running=$!
    until_true has_queue
    name=$(queues)
}

has_queue() {
    queues | grep -q '^weir-bench-'
}

is_enqueueing() {
    [ "$(waiting "$name")" -gt 0 ]
}

is_delivering() {
    "$weir" status "$name" --json | jq -e '.processes | length > 0' >/dev/null
}

# interrupted_by SIGNAL: it removes its queue, says so, and fails.
interrupted_by() {
    local result=0
    kill -s "$1" "$running"
    wait "$running" || result=$?
    [ "$result" -eq 1 ] || { echo "exit code $result"; cat "$scratch/bench.err"; return 1; }
    grep -qF "weir bench: interrupted; its queue '$name' is removed" "$scratch/bench.err"
    [ ! -s "$scratch/bench.out" ]
    leaves_nothing
}

tidies_up_while_enqueueing() {
    begin --messages 1000000000 --seconds 600
    until_true is_enqueueing
    interrupted_by INT
}

tidies_up_while_delivering() {
    begin --messages 1000
    until_true is_delivering
    interrupted_by TERM
}

names_what_a_killed_one_left() {
    local name
    begin --messages 1000000000 --seconds 600
    until_true is_enqueueing
    kill -s KILL "$running"
    wait "$running" || true
    ends 0 bench --messages 10
    grep -qF "queue '$name' is of a bench that runs, or was killed" "$scratch/err"
    grep -qF "'weir queue remove $name --force' removes it" "$scratch/err"
    ends 0 bench --messages 10 --quiet
    [ ! -s "$scratch/err" ]
    ends 0 queue remove "$name" --force --yes
    [ -z "$(queues)" ]
}

wants_tables() {
    WEIR_DB=$(new_database "$engine" empty) refuses 1 "run 'weir migrate'" bench
}

# ---- on a terminal -------------------------------------------------------------------------

screen() {
    tmux -S "$scratch/tmux" "$@"
}

shows() {
    screen capture-pane -p -t bench | grep -qE -- "$1"
}

is_live_on_a_terminal() {
    local result=0
    screen -f /dev/null new-session -d -s bench -x 80 -y 24 \
        "'$weir' bench --messages 100000000 --seconds 600; cat"
    {
        until_true shows '^[0-9,]+ messages enqueued, [0-9,]+/s, [0-9]+ %, [0-9]+ s left'
        screen send-keys -t bench C-c
        until_true shows 'interrupted; its queue'
        ! shows 'messages enqueued'
    } || { result=1; screen capture-pane -p -t bench; }
    screen kill-server
    [ -z "$(queues)" ]
    return "$result"
}

for engine in $engines; do
    use_engine "$engine"
    it "measures on $engine" measures
    it "names the settings of $engine" names_settings
    it "prints JSON on $engine" prints_json
    it "takes a single message on $engine" takes_one_message
    it "ends when the time is over on $engine" ends_in_time
    # What the last one has left in the log would be estimated, and a new queue not be seen beside it.
    WEIR_DB=$(new_database "$engine" tidy)
    "$weir" migrate --quiet
    it "tidies up after Ctrl-C while enqueueing on $engine" tidies_up_while_enqueueing
    it "tidies up after a signal while delivering on $engine" tidies_up_while_delivering
    it "names what a killed bench has left on $engine" names_what_a_killed_one_left
    it "wants tables on $engine" wants_tables
done

WEIR_DB=sqlite:$scratch/main.db
it 'shows progress on a terminal, and ends with Ctrl-C' is_live_on_a_terminal

it 'refuses no messages' refuses 2 "--messages is '0', must be a whole number from 1 to 1000000000" \
    bench --messages 0
it 'refuses a bad batch' refuses 2 "--batch is '10001', must be a whole number from 1 to 10000" \
    bench --batch 10001
it 'refuses a size without room for its mark' \
    refuses 2 "--size is '15', must be a whole number from 16 to 16777216" bench --size 15
it 'refuses too many producers' \
    refuses 2 "--producers is '65', must be a whole number from 1 to 64" bench --producers 65
it 'refuses too many handlers' \
    refuses 2 "--handlers is '513', must be a whole number from 1 to 512" bench --handlers 513
it 'refuses no time' \
    refuses 2 "--seconds is '0', must be a whole number from 1 to 86400" bench --seconds 0
it 'refuses a word that is no number' refuses 2 "--messages is 'many'" bench --messages many
it 'refuses a transaction that is too large' \
    refuses 2 'are 167772160 bytes per transaction, must be at most 67108864' \
    bench --batch 10 --size 16777216
it 'takes no arguments' refuses 2 "unexpected argument 'orders'" bench orders

finish
