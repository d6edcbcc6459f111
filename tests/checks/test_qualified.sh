#!/usr/bin/env bash
# Tables are named with their schema or database.
. "$(dirname "$0")/../kit/tap.sh"

qualified=$root/script/check/qualified

git init -q "$scratch"
cp -r "$root"/tests/checks/bad/qualified/src "$scratch"

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

it 'no statement of the tree has bare names of tables' "$qualified" "$root"
it 'a text with bare names is named' fails_naming 'src/outbox/bare.c:4:' "$qualified" "$scratch"
it 'a prefix that is printed by itself is named' \
    fails_naming 'src/outbox/printed.c:4:' "$qualified" "$scratch"
it 'migrations have bare names' leaves_out migrate.c "$qualified" "$scratch"
finish
