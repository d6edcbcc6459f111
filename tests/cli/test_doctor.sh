#!/usr/bin/env bash
# `weir doctor`: what it finds, what it says to do about it, and its exit code.
. "$(dirname "$0")/../kit/tap.sh"
. "$(dirname "$0")/../kit/server.sh"
. "$(dirname "$0")/../kit/cli.sh"

finds_nothing_wrong() {
    ends 0 doctor
    says 'check ' verdict found 'what to do' 'all is well'
    ends 0 doctor --json
    json '.broken == 0 and .warnings == 0 and
        (.findings | map(.check) | contains(["database", "schema", "durability", "clock",
            "delivery", "processes", "rights", "sweep"])) and
        (.findings | all(.verdict == "ok" or .verdict == "note"))'
}

# finding CHECK VERDICT: what --json says of a check, with these words in the remedy.
finding() {
    json ".findings[] | select(.check == \"$1\" and .verdict == \"$2\") |
        .remedy | contains(\"$3\")"
}

finds_no_tables() {
    ends 1 doctor --prefix none --json
    finding schema broken 'weir migrate'
    ends 1 doctor --prefix none
    says '1 broken, 0 warnings'
}

warns_that_nobody_delivers() {
    ends 0 queue add idle --partitions 1
    ends 0 enqueue idle x
    ends 0 doctor --json
    json '.warnings == 1'
    finding delivery warning 'start a process'
    ends 0 queue pause idle
    ends 0 doctor --json
    json '.warnings == 0'
    finding delivery note 'weir queue resume idle'
    ends 0 queue remove idle --force --yes
}

# set_partitions N: of the queue "damaged", by another program.
set_partitions() {
    local statement="UPDATE weir_queue SET partitions = $1 WHERE name = 'damaged'"
    if [ "$engine" = sqlite ]; then
        sqlite3 "${WEIR_DB#sqlite:}" "$statement"
    else
        sql "$WEIR_DB" "$statement" >/dev/null
    fi
}

# A row that another program has changed is named, and neither it nor an enqueue ends in a crash.
finds_a_damaged_queue() {
    ends 0 queue add damaged --partitions 4
    set_partitions 0
    ends 1 doctor --json
    finding queues broken 'correct the row'
    json '.findings[] | select(.check == "queues") | .found |
        contains("the row of queue \"damaged\": partitions is 0, must be a power of two from 1 to 64")'
    ends 1 enqueue damaged x --key k
    set_partitions 4
    ends 0 doctor
    ends 0 queue remove damaged --force --yes
}

# Rows of processes that are not here: two of one name, one of another library and with a wrong clock.
warns_of_processes() {
    ends 0 queue add served --partitions 1
    sql "$WEIR_DB" "
        INSERT INTO weir_subscription (queue, name, serving, created_us)
            SELECT id, 'mailer', 0, 0 FROM weir_queue WHERE name = 'served';
        INSERT INTO weir_member (process, subscription, name, until_us, started_us, library,
                alive_by, clock_off_us)
            SELECT n, s.id, CASE n WHEN 3 THEN 'old' ELSE 'twin' END, 9000000000000000, 1,
                CASE n WHEN 3 THEN '0.0.1' ELSE '1000.0.0' END, CASE n WHEN 3 THEN 0 ELSE 1 END,
                CASE n WHEN 3 THEN -60500000 ELSE 0 END
            FROM weir_subscription s,
                (SELECT 1 AS n UNION ALL SELECT 2 UNION ALL SELECT 3) p" >/dev/null
    ends 0 doctor
    says "two live processes have the name 'twin'" "the clock of process 'old' is 60.5 s behind" \
        "process 'old' has weir 0.0.1"
    ends 0 doctor --json
    json '.warnings == 2'
    finding processes note 'upgrade it'
    ends 0 status --json
    json '.processes[0] | .name_used_twice == false and .clock_off_seconds == -60.5 and
        .library_is_older and .alive_by == "lease"'
    json '.processes[1] | .name_used_twice and .alive_by == "lock"'
    ends 0 status
    says 'name used twice' 'clock 60.5 s behind, older library'
    ends 0 queue remove served --force --yes
}

# change SQL
change() {
    case $engine in
    sqlite) sqlite3 "${WEIR_DB#sqlite:}" "$1" ;;
    *) sql "$WEIR_DB" "$1" ;;
    esac >/dev/null
}

