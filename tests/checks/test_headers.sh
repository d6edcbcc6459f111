#!/usr/bin/env bash
# Each public header can be the first and only one, in C and in C++.
. "$(dirname "$0")/../kit/tap.sh"

headers=$root/script/check/headers
sample=$root/tests/checks/bad/headers

it 'every public header stands by itself' "$headers" "$root"
it 'a header that lacks an include is named' \
    fails_naming 'weir/needy.h: not by itself as C11' "$headers" "$sample"
it 'a header that is no C++ is named' \
    fails_naming 'weir/classy.h: not by itself as C++17' "$headers" "$sample"
finish
