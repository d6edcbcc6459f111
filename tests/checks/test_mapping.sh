#!/usr/bin/env bash
# The pages about the internals name no test that is not there.
. "$(dirname "$0")/../kit/tap.sh"

mapping=$root/script/check/mapping
sample=$root/tests/checks/bad/mapping

# COMMAND names just one thing.
names_one() {
    local output
    output=$("$@" 2>&1) && return 1
    echo "$output"
    [ "$(wc -l <<<"$output")" -eq 1 ]
}

# A tree whose pages name nothing.
mkdir -p "$scratch/silent/docs/internals" "$scratch/silent/tests"
echo 'Nothing.' >"$scratch/silent/docs/internals/silent.md"
cp "$sample/tests/test_door.c" "$scratch/silent/tests"

# A tree without tests.
mkdir -p "$scratch/untested/tests"
cp -r "$sample/docs" "$scratch/untested"

# A tree with tests for engines; its page names what the first argument says.
engines() {
    mkdir -p "$scratch/engines/docs/internals" "$scratch/engines/tests"
    printf '%s\n' 'OUTBOX_SERVER_TEST(door, is_painted)' 'SQLITE_TEST(door, is_heavy)' \
        'ENGINE_TEST(door,' '            is_shut)' >"$scratch/engines/tests/test_door.c"
    printf '`%s`\n' "$1" >"$scratch/engines/docs/internals/door.md"
    "$mapping" "$scratch/engines"
}

# A tree with our page about flows, less what the expression of sed deletes.
curtailed() {
    mkdir -p "$scratch/curtailed/docs/internals" "$scratch/curtailed/tests"
    cp "$sample/tests/test_door.c" "$scratch/curtailed/tests"
    sed "$1" "$root/docs/internals/executions.md" >"$scratch/curtailed/docs/internals/executions.md"
    "$mapping" "$scratch/curtailed"
}

it 'every test that a page names is there' "$mapping" "$root"
it 'a test that is not there is named with its line' \
    fails_naming 'docs/internals/promising.md:5:door__opens_outwards' "$mapping" "$sample"
it 'nothing else is named' names_one "$mapping" "$sample"
it 'pages without a test are not taken for proof' \
    fails_naming 'no page names a test' "$mapping" "$scratch/silent"
it 'a tree without tests is not taken for proof' \
    fails_naming 'there are no tests' "$mapping" "$scratch/untested"
it 'a test for several engines is there on each of them' engines door__is_painted_on_postgresql
it 'a test for several engines may be named without them' engines door__is_shut
it 'a test is not there on an engine that its macro leaves out' \
    fails_naming 'door__is_painted_on_sqlite' engines door__is_painted_on_sqlite
it 'a test for one engine is not there on another' \
    fails_naming 'door__is_heavy_on_postgresql' engines door__is_heavy_on_postgresql
it 'a row of the specification that is not listed is named' \
    fails_naming 'no row for T9 of section 7' curtailed '/^| T9 /d'
it 'so is each of a range' \
    fails_naming 'no row for L2 of section 7' curtailed '/^| L1 to L3 /d'
it 'a hole is not taken for a row of the same name' \
    fails_naming 'no row for C7 of section 9' curtailed '/^| C7 /d'
finish
