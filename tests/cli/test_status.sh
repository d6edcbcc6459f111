#!/usr/bin/env bash
# `weir status`: queues, partitions and processes; at once, also with a million waiting.
. "$(dirname "$0")/../kit/tap.sh"
. "$(dirname "$0")/../kit/server.sh"
. "$(dirname "$0")/../kit/cli.sh"

shows_that_there_is_nothing() {
    ends 0 status
    says "no queues; make one with 'weir queue add NAME --partitions N'"
    ends 0 status --json
    json '[.queues[].name | select(startswith("execution.") | not)] == [] and .processes == []'
}

# Those of the execution engine are there; nobody reads them, and nothing is kept.
hides_unread_queues_of_the_engine() {
    ends 0 status
    if grep -q '^execution' "$scratch/out"; then return 1; fi
    ends 0 status --all
    grep -qE '^execution.completion +16 ' "$scratch/out" || { cat "$scratch/out"; return 1; }
}

shows_queues() {
    ends 0 queue add a --partitions 1
    ends 0 queue add b --partitions 2
    ends 0 enqueue b x
    ends 0 status
    grep -qE '^a +1 +no +0 +0 +- +- +- +0 +0 +-$' "$scratch/out" || { cat "$scratch/out"; return 1; }
    grep -qE '^b +2 +no +0 +1 +[0-9.]+ m?s +[0-9.]+ +- +0 +0 +-$' "$scratch/out" || { cat "$scratch/out"; return 1; }
    says 'no process delivers'
    ends 0 status --json
    json '[.queues[].name][:2] == ["a", "b"] and .queues[1].waiting == 1 and .processes == [] and
        .queues[0].in_per_second == 0 and .queues[1].in_per_second > 0 and
        .queues[1].in_per_second <= 1 and .queues[1].out_per_second == 0'
}

shows_one_queue() {
    ends 0 status b
    says 'no subscriptions'
    if grep -qE '^a ' "$scratch/out"; then return 1; fi
    ends 0 status b --json
    json '(.queues | length) == 1 and .partitions == []'
}

shows_an_estimate() {
    ends 0 queue add many --partitions 1
    seq 1 150000 | "$weir" enqueue many --lines --batch 10000 --quiet
    ends 0 status many
    grep -qE '^many +1 +no +0 +~1[45][0-9]{4} ' "$scratch/out" || { cat "$scratch/out"; return 1; }
    ends 0 status many --json
    json '.queues[0] | .waiting_is_estimate and .waiting > 140000 and .waiting < 160000'
}

# ---- with a subscription, where SQL can make what no process is here to make ---------------

# subscribed NAME: a queue of two partitions with three messages in partition 0, two of them
# acknowledged; partition 0 has failed and is owned by a process, partition 1 is idle.
subscribed() {
    "$weir" queue add "$1" --partitions 2 --quiet
    seq 1 3 | "$weir" enqueue "$1" --lines --partition 0 --quiet
    local now='(extract(epoch FROM now()) * 1000000)::bigint'
    [ "$engine" != mariadb ] || now='unix_timestamp() * 1000000'
    sql "$WEIR_DB" "
        INSERT INTO weir_subscription (queue, name, serving, created_us)
            SELECT id, 'mailer', 0, 0 FROM weir_queue WHERE name = '$1';
        INSERT INTO weir_ack (subscription, pid, version, epoch, incarnation, cut, last_id,
                seq, attempts, retry_us, error)
            SELECT s.id, s.queue * 64 + n, 1, 7, '', 0, 0, 2, 4 * (1 - n),
                (1 - n) * ($now + 90000000),
                CASE n WHEN 0 THEN 'mail server is down' ELSE '' END
            FROM weir_subscription s, (SELECT 0 AS n UNION ALL SELECT 1) p
            WHERE s.name = 'mailer' AND s.queue = (SELECT id FROM weir_queue WHERE name = '$1');
        INSERT INTO weir_lease (subscription, pid, owner, epoch, until_us)
            SELECT a.subscription, a.pid, 99, 7, $now + 20000000 FROM weir_ack a;
        INSERT INTO weir_member (process, subscription, name, until_us, started_us,
                delivered, rate)
            SELECT 99, s.id, 'host:99', $now + 60000000, $now - 5000000, 1234, 12.5
            FROM weir_subscription s" >/dev/null
}

shows_partitions() {
    subscribed mail
    ends 0 status mail
    says subscription partition seq waiting attempts 'retry in' owner epoch 'lease left' 'last error'
    grep -qE '^mailer +0 +2 +3 +.* 4 +1 min 2[0-9] s +host:99 +7 +1[0-9]\.[0-9] s +mail server is down$' \
        "$scratch/out" || { cat "$scratch/out"; return 1; }
    says 'and 1 partition with nothing to show; --all shows them'
    grep -qE '^host:99 +mail +mailer +2 +12 +1234 +[0-9.]+ s +lease +\? +older library$' "$scratch/out" || { cat "$scratch/out"; return 1; }
}

shows_all_partitions() {
    ends 0 status mail --all
    grep -qE '^mailer +1 +2 +0 ' "$scratch/out" || { cat "$scratch/out"; return 1; }
    if grep -F -- '--all shows' "$scratch/out"; then return 1; fi
}

