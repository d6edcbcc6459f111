#!/usr/bin/env bash
# `weir migrate`: makes the tables once, says what it did, and shows what it would do.
. "$(dirname "$0")/../kit/tap.sh"
. "$(dirname "$0")/../kit/server.sh"
. "$(dirname "$0")/../kit/cli.sh"

newest=15 # of the changes that the program knows

makes_the_tables_once() {
    ends 0 migrate
    says ": schema 0 -> $newest"
    [ "$engine" = mariadb ] || says ': executions 0 -> 1006' # which has no execution engine
    ends 0 migrate
    says ": schema $newest, nothing to do"
}

# A queue that somebody makes by hand, as the program advises, could have other partitions.
makes_the_queues_of_the_engine() {
    local queue
    ends 0 queue list --json
    for queue in completion lease operator signal; do
        json "[.queues[] | select(.name == \"execution.$queue\" and .partitions == 16)] | length == 1"
    done
    refuses 1 '16 partitions' queue add execution.completion --partitions 4
    ends 0 submit --lane mail --kind job
}

prints_json() {
    ends 0 migrate --json
    json ".from == $newest and .to == $newest and (.database | length > 0)"
}

is_silent_if_asked() {
    ends 0 migrate --quiet
    [ ! -s "$scratch/out" ]
}

shows_what_it_would_run() {
    ends 0 migrate --dry-run --prefix other
    grep -qE '^CREATE TABLE (IF NOT EXISTS )?other_queue ' "$scratch/out"
    says 'INSERT INTO other_schema'
    [ "$engine" = mariadb ] || says 'CREATE TABLE other_execution '
    [ "$engine" = mariadb ] || says 'BEGIN;' 'COMMIT;' # where tables are part of a transaction
    refuses 1 "no tables with prefix 'other'; run 'weir migrate'" status --prefix other
    ends 0 migrate --dry-run --prefix other --json
    json ".from == 0 and .to == $newest and (.sql | contains(\"other_queue\"))"
}

shows_that_nothing_is_to_do() {
    ends 0 migrate --dry-run
    says "-- schema $newest, nothing to do"
}

# What --dry-run prints makes the same tables, by the engine's own client.
prints_sql_that_works() {
    "$weir" migrate --dry-run --prefix printed >"$scratch/sql"
    if [ "$engine" = mariadb ]; then
        mariadb_client "$WEIR_DB" <"$scratch/sql"
    else
        "$server_bin/psql" -d "$WEIR_DB" -v ON_ERROR_STOP=1 -qX -f "$scratch/sql" >/dev/null
    fi
    ends 0 migrate --prefix printed
    says "schema $newest, nothing to do"
}

keeps_prefixes_apart() {
    ends 0 migrate --prefix apart
    says "schema 0 -> $newest"
    ends 0 queue add only-here --partitions 1 --prefix apart
    refuses 1 "there is no queue 'only-here'" status only-here
    WEIR_PREFIX=apart ends 0 status only-here
}

refuses_a_newer_schema() {
    ends 0 migrate --prefix newer
    newer_schema newer
    refuses 1 'install a newer weir' status --prefix newer
    refuses 1 'install a newer weir' migrate --prefix newer
    refuses 1 'install a newer weir' migrate --prefix newer --dry-run
}

# newer_schema PREFIX: as if a later version had migrated it.
newer_schema() {
    local statement="INSERT INTO $1_schema (number, readable_by, name, applied_at) VALUES"
    sql "$WEIR_DB" "$statement (900, 900, 'later', now())"
}

makes_no_file_for_a_dry_run() {
    ends 0 migrate --dry-run --db "sqlite:$scratch/never.db"
    [ ! -e "$scratch/never.db" ]
}

uses_weir_db_here() {
    mkdir "$scratch/folder"
    cd "$scratch/folder"
    unset WEIR_DB
    ends 0 migrate
    says "sqlite:weir.db: schema 0 -> $newest"
    [ -s weir.db ]
}

warns_of_others_who_may_create() {
    ends 0 migrate
    ! grep -q warning "$scratch/out"
    sql "$WEIR_DB" 'GRANT CREATE ON SCHEMA public TO guest'
    ends 0 migrate
    says 'warning: others may create in schema public' 'REVOKE CREATE ON SCHEMA public FROM guest'
    ends 0 migrate --json
    json '.creators == "guest"'
    sql "$WEIR_DB" 'REVOKE CREATE ON SCHEMA public FROM guest'
}

# An application may have a schema of its own for them, with a name that must be quoted.
makes_functions_in_another_schema() {
    sql "$WEIR_DB" 'CREATE SCHEMA "Mail 2"'
    local WEIR_DB=$WEIR_DB?options=-csearch_path%3D%22Mail%5C%202%22
    ends 0 migrate
    ends 0 queue add apart --partitions 1
    sql "$WEIR_DB" "SELECT \"Mail 2\".weir_enqueue('apart', 'k', 'x', 't', '{\"a\": \"b\"}')"
    [ "$(waiting apart)" -eq 1 ]
}

for engine in $engines; do
    WEIR_DB=$(new_database "$engine" main)
    export WEIR_DB
    it "makes the tables once on $engine" makes_the_tables_once
    [ "$engine" = mariadb ] || it "makes the queues of the engine on $engine" makes_the_queues_of_the_engine
    it "prints JSON on $engine" prints_json
    it "is silent if asked on $engine" is_silent_if_asked
    it "shows what it would run on $engine" shows_what_it_would_run
    it "shows that nothing is to do on $engine" shows_that_nothing_is_to_do
    it "keeps prefixes apart on $engine" keeps_prefixes_apart
    [ "$engine" != sqlite ] || continue # which has no client here
    it "prints SQL that works on $engine" prints_sql_that_works
    it "refuses a schema that is too new on $engine" refuses_a_newer_schema
    [ "$engine" = postgresql ] || continue
    it 'warns of others who may create in the schema' warns_of_others_who_may_create
    it 'makes functions in a schema of another name' makes_functions_in_another_schema
done
it 'makes no file for a dry run' makes_no_file_for_a_dry_run
it 'uses weir.db in the current folder by default' uses_weir_db_here
it 'refuses an argument' refuses 2 "unexpected argument 'now'" migrate now
it 'refuses a folder that does not exist' \
    refuses 1 'unable to open database file' migrate --db "sqlite:$scratch/no/such/a.db"

finish
