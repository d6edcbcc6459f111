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
it 'a file that is named only beside the first column need not be there' \
    passes_over 'elsewhere.c' "$map" "$sample"
it 'a folder of 45 files passes' crowded 45
it 'a folder of 46 files is named' \
    fails_naming 'src/base: has 46 source files, must have at most 45' crowded 46
it 'a tree without source files does not pass' \
    fails_naming 'no source files' "$map" "$scratch/empty"
finish
