#!/usr/bin/env bash
# Bugs that tests must find are patches that apply and name their tests; none is in the product.
. "$(dirname "$0")/../kit/tap.sh"

mutants=$root/script/check/mutants
sample=$root/tests/checks/bad/mutants

# It complains of so many things.
complains() {
    local output
    output=$("$mutants" "$sample" 2>&1) && return 1
    echo "$output"
    [ "$(wc -l <<<"$output")" -eq "$1" ]
}

# The sample without its patches.
mkdir -p "$scratch/bare/tests"
cp -r "$sample/src" "$scratch/bare"
mkdir "$scratch/bare/tests/mutants"
cp "$sample/tests/mutants/faults.txt" "$scratch/bare/tests/mutants"

it 'every patch applies and names its tests, and no bug is in the product' "$mutants" "$root"
it 'a patch that does not apply is named' \
    fails_naming 'mutants/stale.patch: does not apply' "$mutants" "$sample"
it 'a patch of something else than the product is named' \
    fails_naming 'mutants/outside.patch: changes files outside of src' "$mutants" "$sample"
it 'a patch that does not say what it breaks is named' \
    fails_naming 'mutants/mute.patch: does not say once what it breaks' "$mutants" "$sample"
it 'a patch without a test is named' \
    fails_naming 'mutants/silent.patch: names no test that must fail' "$mutants" "$sample"
it 'a program that is not there is named' \
    fails_naming 'mutants/lost.patch: base/test_window is no test program' "$mutants" "$sample"
it 'a test that is not there is named' \
    fails_naming 'mutants/lost.patch: "door__opens_outwards" is no test' "$mutants" "$sample"
it 'a point that decides something and is not listed is named with its line' \
    fails_naming 'src/door.c:9: point door.ignores_the_lock decides something' "$mutants" "$sample"
it 'a listed point that is not there is named' \
    fails_naming 'faults.txt: door.creaks decides nothing' "$mutants" "$sample"
it 'a bug in the product is named with its line' \
    fails_naming 'src/door.c:10:' "$mutants" "$sample"
it 'a patch that a page names and that is not there is named' \
    fails_naming 'docs/doors.md:2: mutants/opens_twice is no patch' "$mutants" "$sample"
it 'nothing else is named' complains 10
it 'a tree without patches is not taken for proof' \
    fails_naming 'tests/mutants: has no patch' "$mutants" "$scratch/bare"
finish
