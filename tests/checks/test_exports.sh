#!/usr/bin/env bash
# The libraries offer names that start with weir_, and no others.
. "$(dirname "$0")/../kit/tap.sh"

exports=$root/script/check/exports
build=$root/build/release

gcc -fPIC -c "$root/tests/checks/bad/symbols/stray.c" -o "$scratch/stray.c.o"
gcc -shared "$scratch/stray.c.o" -o "$scratch/libstray.so"
ar rc "$scratch/libstray.a" "$scratch/stray.c.o"

it 'the shared library exports only weir_ names' "$exports" "$build/libweir.so"
it 'the static library exports only weir_ names' "$exports" "$build/libweir.a"
it 'a foreign name in a shared library is named' \
    fails_naming 'libstray.so: exports helper' "$exports" "$scratch/libstray.so"
it 'a foreign name in a static library is named with its object' \
    fails_naming 'stray.c.o: exports helper' "$exports" "$scratch/libstray.a"
finish
