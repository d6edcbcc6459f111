#!/usr/bin/env bash
# `weir doctor`: what it finds, what it says to do about it, and its exit code.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/server.sh"
. "$(dirname "$0")/../lib/cli.sh"

finds_nothing_wrong() {
    ends 0 doctor
    says 'check ' verdict found 'what to do' 'all is well'
    ends 0 doctor --json
    json '.broken == 0 and .warnings == 0 and
        (.findings | map(.check) | contains(["database", "schema", "durability", "clock",
            "delivery", "rights", "sweep"])) and
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

finds_no_file() {
    ends 1 doctor --json --db "sqlite:$scratch/none.db"
    finding database broken 'weir migrate'
    [ ! -e "$scratch/none.db" ]
}

finds_no_database_in_it() {
    ends 1 doctor --json --db "sqlite:$root/tests/lib/tap.sh"
    json '.findings[] | select(.check == "database") | .verdict == "broken"'
}

tells_the_library() {
    ends 0 doctor --json
    json '.findings[] | select(.check == "sqlite") | .found | test("library 3\\.")'
    json '.findings[] | select(.check == "write-ahead log") | .verdict == "ok"'
}

finds_nobody_listening() {
    ends 1 doctor --json --db postgresql://127.0.0.1:1/app
    finding database broken 'start the server'
}

tells_the_versions() {
    ends 0 doctor --json
    json '.findings[] | select(.check == "version") | .found | test("server [0-9]+.*libpq [0-9]+")'
    json '.findings[] | select(.check == "pooler") | .verdict == "ok"'
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

for engine in $engines; do
    use_engine "$engine"
    it "finds nothing wrong on $engine" finds_nothing_wrong
    it "finds that there are no tables on $engine" finds_no_tables
    it "warns of what nobody delivers on $engine" warns_that_nobody_delivers
    if [ "$engine" = sqlite ]; then
        it 'tells the version of the SQLite library' tells_the_library
        it 'finds that there is no file, and makes none' finds_no_file
        it 'finds a file that is no database' finds_no_database_in_it
    else
        it 'tells the versions of server and client' tells_the_versions
        it 'finds that nobody listens' finds_nobody_listening
        it 'warns of commits that a crash can lose' warns_of_lost_commits
        it 'looks for old transactions' warns_of_an_old_transaction
        it 'tells what a user may do' tells_what_a_user_may
    fi
done
it 'refuses a URL of no engine' refuses 2 'scheme is unknown' doctor --db oracle://x
it 'refuses an argument' refuses 2 "unexpected argument 'who'" doctor who

finish
