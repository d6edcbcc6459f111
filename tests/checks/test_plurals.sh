#!/usr/bin/env bash
# Counts in texts have the word that belongs to them.
. "$(dirname "$0")/../kit/tap.sh"

plurals=$root/script/check/plurals

git init -q "$scratch"
cp -r "$root"/tests/checks/bad/plurals/src "$scratch"

# leaves_out TEXT COMMAND [ARG...]: it fails, and does not say TEXT.
leaves_out() {
    local text=$1 output
    shift
    if output=$("$@" 2>&1); then
        echo "succeeded, but should not: $*"
        return 1
    fi
    ! grep -F -- "$text" <<<"$output"
}

it 'no text of the tree has a plural that stays one for 1' "$plurals" "$root"
it 'a plural for every count is named' fails_naming 'always_many.c: "%d messages"' "$plurals" "$scratch"
it 'a choice of its own is named' fails_naming 'own_choice.c:' "$plurals" "$scratch"
it 'limits are plurals' leaves_out limit.c "$plurals" "$scratch"
finish
