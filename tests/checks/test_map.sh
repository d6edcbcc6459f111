#!/usr/bin/env bash
# The README.md of a folder names its files.
. "$(dirname "$0")/../kit/tap.sh"

map=$root/script/check/map
sample=$root/tests/checks/bad/map

# A tree with so many files in one folder, all of them named.
crowded() {
    local folder=$scratch/crowded/src/base number
    mkdir -p "$folder" "$scratch/crowded/include/weir"
    for ((number = 1; number <= $1; number++)); do
        touch "$folder/file_$number.c"
        echo "| \`file_$number.c\` | A file. |"
    done >"$folder/README.md"
    "$map" "$scratch/crowded"
}

# A folder of tests, which needs no page.
crowded_tests() {
    local number
    mkdir -p "$scratch/tests/src/base" "$scratch/tests/include/weir" "$scratch/tests/tests/unit/base"
    echo '| `file.c` | A file. |' >"$scratch/tests/src/base/README.md"
    touch "$scratch/tests/src/base/file.c"
    for ((number = 1; number <= 46; number++)); do
        touch "$scratch/tests/tests/unit/base/test_$number.c"
    done
    "$map" "$scratch/tests"
}

# passes_over TEXT COMMAND [ARG...]: it fails, and does not say TEXT.
passes_over() {
    local text=$1 output
    shift
    output=$("$@" 2>&1) && return 1
    ! grep -F -- "$text" <<<"$output"
}

mkdir -p "$scratch/empty/src" "$scratch/empty/include/weir"

it 'every folder names its files' "$map" "$root"
it 'a file that is not in the table is named' \
    fails_naming 'src/base/README.md: does not name forgotten.c' "$map" "$sample"
it 'a public header that is not in the table is named' \
    fails_naming 'include/weir/README.md: does not name unlisted.h' "$map" "$sample"
it 'a file that is in the table twice is named' \
    fails_naming 'src/base/README.md: names twice.c more than once' "$map" "$sample"
it 'a file in the table that is not there is named' \
    fails_naming 'src/base/README.md: names removed.h, which is not there' "$map" "$sample"
it 'a folder without a README.md is named' \
    fails_naming 'src/ward: has no README.md' "$map" "$sample"
it 'a folder of helpers of tests without a README.md is named' \
    fails_naming 'tests/kit: has no README.md' "$map" "$sample"
it 'a file that is named only beside the first column need not be there' \
    passes_over 'elsewhere.c' "$map" "$sample"
it 'a folder of 45 files passes' crowded 45
it 'a folder of 46 files is named' \
    fails_naming 'src/base: has 46 source files, must have at most 45' crowded 46
it 'a folder of 46 tests is named' \
    fails_naming 'tests/unit/base: has 46 source files, must have at most 45' crowded_tests
it 'a tree without source files does not pass' \
    fails_naming 'no source files' "$map" "$scratch/empty"
finish
