#!/usr/bin/env bash
# The library does not print, exit, handle signals or read clocks behind its host's back.
. "$(dirname "$0")/../kit/tap.sh"

calls=$root/script/check/calls

# Make libchatty.a of the sample, compiled with these flags into an object of this name.
archive() {
    local folder=$scratch/$1 object=$2
    shift 2
    mkdir -p "$folder"
    gcc "$@" -c "$root/tests/checks/bad/symbols/chatty.c" -o "$folder/$object"
    ar rc "$folder/libchatty.a" "$folder/$object"
}
archive plain chatty.c.o -O0
archive hardened chatty.c.o -O2 -D_FORTIFY_SOURCE=2
archive assert assert.c.o -O0
archive spawn spawn.c.o -O0
archive system system.c.o -O0

# COMMAND complains, but not about TEXT.
fails_without_naming() {
    local text=$1 output
    shift
    output=$("$@" 2>&1) && return 1
    ! grep -F -- "$text" <<<"$output"
}

it 'the library makes no forbidden call' "$calls" "$root/build/release/libweir.a"
for name in printf stderr abort exit _exit signal clock_gettime rand; do
    it "a call of $name is named with its object" \
        fails_naming "chatty.c.o uses $name," "$calls" "$scratch/plain/libchatty.a"
done
it 'the hardened form of a call is recognised' \
    fails_naming 'chatty.c.o uses printf,' "$calls" "$scratch/hardened/libchatty.a"
it 'the assert may abort' \
    fails_without_naming 'uses abort' "$calls" "$scratch/assert/libchatty.a"
it 'the assert may not read the clock' \
    fails_naming 'uses clock_gettime' "$calls" "$scratch/assert/libchatty.a"
it 'a child that did not become a program may end' \
    fails_without_naming 'uses _exit' "$calls" "$scratch/spawn/libchatty.a"
it 'the one who spawns may not end the process otherwise' \
    fails_naming 'uses exit' "$calls" "$scratch/spawn/libchatty.a"
it 'the system environment may read the clock' \
    fails_without_naming 'uses clock_gettime' "$calls" "$scratch/system/libchatty.a"
it 'the system environment may not abort' \
    fails_naming 'uses abort' "$calls" "$scratch/system/libchatty.a"
finish
