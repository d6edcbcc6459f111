#!/usr/bin/env bash
# clang builds everything and proves the lock annotations.
. "$(dirname "$0")/../kit/tap.sh"

# Compile one file of the tree or of the samples as the clang preset does.
compile() {
    clang -std=c11 -D_GNU_SOURCE -fsyntax-only -Wall -Wextra -Wthread-safety -Werror \
        -I"$root/include" -I"$root/src" "$1"
}
sample=$root/tests/checks/bad/locks

it 'clang builds everything without a warning' "$root/script/build" clang
it 'a path that forgets to unlock does not compile' \
    fails_naming 'is not held on every path' compile "$sample/forgetful.c"
it 'a call without the lock it requires does not compile' \
    fails_naming 'requires holding' compile "$sample/uninvited.c"
finish
