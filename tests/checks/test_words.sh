#!/usr/bin/env bash
# Nothing unfinished and nobody's home folder is left in the tree.
. "$(dirname "$0")/../lib/tap.sh"

words=$root/script/check/words

git init -q "$scratch"
cp "$root"/tests/checks/bad/words/*.c "$scratch"

it 'the tree holds no such word' "$words" "$root"
it 'unfinished work is named' fails_naming 'unfinished.c:1:' "$words" "$scratch"
it 'a path of a machine is named' fails_naming 'homely.c:1:' "$words" "$scratch"
finish
