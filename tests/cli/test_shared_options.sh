#!/usr/bin/env bash
# What all commands on a database share: --db and its mistakes, --json, --quiet, and where options
# may stand.
. "$(dirname "$0")/../kit/tap.sh"
. "$(dirname "$0")/../kit/server.sh"
. "$(dirname "$0")/../kit/cli.sh"

file=sqlite:$scratch/a.db
"$weir" migrate --db "$file" --quiet
"$weir" queue add orders --partitions 2 --db "$file" --quiet
commands='status|queue list|queue add x --partitions 1|queue pause orders|queue resume orders
queue remove orders|enqueue orders x'

# each_command CODE TEXT OPTION...: every command is refused like that.
each_command() {
    local code=$1 text=$2 command
    shift 2
    while IFS= read -r command; do
        # shellcheck disable=SC2086 # words
        refuses "$code" "$text" $command "$@"
    done < <(tr '|' '\n' <<<"$commands")
}

no_file_is_made() {
    each_command 1 "run 'weir migrate'" --db "sqlite:$scratch/none.db"
    [ ! -e "$scratch/none.db" ]
}

finds_the_database_by_environment() {
    WEIR_DB=$file ends 0 queue list
    says orders
    WEIR_DB=sqlite:nowhere.db ends 0 queue list --db "$file"
    says orders
}

takes_options_anywhere() {
    ends 0 --db "$file" queue list
    ends 0 queue --db "$file" list
    ends 0 queue list --db="$file"
    ends 0 status --db "$file" orders --json
    ends 0 --json status orders --db "$file"
    json '.queues[0].name == "orders"'
    ends 0 enqueue --db "$file" --key k orders --type t payload
    ends 0 enqueue orders --db "$file" -- --payload
}

is_quiet() {
    "$weir" "$@" --db "$file" --quiet >"$scratch/out"
    [ ! -s "$scratch/out" ] || { cat "$scratch/out"; return 1; }
}

# The first does not answer.
takes_several_hosts() {
    local url several
    url=$(postgresql_url several)
    several=${url/@127.0.0.1:/@127.0.0.1:1,127.0.0.1:}?target_session_attrs=read-write
    ends 0 migrate --db "$several"
    ends 0 queue add orders --partitions 1 --db "$several"
    ends 0 enqueue orders hello --db "$several"
    ends 0 relay --queue orders --to stdout: --drain --db "$several"
    says '"payload":"hello"'
    ends 0 doctor --db "$several"
}

wrong_password() {
    local url
    url=$("$1_url" wrong)
    refuses 1 'check user and password' status --db "${url/cork-and-lead/secret-word}"
    if grep -F secret-word "$scratch/err"; then return 1; fi
}

no_such_database() {
    local url
    url=$("$1_url" gone)
    refuses 1 does_not_exist status --db "${url}_does_not_exist"
}

it 'makes no file for a command that needs one' no_file_is_made
it 'refuses a URL of no engine' each_command 2 'scheme is unknown' --db oracle://x
it 'refuses an empty URL' refuses 2 "'weir status --help'" status --db ''
it 'refuses an unknown part of a URL' refuses 2 'option is unknown' status --db "$file?colour=red"
it 'refuses a prefix that is none' refuses 2 'prefix' status --db "$file" --prefix 'a b'
for engine in postgresql mariadb; do
    it "tells that nobody listens, on $engine" \
        refuses 1 'is the server running' status --db "$engine://127.0.0.1:1/app"
    it "tells a wrong password, and not the password, on $engine" wrong_password "$engine"
    it "tells a database that does not exist, on $engine" no_such_database "$engine"
done
it 'tells a file that is no database' \
    each_command 1 'not a database' --db "sqlite:$root/tests/kit/tap.sh"
it 'finds the database by environment, or by --db first' finds_the_database_by_environment
it 'takes options anywhere' takes_options_anywhere
it 'takes several hosts, and the one that takes writes' takes_several_hosts
it 'is quiet: migrate' is_quiet migrate
it 'is quiet: queue add' is_quiet queue add quiet --partitions 1
it 'is quiet: queue pause' is_quiet queue pause quiet
it 'is quiet: queue remove' is_quiet queue remove quiet
it 'is quiet: enqueue' is_quiet enqueue orders x
it 'refuses a shared option for a command without a database' \
    refuses 2 "unknown option '--db'" --db "$file" version
it 'suggests a shared option' refuses 2 "did you mean '--prefix'?" status --prefx x
it 'suggests a command of a group' refuses 2 "did you mean 'remove'?" queue remvoe x
it 'wants a command of a group' refuses 2 'no command given' queue

finish
