#!/usr/bin/env bash
# The formatter has the last word.
. "$(dirname "$0")/../lib/tap.sh"

format=$root/script/check/format

git init -q "$scratch"
cp "$root/.clang-format" "$root/tests/checks/bad/format/crooked.c" "$scratch"

it 'every C file is formatted' "$format" "$root"
it 'a crooked file is named' fails_naming 'crooked.c:1:' "$format" "$scratch"
finish