prints_partitions_as_json() {
    ends 0 status mail --json
    json '(.partitions | length) == 2 and (.partitions[0] |
        .subscription == "mailer" and .partition == 0 and .seq == 2 and .waiting == 3 and
        .attempts == 4 and .retry_in_seconds > 60 and .last_error == "mail server is down" and
        .owner == "host:99" and .epoch == 7 and .lease_left_seconds > 10)
        and .processes[0].process == "host:99" and .processes[0].partitions == 2
        and .processes[0].out_per_second == 12.5 and .processes[0].delivered == 1234
        and .processes[0].alive_by == "lease" and .processes[0].library == ""
        and .processes[0].library_is_older and (.processes[0].name_used_twice | not)
        and .processes[0].clock_off_seconds == 0
        and .queues[0].out_per_second == 12.5'
}

# seen FILTER: holds for the last line of the watcher within a minute.
seen() {
    local end=$((SECONDS + 60))
    until tail -n 1 "$scratch/watched" | jq -e "$1" >/dev/null 2>&1; do
        kill -0 "$watcher" && [ "$SECONDS" -lt "$end" ] || { cat "$scratch/err"; return 1; }
    done
}

# It sees what comes, goes on below where there is no terminal, and ends well when told to.
watches() {
    local watcher result=0
    ends 0 queue add watched --partitions 1
    "$weir" status watched --watch 100ms --json >"$scratch/watched" 2>"$scratch/err" &
    watcher=$!
    seen '.queues[0].in_per_second == 0' || result=1
    "$weir" enqueue watched x --quiet
    seen '.queues[0].in_per_second > 0' || result=1
    kill -s TERM "$watcher"
    wait "$watcher" && [ "$result" -eq 0 ]
}

# A line wider than the terminal would be broken, and be no table.
keeps_to_the_width() {
    local width
    for width in 60 80 132; do
        on_a_terminal "$width" "$weir status mail --all" </dev/null
        sed -E "s/$(printf '\033')\[[0-9;?]*[A-Za-z]//g; s/\r//g" "$scratch/out" >"$scratch/plain"
        if grep -nE ".{$((width + 1))}" "$scratch/plain"; then return 1; fi
    done
}

# Two in one lane, one of them overdue, and one in another.
shows_executions() {
    sql "$WEIR_DB" "
        INSERT INTO weir_term (kind, digest, text) VALUES (1, 'a', 'orders'), (1, 'b', 'letters');
        INSERT INTO weir_execution (uuid, digest, part, state, hold, pending, lane, capset, policy,
                priority, flow, created_us, due_us, deadline_us, namespace, kind, lease_us)
            SELECT decode(md5(n::text), 'hex'), '', 0, CASE n WHEN 1 THEN 4 ELSE 1 END, 0, 0, id, 0,
                0, 0, 0, 1, 0, 0, 'default', 'mail', 1
            FROM weir_term, generate_series(1, 3) n
            WHERE text = CASE n WHEN 3 THEN 'letters' ELSE 'orders' END" >/dev/null
    ends 0 status
    grep -qE '^lane +ready +oldest +delayed +active$' "$scratch/out" || { cat "$scratch/out"; return 1; }
    grep -qE '^letters +1 +[0-9]+ d [0-9]+ h +0 +0$' "$scratch/out" || { cat "$scratch/out"; return 1; }
    grep -qE '^orders +1 +[0-9]+ d [0-9]+ h +0 +1$' "$scratch/out" || { cat "$scratch/out"; return 1; }
    says 'no supervisor runs'
    ends 0 status --json
    json '.executions | .ready == 2 and .active == 1 and .delayed == 0 and .ended == 0 and
        .overdue_seconds > 60 and [.lanes[].lane] == ["letters", "orders"]'
    ends 0 status many --json
    json 'has("executions") | not'
}

tells_what_is_free() {
    local file=$scratch/drained.db

    "$weir" --db "sqlite:$file" migrate --quiet
    ends 0 status --db "sqlite:$file" --json
    json '.file_bytes > 0 and .free_bytes < .file_bytes'
    sqlite3 "$file" 'CREATE TABLE filler (a); INSERT INTO filler VALUES (zeroblob(70 << 20)); DROP TABLE filler'
    ends 0 status --db "sqlite:$file"
    grep -qE '^7[0-9] of 7[0-9] MiB of the file are free; VACUUM gives them back$' "$scratch/out" ||
        { cat "$scratch/out"; return 1; }
    ends 0 status --db "sqlite:$file" --json
    json '.free_bytes > 70 * 1048576'
    ends 0 doctor --db "sqlite:$file" --json
    json '.findings[] | select(.check == "space") | .verdict == "note"'
}

for engine in $engines; do
    use_engine "$engine"
    it "shows that there is nothing on $engine" shows_that_there_is_nothing
    it "shows queues on $engine" shows_queues
    [ "$engine" = mariadb ] || it "hides unread queues of the engine on $engine" hides_unread_queues_of_the_engine
    it "shows one queue on $engine" shows_one_queue
    it "shows an estimate of very much on $engine" shows_an_estimate
    it "watches a queue on $engine" watches
    [ "$engine" != postgresql ] || it 'shows executions' shows_executions
    it "names a missing queue on $engine" refuses 1 "did you mean 'many'?" status manny
done
for engine in postgresql mariadb; do
    WEIR_DB=$(new_database "$engine" other)
    "$weir" migrate --quiet
    it "shows partitions that have something to tell, and processes, on $engine" shows_partitions
    it "shows all partitions on $engine" shows_all_partitions
    it "prints partitions as JSON on $engine" prints_partitions_as_json
done
if on_a_terminal 80 true </dev/null; then
    it 'keeps to the width of the terminal' keeps_to_the_width
else
    echo '# no pseudo-terminal can be had here: one case less'
fi
it 'tells how much of a file is free' tells_what_is_free
it 'watches at some distance' refuses 2 '--watch is' status --watch 1ms
it 'takes one queue' refuses 2 "unexpected argument 'c'" status b c

finish
