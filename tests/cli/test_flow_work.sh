#!/usr/bin/env bash
# `weir work` and `weir supervise`: processes that run until they are stopped, or until
# nothing is left.
. "$(dirname "$0")/../kit/tap.sh"
. "$(dirname "$0")/../kit/server.sh"
. "$(dirname "$0")/../kit/cli.sh"

# submit LANE [OPTION...]: prints the id.
submit() {
    local lane=$1
    shift
    "$weir" submit --lane "$lane" --kind job --quiet "$@"
}

# works LANE COMMAND [OPTION...]: until nothing is left.
works() {
    local lane=$1 command=$2
    shift 2
    ends 0 work --lane "$lane" --exec "$command" --drain "$@"
}

# work LANE COMMAND [OPTION...]: in the background; $pid is its process. What it says is in
# $scratch/work-err.
work() {
    local lane=$1 command=$2
    shift 2
    "$weir" work --lane "$lane" --exec "$command" "$@" >"$scratch/work-out" 2>"$scratch/work-err" &
    pid=$!
    trap 'kill -KILL "$pid" 2>/dev/null || true' EXIT # of the case, which is a subshell
}

# is STATE ID
is() {
    [ "$("$weir" execution get "$2" --quiet)" = "$1" ]
}

exists() {
    [ -e "$1" ]
}

# over PID: there is no such process, or it is a zombie.
over() {
    ! grep -q '^State:[[:space:]]*[^Z]' "/proc/$1/status" 2>/dev/null
}

# gone FILE: the process whose number is in it.
gone() {
    over "$(cat "$1")"
}

# got JQ-FILTER ID: holds for it.
got() {
    "$weir" execution get "$2" --json | jq -e "$1" >/dev/null
}

# ---- answers of a process --------------------------------------------------------------------

completes() {
    local id
    id=$(submit done --input hello)
    works 'done' 'cat; echo " world"'
    [ "$("$weir" execution result "$id")" = 'hello world' ]
    grep -qE '^1 execution in [0-9.]+ s, [0-9]+/s: 1 completed; nothing is left$' "$scratch/err"
}