# A process is alive, but serves nothing of this queue; its only message has failed often.
names_heads_and_subscriptions() {
    ends 0 queue add stuck --partitions 1
    ends 0 relay --queue stuck --as mailer --drain --quiet --to stdout:
    ends 0 enqueue stuck x
    change "
        INSERT INTO weir_member (process, subscription, name, until_us, started_us)
            SELECT 7, s.id, 'idle', 9000000000000000, 1 FROM weir_subscription s
            WHERE s.name = 'mailer'"
    change "UPDATE weir_ack SET attempts = 12, error = 'no such mailbox'
        WHERE pid = (SELECT id * 64 FROM weir_queue WHERE name = 'stuck')"
    ends 0 doctor
    says "message 1 of partition 0 of queue 'stuck' has failed 12 times for subscription 'mailer', and 1 waits: no such mailbox" \
        "subscription 'mailer' of queue 'stuck': 1 wait, no process serves it"
    ends 0 doctor --json
    finding head warning '--attempts-max'
    ends 0 queue remove stuck --force --yes
}

# jumps: the next message gets an id that is far away.
jumps() {
    case $engine in
    sqlite) change "UPDATE sqlite_sequence SET seq = 16000000 WHERE name = 'weir_log'" ;;
    *) change "SELECT setval('weir_log_id', 16000000)" ;;
    esac
}

counts_no_unused_ids() {
    ends 0 queue add sparse --partitions 1
    ends 0 enqueue sparse x
    jumps
    ends 0 enqueue sparse y
    ends 0 doctor --json
    json '.findings[] | select(.check == "sweep") | .verdict == "ok" and
        (.found | test("^about [0-9]{1,3} delivered"))'
    ends 0 queue remove sparse --force --yes
}

# Every page but the first is overwritten, one after the other.
finds_a_damaged_file() {
    local page pages code
    rm -f "$scratch"/damaged.db*
    "$weir" migrate --quiet --db "sqlite:$scratch/damaged.db"
    pages=$(($(stat -c %s "$scratch/damaged.db") / 4096))
    for page in 1 $((pages / 2)) $((pages - 1)); do
        cp "$scratch/damaged.db" "$scratch/hurt.db"
        head -c 4096 /dev/zero | tr '\0' x |
            dd of="$scratch/hurt.db" bs=4096 seek="$page" conv=notrunc status=none
        code=0
        "$weir" doctor --json --db "sqlite:$scratch/hurt.db" >"$scratch/out" 2>&1 || code=$?
        [ "$code" -eq 1 ] || { cat "$scratch/out"; return 1; }
        json '[.findings[] | select(.verdict == "broken")] | length > 0'
    done
}

finds_no_file() {
    ends 1 doctor --json --db "sqlite:$scratch/none.db"
    finding database broken 'weir migrate'
    [ ! -e "$scratch/none.db" ]
}

finds_no_database_in_it() {
    ends 1 doctor --json --db "sqlite:$root/tests/kit/tap.sh"
    json '.findings[] | select(.check == "database") | .verdict == "broken"'
}

tells_the_library() {
    ends 0 doctor --json
    json '.findings[] | select(.check == "sqlite") | .found | test("library 3\\.")'
    json '.findings[] | select(.check == "write-ahead log") | .verdict == "ok"'
}

finds_nobody_listening() {
    ends 1 doctor --json --db "$engine://127.0.0.1:1/app"
    finding database broken 'start the server'
}

tells_the_versions() {
    ends 0 doctor --json
    json '.findings[] | select(.check == "version") | .found | test("server [0-9]+.*libpq [0-9]+")'
    json '.findings[] | select(.check == "pooler") | .verdict == "ok"'
}

