#!/usr/bin/env bash
# Tables are named with their schema or database.
. "$(dirname "$0")/../lib/tap.sh"

homes=$root/script/check/homes

git init -q "$scratch"
cp -r "$root"/tests/checks/bad/homes/src "$scratch"

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

it 'no statement of the tree has bare names of tables' "$homes" "$root"
it 'a text with bare names is named' fails_naming 'src/outbox/bare.c:4:' "$homes" "$scratch"
it 'a prefix that is printed by itself is named' \
    fails_naming 'src/outbox/printed.c:4:' "$homes" "$scratch"
it 'migrations have bare names' leaves_out migrate.c "$homes" "$scratch"
finish