# The database is that of --db, though the environment says something else.
knows_its_execution() {
    local id db=$WEIR_DB
    id=$(submit facts --tag shop.plan=gold --namespace shop)
    WEIR_DB=sqlite:nowhere ends 0 work --lane facts --drain --db "$db" --exec "
        echo \"\$WEIR_ID \$WEIR_LANE \$WEIR_KIND \$WEIR_NAMESPACE \$WEIR_ATTEMPT \$WEIR_ATTEMPT_TYPE\"
        echo \"\$WEIR_EPOCH \$WEIR_TAGS\"
        '$weir' execution progress -q \"\$WEIR_TOKEN\" --percent 50"
    [ "$("$weir" execution result "$id")" = "$id facts job shop 0 initial
1 {\"shop.plan\":\"gold\"}" ]
    got '.progress.percent == 50' "$id"
}

is_tried_again() {
    local id
    id=$(submit retried --retries 2 --backoff 1ms)
    works retried "echo first >&2; echo 'the bank said no' >&2; [ \$WEIR_ATTEMPT = 2 ]"
    got '.state == "completed" and .attempts == 3' "$id"
    got '[.attempts_log[].outcome] == ["retry", "retry", "success"] and
        .attempts_log[0].failure == "exit code 1: the bank said no"' "$id"
}

is_delayed() {
    local id flag=$scratch/delayed-$engine
    id=$(submit delayed)
    works delayed "[ -e '$flag' ] || { touch '$flag'; exit 75; }" --delay 10ms
    got '.state == "completed" and .attempts == 1 and .retries == 0' "$id"
}

fails_for_good() {
    local id
    id=$(submit good --retries 9)
    works good "echo 'no such customer' >&2; exit 65"
    got '.state == "failed" and .attempts == 1 and .failure == "no such customer"' "$id"
}

fails_by_a_signal() {
    local id
    id=$(submit signal)
    works signal 'kill -SEGV $$'
    got '.state == "failed" and (.failure | startswith("killed by signal 11"))' "$id"
}

bounds_the_result() {
    local id
    id=$(submit large --retries 9)
    works large 'yes' --json
    json '.failed == 1'
    got '.state == "failed" and .failure == "standard output has more than 1048576 bytes"' "$id"
    id=$(submit full)
    works full 'head -c 1048576 /dev/zero'
    [ "$("$weir" execution result "$id" | wc -c)" -eq 1048576 ]
}

# Each waits until there are three.
runs_several_at_once() {
    seq 1 3 | "$weir" submit --lane several --kind n --lines -q >/dev/null
    mkdir "$scratch/several-$engine"
    works several "touch '$scratch/several-$engine/'\$\$
        while [ \$(ls '$scratch/several-$engine' | wc -l) -lt 3 ]; do sleep 0.02; done" \
        --concurrency 3 --json
    json '.completed == 3'
}

is_a_shell_loop() {
    local token i
    for i in 1 2 3; do submit loop --input "$i" >/dev/null; done
    while token=$("$weir" execution claim -q --lane loop --input-to "$scratch/in") && [ -n "$token" ]; do
        "$weir" execution complete -q "$token" --result "$(($(cat "$scratch/in") * 2))"
    done
    ends 0 execution list --lane loop --state completed --json
    json '.executions | length == 3'
    [ "$("$weir" execution result "$(jq -r '.executions[0].id' "$scratch/out")")" = 6 ]
}

# ---- claims that are lost, processes that are stopped ----------------------------------------

# It gets SIGTERM, which it can heed; and SIGKILL if it does not.
ends_what_was_cancelled() {
    local id child=$scratch/child-$engine
    id=$(submit "cancel-$1")
    work "cancel-$1" "trap '$2' TERM; echo \$\$ >'$child.new'; mv '$child.new' '$child'
        while :; do sleep 0.02; done" --lease 1s
    until_true exists "$child"
    "$weir" execution cancel -q "$id"
    until_true gone "$child"
    is cancelled "$id"
    kill "$pid"
    wait "$pid"
    rm "$child"
}

asks_first() {
    rm -f "$scratch/asked"
    ends_what_was_cancelled asked "touch $scratch/asked; exit 1"
    exists "$scratch/asked"
}

# The shell that runs the command is gone at once; what it waits for is not.
lets_tidy_up() {
    local id
    id=$(submit tidy)
    rm -f "$scratch/runs" "$scratch/tidy"
    printf '%s\n' '#!/bin/sh' "trap 'sleep 0.1; touch $scratch/tidy; exit 1' TERM" \
        "touch $scratch/runs; while :; do sleep 0.02; done" >"$scratch/tidy.sh"
    chmod +x "$scratch/tidy.sh"
    work tidy "$scratch/tidy.sh; :" --grace 10ms
    until_true exists "$scratch/runs"
    kill "$pid"
    wait "$pid"
    exists "$scratch/tidy"
    is resumable "$id"
}

# Many programs end with 0 when they are asked to, done or not.
does_not_take_an_end_for_done() {
    local id
    id=$(submit polite)
    rm -f "$scratch/runs"
    work polite "trap 'echo half of it; exit 0' TERM; touch '$scratch/runs'
        while :; do sleep 0.02; done" --grace 10ms --json
    until_true exists "$scratch/runs"
    kill "$pid"
    wait "$pid"
    is resumable "$id"
    jq -e '.completed == 0 and .given_back == 1' "$scratch/work-out"
}

# A process may suspend its execution itself, by its token.
counts_what_is_suspended() {
    local id
    id=$(submit paused)
    works_until_stopped() {
        work paused "'$weir' execution suspend -q \"\$WEIR_TOKEN\" --until operator && touch '$scratch/runs'" --json
        until_true exists "$scratch/runs"
        until_true is suspended "$id"
        kill "$pid"
        wait "$pid"
    }
    rm -f "$scratch/runs"
    works_until_stopped
    jq -e '.suspended == 1 and .completed == 0 and .claimed == 1' "$scratch/work-out"
    "$weir" execution cancel -q "$id"
}

# Nobody knows when it goes on, if ever.
ends_when_only_suspended_is_left() {
    local id
    id=$(submit parked)
    works parked "'$weir' execution suspend -q \"\$WEIR_TOKEN\" --until operator"
    grep -qE '^0 executions in .*: 1 suspended; only suspended work is left: 1 suspended$' "$scratch/err"
    works parked false --json
    json '.ended == "drained" and .left_suspended == 1 and .left_behind == 0 and .executions == 0'
    "$weir" execution cancel -q "$id"
}

# What is behind it in its flow does not go on either.
ends_when_the_rest_is_behind_what_is_suspended() {
    local flow
    flow=$("$weir" flow create -q --kind order)
    printf '%s\n' '{"name": "ask", "lane": "behind", "kind": "ask"}' \
        '{"name": "ship", "lane": "behind", "kind": "ship", "after": "ask"}' |
        "$weir" flow add -q "$flow" --from - >/dev/null
    works behind "'$weir' execution suspend -q \"\$WEIR_TOKEN\" --until operator"
    grep -qF 'only suspended work is left: 1 suspended, 1 behind such' "$scratch/err"
    "$weir" flow cancel -q "$flow"
}

# Three attempts are one execution.
counts_executions() {
    submit counted --retries 2 --backoff 0 >/dev/null
    works counted '[ "$WEIR_ATTEMPT" = 2 ]'
    grep -qE '^1 execution in [0-9.]+ s, [0-9]+/s: 1 completed, 2 attempts to be tried again; nothing is left$' \
        "$scratch/err"
    submit counted --retries 1 --backoff 0 >/dev/null
    works counted false --json
    json '.executions == 1 and .failed == 1 and .retried == 1 and .claimed == 2'
}

says_what_is_left() {
    local id
    id=$(submit left --capability gpu)
    work left true --drain
    until_true grep -qF "still left: $id is waiting: no worker with gpu has claimed it yet" "$scratch/work-err"
    kill "$pid"
    wait "$pid"
    ends 0 execution get "$id" --json
    json '.capabilities == "gpu"'
    ends 0 execution get "$id"
    says 'needs         gpu'
    "$weir" execution cancel -q "$id"
}

lets_finish_what_runs() {
    local first second
    first=$(submit grace)
    second=$(submit grace)
    rm -f "$scratch/runs" "$scratch/go"
    work grace "touch '$scratch/runs'; until [ -e '$scratch/go' ]; do sleep 0.02; done; echo fine" \
        --concurrency 1 --grace 1h --json
    until_true exists "$scratch/runs"
    kill "$pid"
    touch "$scratch/go"
    wait "$pid"
    is completed "$first"
    is waiting "$second"
    jq -e '.completed == 1 and .ended == "stopped" and .unfinished == 0' "$scratch/work-out"
}

gives_back_what_does_not_end() {
    local id child=$scratch/child-$engine
    id=$(submit back)
    work back "echo \$\$ >'$child.new'; mv '$child.new' '$child'; exec sleep 1000" \
        --lease 1h --grace 10ms --json
    until_true exists "$child"
    kill "$pid"
    wait "$pid"
    gone "$child"
    is resumable "$id"
    got '.attempts == 1 and .retries == 0 and .reclaims == 0' "$id"
    jq -e '.given_back == 1 and .unfinished == 0' "$scratch/work-out"
    rm "$child"
}

# The process dies with its worker, and another worker gets the execution.
survives_a_kill() {
    local id child=$scratch/child-$engine
    id=$(submit killed)
    work killed "echo \$\$ >'$child.new'; mv '$child.new' '$child'; exec sleep 1000" --lease 1s
    until_true exists "$child"
    kill -KILL "$pid"
    wait "$pid" || true
    until_true gone "$child"
    works killed 'echo fine'
    got '.state == "completed" and .attempts == 2 and .reclaims == 1' "$id"
    rm "$child"
}

ends_at_once_by_a_second_signal() {
    local result=0
    submit second >/dev/null
    rm -f "$scratch/runs"
    work second "touch '$scratch/runs'; exec sleep 1000" --grace 1h
    until_true exists "$scratch/runs"
    kill "$pid"
    asked() {
        kill "$pid" 2>/dev/null
        over "$pid"
    }
    until_true asked
    wait "$pid" || result=$?
    [ "$result" -eq 143 ]
}

# ---- supervisors -----------------------------------------------------------------------------

# supervise [OPTION...]: in the background, as work().
supervise() {
    "$weir" supervise "$@" >"$scratch/work-out" 2>"$scratch/work-err" &
    pid=$!
    trap 'kill -KILL "$pid" 2>/dev/null || true' EXIT
}

puts_right_what_is_overdue() {
    local lost timed_out late
    lost=$(submit overdue)
    timed_out=$(submit overdue --attempt-timeout 1ms)
    late=$(submit overdue-later --deadline 1ms)
    "$weir" execution claim -q --lane overdue --count 2 --lease 1s >/dev/null
    supervise --json
    until_true is waiting "$lost"
    until_true is expired "$timed_out"
    until_true is expired "$late"
    kill "$pid"
    wait "$pid"
    jq -e '[.reconcilers[] | select(.handled > 0) | .name] ==
        ["attempt_timeout", "lease_expiry", "execution_deadline"] and .unfinished == 0' \
        "$scratch/work-out"
}

promotes_in_time() {
    local id
    id=$(submit promoted --delay 10ms)
    supervise
    until_true is waiting "$id"
    kill "$pid"
    wait "$pid"
    grep -qE '^delayed_promoter +[0-9]+ +1 +0 *$' "$scratch/work-out"
}

removes_what_ended_long_ago() {
    local id
    id=$(submit kept)
    "$weir" execution cancel -q "$id"
    supervise --retention 1ms --interval housekeeping=100ms
    forgotten() {
        [ -z "$("$weir" execution list --lane kept --quiet)" ]
    }
    until_true forgotten
    kill "$pid"
    wait "$pid"
}

leaves_supervising_to_others() {
    local id
    id=$(submit alone --delay 10ms)
    supervise
    works alone true --no-supervise --json
    json 'has("reconcilers") | not'
    is completed "$id"
    kill "$pid"
    wait "$pid"
}

refuses_bad_options() {
    refuses 2 'lane LANE is needed' work --exec true
    refuses 2 'exec COMMAND is needed' work --lane a
    refuses 2 'exec COMMAND is needed' work --lane a --exec ' '
    refuses 2 'from 1 to 512' work --lane a --exec true --concurrency 513
    refuses 2 'from 1 s to 1 h' work --lane a --exec true --lease 10ms
    refuses 2 "--lane 'a' is given twice" work --lane a --lane a --exec true
    refuses 2 "did you mean 'lease_expiry'?" supervise --interval lease_expry=1s
    refuses 2 'from 100 ms' supervise --interval lease_expiry=1ms
}

for engine in ${WEIR_ENGINES:-sqlite postgresql}; do
    [ "$engine" != mariadb ] || continue
    use_engine "$engine"
    it "completes with standard output as the result, on $engine" completes
    it "tells the process about its execution, on $engine" knows_its_execution
    it "tries again what fails, with the last words as reason, on $engine" is_tried_again
    it "delays what ends with 75, on $engine" is_delayed
    it "fails for good what ends with 65, on $engine" fails_for_good
    it "fails what ends by a signal, on $engine" fails_by_a_signal
    it "bounds the result, on $engine" bounds_the_result
    it "runs several at once, on $engine" runs_several_at_once
    it "can be a loop in shell, on $engine" is_a_shell_loop
    it "asks a process to end whose claim is lost, on $engine" asks_first
    it "kills a process that does not heed it, on $engine" ends_what_was_cancelled deaf ''
    it "lets what the command waits for tidy up, on $engine" lets_tidy_up
    it "does not take an end that it asked for for done, on $engine" does_not_take_an_end_for_done
    it "counts what a process has suspended as suspended, on $engine" counts_what_is_suspended
    it "says what is left when draining does not end, on $engine" says_what_is_left
    it "lets finish what runs, and begins nothing, on $engine" lets_finish_what_runs
    it "gives back what does not end within the grace, on $engine" gives_back_what_does_not_end
    it "leaves nothing behind when it is killed, on $engine" survives_a_kill
    it "ends at once by a second signal, on $engine" ends_at_once_by_a_second_signal
    it "ends when only suspended work is left, on $engine" ends_when_only_suspended_is_left
    it "ends when the rest is behind suspended work, on $engine" ends_when_the_rest_is_behind_what_is_suspended
    it "counts executions, not attempts, on $engine" counts_executions
    it "puts right what is overdue, on $engine" puts_right_what_is_overdue
    it "promotes delays and says what it did, on $engine" promotes_in_time
    it "removes what ended long ago, on $engine" removes_what_ended_long_ago
    it "leaves supervising to others, on $engine" leaves_supervising_to_others
done
it 'refuses options that are wrong' refuses_bad_options

finish
