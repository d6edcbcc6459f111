#!/usr/bin/env bash
# Every guarantee is shown by tests that are there, on each engine that it is given for.
. "$(dirname "$0")/../kit/tap.sh"

guarantees=$root/script/check/guarantees
sample=$root/tests/checks/bad/guarantees

# It complains of so many things.
complains() {
    local output
    output=$("$guarantees" "$sample" 2>&1) && return 1
    echo "$output"
    [ "$(wc -l <<<"$output")" -eq "$1" ]
}

# A tree whose page makes no promise, and one without a page.
mkdir -p "$scratch/silent/docs" "$scratch/bare"
echo 'Nothing.' >"$scratch/silent/docs/guarantees.md"
cp -r "$sample/tests" "$scratch/silent"
cp -r "$sample/tests" "$scratch/bare"

# A tree with this one promise.
promise() {
    mkdir -p "$scratch/one/docs"
    cp -r "$sample/tests" "$scratch/one"
    printf '%s\n' '| What | On | Shown by |' '| --- | --- | --- |' "$1" \
        >"$scratch/one/docs/guarantees.md"
    "$guarantees" "$scratch/one"
}

it 'every guarantee is shown by a test' "$guarantees" "$root"
it 'a test that is not there is named with its line' \
    fails_naming 'docs/guarantees.md:5: door__opens_outwards is no test' "$guarantees" "$sample"
it 'a claim in shell that is not there is named' \
    fails_naming 'docs/guarantees.md:9: cli/test_door.sh: squeaks is no test' \
    "$guarantees" "$sample"
it 'a promise without a test is named' \
    fails_naming 'docs/guarantees.md:6: names no test' "$guarantees" "$sample"
it 'an engine without a test is named' \
    fails_naming 'docs/guarantees.md:7: names no test on sqlite' "$guarantees" "$sample"
it 'an engine that is none is named' \
    fails_naming 'docs/guarantees.md:8: "oracle" is no engine' "$guarantees" "$sample"
it 'a test that is named outside of a promise must be there, too' \
    fails_naming 'docs/guarantees.md:15: door__is_missed is no test' "$guarantees" "$sample"
it 'nothing else is named' complains 6
it 'a test for one engine shows nothing of another' \
    fails_naming 'names no test on mariadb' promise '| x | MariaDB | `door__is_heavy` |'
it 'two tests may share the engines' \
    promise '| x | all | `door__is_heavy_on_sqlite`, `door__is_painted` |'
it 'a test that has its engine in its name may be named without it' \
    promise '| x | PostgreSQL | `door__is_green` |'
it 'but shows nothing of another' \
    fails_naming 'names no test on sqlite' promise '| x | all | `door__is_green` |'
it 'a claim of a loop in shell is one of all engines' \
    promise '| x | all | `cli/test_door.sh: opens on request` |'
it 'a claim of a loop over some engines is one of these' \
    promise '| x | PostgreSQL, MariaDB | `cli/test_door.sh: is locked, with a key` |'
it 'and of no other' fails_naming 'names no test on sqlite' \
    promise '| x | all | `cli/test_door.sh: is locked, with a key` |'
it 'a page that promises nothing is not taken for proof' \
    fails_naming 'promises nothing' "$guarantees" "$scratch/silent"
it 'a tree without the page is not taken for proof' \
    fails_naming 'docs/guarantees.md is not there' "$guarantees" "$scratch/bare"
finish
