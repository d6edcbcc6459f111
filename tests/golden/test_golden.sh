#!/usr/bin/env bash
# What can be seen of weir from outside is what the golden files say.
. "$(dirname "$0")/../kit/tap.sh"

golden=$root/script/golden
lib=$root/tests/golden/lib

# Made once, then compared: with the files of the tree, and with files that were changed.
made=$scratch/made
mkdir "$made"
"$golden" --files "$made" 2>"$scratch/making" || cat "$scratch/making"

# is_same PART
is_same() {
    [ -e "$made/$1" ] || [ -e "$made/$1.txt" ] || { echo "$1 could not be made"; return 1; }
    "$golden" --check --made "$made" "$1"
}

# A copy of the golden files, as this machine's versions of the databases make them.
copy_files() {
    rm -rf "$scratch/changed"
    cp -R "$root/tests/golden" "$scratch/changed"
    cp -R "$made/." "$scratch/changed"
}

# finds CHANGE PART FILE: the golden files after CHANGE, a script of sed for FILE, are refused, and PART
# and FILE are named.
finds() {
    local change=$1 part=$2 file=$3 changed=$scratch/changed
    copy_files
    sed -i "$change" "$changed/$file"
    ! cmp -s "$changed/$file" "$made/$file" || { echo "nothing to change"; return 1; }
    fails_naming "script/golden: $part differs" "$golden" --check --made "$made" --files "$changed" "$part"
    fails_naming "b/$file" "$golden" --check --made "$made" --files "$changed" "$part"
}

# finds_file CHANGE PART: a file that is missing or too many.
finds_file() {
    local changed=$scratch/changed
    copy_files
    (cd "$changed" && eval "$1")
    fails_naming "script/golden: $2 differs" "$golden" --check --made "$made" --files "$changed" "$2"
}

# Files of another version of PostgreSQL are left alone, which is said.
leaves_out_versions() {
    local changed=$scratch/changed
    copy_files
    sed -i 's/^postgresql .*/postgresql 9/' "$changed/versions.txt"
    echo x >>"$changed/schema/postgresql.sql"
    "$golden" --check --made "$made" --files "$changed" schema 2>"$scratch/said"
    grep -qF 'schema of postgresql is not compared' "$scratch/said"
    echo x >>"$changed/schema/sqlite.sql"
    ! "$golden" --check --made "$made" --files "$changed" schema
}

# The source of a constant that no build has.
finds_missing_statements() {
    mkdir -p "$scratch/src"
    echo 'static const struct weir_sql SQL_NOWHERE = {.name = "x"};' >"$scratch/src/x.c"
    prints "$scratch/src/x.c: SQL_NOWHERE" python3 "$lib/texts.py" missing "$scratch/src/x.c" </dev/null
}

# Without any transcript every command is one that no scenario runs.
finds_commands_without_scenario() {
    mkdir -p "$scratch/none"
    fails_naming "no scenario runs 'weir budget create'" bash -c '
        root=$1 scratch=$2 weir=$1/build/release/weir
        . "$root/tests/golden/lib/transcript.sh"
        all_played "$scratch/none"' - "$root" "$scratch"
}

# normal TEXT: as a transcript of one command has it.
normal() {
    printf '$ weir x\n%s\n' "$1" | python3 "$lib/normalise.py" g0000001 'weir 0.1.0'
}

replaces_what_changes() {
    [ "$(normal 'took 3 ms at 2026-11-18T02:59:32.628597Z')" = "$(normal 'took 1.50 s at 2027-01-01T00:00:00Z')" ]
    [ "$(normal '{"seconds":1.5,"count":3}')" = "$(normal '{"seconds":0.01,"count":3}')" ]
    [ "$(normal $'queue   in/s  paused\norders   2.0  no')" = "$(normal $'queue   in/s  paused\norders     -  no')" ]
}

keeps_what_does_not() {
    [ "$(normal '{"seconds":1.5,"count":3}')" != "$(normal '{"seconds":1.5,"count":4}')" ]
    [ "$(normal '{"seconds":1.5}')" != "$(normal '{"second":1.5}')" ]
    [ "$(normal $'queue  paused\norders     no')" != "$(normal $'queue  paused\norders  no')" ]
    [ "$(normal 'it must be from 100 ms to 1 h')" != "$(normal 'it must be from 200 ms to 1 h')" ]
    [ "$(normal '{"retain_seconds":3600.0}')" != "$(normal '{"retain_seconds":60.0}')" ]
}

# Ids that are the same stay the same, and others do not become so.
tells_ids_apart() {
    local a=3b790712db817183776146d3aca09177 b=04106ac208d822871a3603a4fdc07ee3
    [ "$(normal "$a $a")" = "$(normal "$b $b")" ]
    [ "$(normal "$a $a")" != "$(normal "$a $b")" ]
}

names_tests() {
    "$golden" tests >"$scratch/tests"
    grep -qxF 'golden/test_golden.sh: names all tests, in C and in shell' "$scratch/tests"
    grep -q '^[a-z_]*__[a-z_]*_on_mariadb$' "$scratch/tests"
}

for part in help cli exports schema sql events metrics headers; do
    it "the golden files say what the tree makes: $part" is_same "$part"
done
it 'a changed line of help is found' finds 's/make the tables/make tables/' help help/weir.txt
it 'a renamed key of JSON is found' finds 's/"backlog_max"/"backlog_most"/' cli cli/sqlite/queue.txt
it 'a renamed column is found' finds 's/set aside/aside/' cli cli/mariadb/status.txt
it 'another exit code is found' finds '0,/exit code 2/s//exit code 1/' cli cli/postgresql/relay.txt
it 'a symbol that is gone is found' finds '$d' exports exports.txt
it 'a changed table is found' finds 's/message_key/message_code/' schema schema/mariadb.sql
it 'a changed grant is found' finds '0,/^GRANT SELECT/s//GRANT INSERT/' schema schema/postgresql.sql
it 'a changed statement is found' finds '0,/ORDER BY/s//ORDER  BY/' sql sql/postgresql.txt
it 'another text of SQL is found' finds '1s/$/ /' sql sql/literals.txt
it 'a renamed event is found' finds 's/^outbox.suspect /outbox.suspected /' events events.txt
it 'a renamed metric is found' finds 's/_calls_total/_call_total/' metrics metrics.txt
it 'a changed declaration is found' finds 's/weir_batch_left/weir_batch_rest/' headers headers.txt
it 'a file that is missing is found' finds_file 'rm help/dlq.txt' help
it 'a file too many is found' finds_file 'touch sql/oracle.txt; echo x >sql/oracle.txt' sql
it 'an engine of another version is left out, and named' leaves_out_versions
it 'a statement of the source that the build has not is named' finds_missing_statements
it 'a command that no scenario runs is named' finds_commands_without_scenario
it 'what changes from run to run is replaced' replaces_what_changes
it 'what does not is kept' keeps_what_does_not
it 'ids are replaced and told apart' tells_ids_apart
it 'names all tests, in C and in shell' names_tests
it 'an unknown part is refused' fails_naming "no part 'nonsense'; there are:" "$golden" --check nonsense
finish