# Two subscriptions, of which one has had everything, and messages that were set aside for the other.
names_who_holds_the_log() {
    ends 0 queue add held --partitions 1
    ends 0 enqueue held x
    ends 0 relay --queue held --as idle --to "file:$scratch/idle" --drain --quiet
    ends 0 relay --queue held --as busy --to "file:$scratch/busy" --drain --quiet
    sql "$WEIR_DB" "
        INSERT INTO weir_aside (pid, cut, id, uid, type, payload)
            SELECT id * 64, 1000000, n, '', 't', 'p' FROM weir_queue, generate_series(1, 3) n
            WHERE name = 'held';
        INSERT INTO weir_ack (subscription, pid, version, epoch, incarnation, cut, last_id, seq)
            SELECT s.id, q.id * 64, 1000, 0, '', 2000000, 0, 4 FROM weir_subscription s
            JOIN weir_queue q ON q.id = s.queue WHERE q.name = 'held' AND s.name = 'busy'" >/dev/null
    ends 0 doctor --json
    finding log note 'deliver it'
    json '.findings[] | select(.check == "log") | .found |
        test("^subscription .idle. of queue .held. holds the log: 3 wait for it")'
    ends 0 queue remove held --force --yes
}

# with_setting NAME VALUE: in this database, from the next connection on.
with_setting() {
    sql "$WEIR_DB" "ALTER ROLE weir IN DATABASE ${WEIR_DB##*/} SET $1 = $2"
}

warns_of_lost_commits() {
    with_setting synchronous_commit off
    ends 0 doctor --json
    with_setting synchronous_commit on
    json '.warnings == 1'
    finding durability warning 'set it to on'
}

warns_of_an_old_transaction() {
    sql "$WEIR_DB" 'BEGIN; SELECT 1; COMMIT' >/dev/null
    ends 0 doctor --json
    json '.findings[] | select(.check == "transactions") | .verdict == "ok"'
}

# The guest may connect; what else it may is granted here.
as_guest() {
    guest=${WEIR_DB/weir:cork-and-lead/guest:reed-and-rush}
    sql "$WEIR_DB" "GRANT USAGE ON SCHEMA public TO guest; GRANT SELECT ON weir_schema, weir_meta,
        weir_queue TO guest"
}

tells_what_a_user_may() {
    as_guest
    ends 1 doctor --json --db "$guest"
    finding rights broken docs/roles.md
    sql "$WEIR_DB" 'GRANT INSERT ON weir_log TO guest; GRANT USAGE ON weir_log_id TO guest'
    ends 0 doctor --json --db "$guest"
    json '.findings[] | select(.check == "rights") | .verdict == "note" and
        (.found | contains("only enqueue"))'
}

warns_of_others_who_may_create() {
    ends 0 doctor --json
    finding creators ok ''
    sql "$WEIR_DB" 'GRANT CREATE ON SCHEMA public TO guest, PUBLIC'
    ends 0 doctor --json
    finding creators warning 'REVOKE CREATE ON SCHEMA public FROM PUBLIC, guest'
    sql "$WEIR_DB" 'REVOKE CREATE ON SCHEMA public FROM guest, PUBLIC'
}

# ---- MariaDB -------------------------------------------------------------------------------

tells_the_versions_of_mariadb() {
    ends 0 doctor --json
    json '.findings[] | select(.check == "version") |
        .found | test("server 1[0-9]+\\.[0-9]+.*MariaDB.*client library [0-9]+")'
    json '[.findings[] | select(.verdict == "ok") | .check] |
        contains(["innodb", "settings", "tables", "transactions", "history"])'
}

# A server of its own, with every setting as it should not be.
start_odd_server() {
    odd=$(own_mariadb odd --wsrep-on=ON --sql-mode= --max-allowed-packet=65536 --log-bin \
        --sync-binlog=0 --innodb-flush-log-at-trx-commit=2 --default-storage-engine=MyISAM \
        --innodb-lock-wait-timeout=0 --innodb-deadlock-detect=OFF \
        --log-bin-trust-function-creators=1)
    "$weir" migrate --quiet --db "$odd"
    sql "$odd" "SET GLOBAL log_bin_trust_function_creators = OFF, GLOBAL foreign_key_checks = OFF, GLOBAL binlog_format = 'STATEMENT',
        GLOBAL read_only = ON; ALTER TABLE weir_lease ENGINE = MyISAM"
    "$weir" doctor --json --db "$odd" >"$scratch/odd" || true
}

