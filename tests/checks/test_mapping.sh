#!/usr/bin/env bash
# The pages about the internals name no test that is not there.
. "$(dirname "$0")/../lib/tap.sh"

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

it 'every test that a page names is there' "$mapping" "$root"
it 'a test that is not there is named with its line' \
    fails_naming 'docs/internals/promising.md:5:door__opens_outwards' "$mapping" "$sample"
it 'nothing else is named' names_one "$mapping" "$sample"
it 'pages without a test are not taken for proof' \
    fails_naming 'no page names a test' "$mapping" "$scratch/silent"
it 'a tree without tests is not taken for proof' \
    fails_naming 'there are no tests' "$mapping" "$scratch/untested"
finish