# finds_odd CHECK VERDICT FOUND REMEDY
finds_odd() {
    cp "$scratch/odd" "$scratch/out"
    json "[.findings[] | select(.check == \"$1\" and .verdict == \"$2\" and
        (.found | contains(\"$3\")) and (.remedy | contains(\"$4\")))] | length == 1"
}

ends_as_broken() {
    ends 1 doctor --db "$odd"
}

# As a MySQL server would answer, and an old MariaDB.
refuses_another_server() {
    local url
    url=$(own_mariadb "$1" --version="$2")
    ends 1 doctor --json --db "$url"
    finding database broken 'use another server'
    json ".findings[] | select(.check == \"database\") | .found | contains(\"$3\")"
    refuses 1 "$3" status --db "$url"
    refuses 1 'tested' migrate --db "$url"
    end_server "$WEIR_RUN_DIR/mariadb_$$_$1.pid"
}

# as ROLE GRANT...: the doctor's findings for a user with these rights, in $scratch/out.
as_user_with() {
    local code=$1 grant
    shift
    sql "$WEIR_DB" "DROP USER IF EXISTS warden; CREATE USER warden IDENTIFIED BY 'x'"
    for grant in "$@"; do sql "$WEIR_DB" "GRANT $grant TO warden"; done
    ends "$code" doctor --json --db "${WEIR_DB/weir:cork-and-lead/warden:x}"
}

producer=('SELECT ON weir_schema' 'SELECT ON weir_meta' 'SELECT ON weir_queue'
    'INSERT ON weir_incoming' 'SELECT, INSERT ON weir_incoming_id' 'SELECT ON weir_era_now')

tells_a_producer() {
    as_user_with 0 "${producer[@]}"
    finding rights note 'another user to deliver'
    finding transactions note 'GRANT PROCESS ON *.*'
}

tells_what_a_producer_lacks() {
    as_user_with 1 "${producer[@]:0:4}"
    json '[.findings[] | select(.check == "rights") | .remedy] ==
        ["GRANT SELECT, INSERT ON weir_incoming_id (docs/roles.md)",
         "GRANT SELECT ON weir_era_now (docs/roles.md)"]'
}

tells_a_viewer() {
    as_user_with 0 "SELECT ON ${WEIR_DB##*/}.*"
    finding rights note 'another user to deliver'
}

tells_a_runtime() {
    as_user_with 0 "SELECT, INSERT, UPDATE, DELETE ON ${WEIR_DB##*/}.*"
    json '.findings[] | select(.check == "rights") | .verdict == "ok"'
}

# By name, each: the runtime's rights, but for those on two tables.
tells_what_a_runtime_lacks() {
    local table grants=()
    for table in schema meta queue subscription incoming_id era_now era incoming counter log \
        aside member dead_letter; do
        grants+=("SELECT, INSERT, UPDATE, DELETE ON weir_$table")
    done
    as_user_with 1 "${grants[@]}" 'SELECT, INSERT, UPDATE ON weir_ack' 'DELETE ON weir_lease'
    json '[.findings[] | select(.check == "rights" and .verdict == "broken") | .found] ==
        ["this user lacks DELETE on weir_ack, to deliver",
         "this user lacks SELECT, INSERT, UPDATE on weir_lease, to deliver"]'
}

tells_who_may_nothing() {
    as_user_with 1 "${producer[@]:0:3}"
    finding rights broken docs/roles.md
}

check_mariadb() {
    it 'tells the versions of server and client, on MariaDB' tells_the_versions_of_mariadb
    it 'finds that nobody listens, on MariaDB' finds_nobody_listening
    it 'tells who may only enqueue' tells_a_producer
    it 'names what a producer lacks' tells_what_a_producer_lacks
    it 'tells who may only read' tells_a_viewer
    it 'tells who may deliver' tells_a_runtime
    it 'names what a runtime lacks, right by right' tells_what_a_runtime_lacks
    it 'tells who may do nothing' tells_who_may_nothing
    it 'refuses MySQL, as every command' refuses_another_server mysql 8.0.36 'not MariaDB'
    it 'refuses an old MariaDB, as every command' \
        refuses_another_server old 10.5.23-MariaDB 'must be MariaDB 10.6 or later'

    start_odd_server
    it 'ends with 1 for what is broken' ends_as_broken
    it 'finds a server that is read only' finds_odd role broken 'read only' 'primary'
    it 'warns of Galera' finds_odd galera warning wsrep_on 'the same node'
    it 'notes another default engine' finds_odd innodb note MyISAM 'your own tables'
    it 'finds a table of ours that is not InnoDB' \
        finds_odd tables broken 'weir_lease is MyISAM' 'ALTER TABLE weir_lease ENGINE = InnoDB'
    it 'finds foreign keys that are not checked' \
        finds_odd 'foreign keys' broken 'foreign_key_checks is OFF' 'SET GLOBAL'
    it 'notes a mode that is not strict' finds_odd sql_mode note 'not strict' STRICT_TRANS_TABLES
    it 'finds a binary log of statements' finds_odd binlog_format broken STATEMENT 'ROW or MIXED'
    it 'notes a binary log that keeps functions from being made' \
        finds_odd 'binary log' note 'producers cannot be made' 'log_bin_trust_function_creators = 1'
    it 'warns of packets smaller than a payload, with both sizes' \
        finds_odd max_allowed_packet warning '65536 bytes; a payload may have 65536' 16M
    it 'warns of locks that nobody waits for' \
        finds_odd locks warning 'innodb_lock_wait_timeout is 0' 'some seconds'
    it 'warns of deadlocks that nobody looks for' \
        finds_odd locks warning 'innodb_deadlock_detect is OFF' 'set it to ON'
    it 'warns of a log that is not flushed' \
        finds_odd durability warning 'innodb_flush_log_at_trx_commit is 2' 'set it to 1'
    it 'warns of a binary log that is not flushed' \
        finds_odd durability warning 'sync_binlog is 0' 'set it to 1'
    end_server "$WEIR_RUN_DIR/mariadb_$$_odd.pid"
}

# work STATE COLUMNS...: an execution in this state, with these columns set besides.
work() {
    sql "$WEIR_DB" "
        INSERT INTO weir_term (kind, digest, text) VALUES (1, 'orders', 'orders')
            ON CONFLICT DO NOTHING;
        INSERT INTO weir_execution (uuid, digest, part, state, hold, pending, lane, capset, policy,
                priority, flow, created_us, due_us, deadline_us, namespace, kind)
            SELECT decode(md5(random()::text), 'hex'), '', 0, $1, 0, 0, id, 0, 0, 0, 0, 1, 0, 0,
                'default', 'mail' FROM weir_term WHERE text = 'orders';
        UPDATE weir_execution SET ${2:-kind = kind}
            WHERE no = (SELECT max(no) FROM weir_execution)" >/dev/null
}

tells_of_executions() {
    work 1
    work 4 'lease_us = 9000000000000000'
    ends 0 doctor
    says 'schema 1006; 1 ready, 0 delayed, 1 active, 0 suspended, 0 held by a budget; 0 open flows' \
        'nothing is overdue'
    ends 0 doctor --json
    finding executions ok ''
    finding supervisor ok ''
}

warns_that_no_supervisor_runs() {
    work 2 'due_us = 1'
    work 4 'lease_us = 1'
    work 4 'lease_us = 9000000000000000, attempt_deadline_us = 1'
    work 1 'deadline_us = 1'
    work 5 'due_us = 1'
    sql "$WEIR_DB" 'INSERT INTO weir_edge_group (downstream, flow, cancel_us) VALUES (1, 1, 1)'
    ends 0 doctor
    says 'a lease is over for' 'a delay is over for' 'an attempt is over its limit for' \
        'a deadline has passed for' 'a suspension is over its limit for' \
        'members of a flow are to be cancelled for' "run 'weir supervise'"
    ends 0 doctor --json
    json '[.findings[] | select(.check == "supervisor") | .verdict] | length == 6 and
        all(. == "warning")'
    sql "$WEIR_DB" 'DELETE FROM weir_execution; DELETE FROM weir_edge_group'
}

# One that an operator has to look at, and two that wait for a budget.
names_what_does_not_move() {
    work 5 'on_timeout = 4, hold = 11'
    work 3 'hold = 5'
    work 3 'hold = 5'
    sql "$WEIR_DB" "
        INSERT INTO weir_suspension (no, reason, since_us, timeout_us, resume_delay_us, condition)
            SELECT no, 0, 1, 0, 0, 'ok@a' FROM weir_execution WHERE state = 5;
        INSERT INTO weir_budget (no, name, part, scope_type, scope, created_us)
            VALUES (1, 'llm', 0, '', '', 1);
        INSERT INTO weir_usage VALUES (1, 'tokens', 10, 10, 0);
        INSERT INTO weir_spent SELECT no, 1, '', 1, 0 FROM weir_execution WHERE state = 3;
        INSERT INTO weir_flow (uuid, part, created_us, namespace, kind)
            VALUES ('x', 0, 1, 'default', 'order')" >/dev/null
    ends 0 doctor
    says '1 suspended, 2 held by a budget; 1 open flow' \
        '1 waited too long and was escalated' 'resume or cancel them' \
        'budget "llm" is used up, 2 wait for it, and it has no period' 'raise its limit or reset it'
    ends 0 doctor --json
    finding suspensions warning 'resume or cancel'
    finding budgets warning 'raise its limit'
    sql "$WEIR_DB" "UPDATE weir_budget SET period_us = 1, next_reset_us = 9000000000000000"
    ends 0 doctor --json
    finding budgets note 'should not wait'
    sql "$WEIR_DB" "UPDATE weir_usage SET used = 9"
    ends 0 doctor --json
    finding budgets note 'no supervisor'
    ends 0 status
    says '1 suspended, 1 of them escalated, 2 held by a budget' '1 open flows'
    ends 0 status --json
    json '.executions | .suspended == 1 and .escalated == 1 and .held_by_budget == 2 and
        .open_flows == 1 and .cancel_backlog == 0'
    sql "$WEIR_DB" 'DELETE FROM weir_execution; DELETE FROM weir_suspension; DELETE FROM weir_budget;
        DELETE FROM weir_spent; DELETE FROM weir_usage; DELETE FROM weir_flow'
}

for engine in $engines; do
    use_engine "$engine"
    it "finds nothing wrong on $engine" finds_nothing_wrong
    it "finds that there are no tables on $engine" finds_no_tables
    it "warns of what nobody delivers on $engine" warns_that_nobody_delivers
    it "finds a queue whose row is out of range on $engine" finds_a_damaged_queue
    it "names heads that fail for ever and subscriptions that nobody serves on $engine" \
        names_heads_and_subscriptions
    if [ "$engine" != mariadb ]; then
        it "counts no unused ids as messages on $engine" counts_no_unused_ids
    fi
    if [ "$engine" = sqlite ]; then
        it 'finds a damaged file' finds_a_damaged_file
    fi
    [ "$engine" = sqlite ] || it "warns of processes on $engine" warns_of_processes
    if [ "$engine" = sqlite ]; then
        it 'tells the version of the SQLite library' tells_the_library
        it 'finds that there is no file, and makes none' finds_no_file
        it 'finds a file that is no database' finds_no_database_in_it
    elif [ "$engine" = mariadb ]; then
        check_mariadb
    else
        it 'tells the versions of server and client' tells_the_versions
        it 'finds that nobody listens' finds_nobody_listening
        it 'warns of commits that a crash can lose' warns_of_lost_commits
        it 'looks for old transactions' warns_of_an_old_transaction
        it 'names the subscription that holds the log' names_who_holds_the_log
        it 'tells what a user may do' tells_what_a_user_may
        it 'warns of others who may create in the schema' warns_of_others_who_may_create
        it 'tells of executions' tells_of_executions
        it 'warns that no supervisor runs' warns_that_no_supervisor_runs
        it 'names what does not move, and why' names_what_does_not_move
    fi
done
it 'refuses a URL of no engine' refuses 2 'scheme is unknown' doctor --db oracle://x
it 'refuses an argument' refuses 2 "unexpected argument 'who'" doctor who

finish
