#!/usr/bin/env bash
# A test that fails, in whatever way, is counted as failed.
. "$(dirname "$0")/../kit/tap.sh"

sample=$root/tests/checks/bad/harness
for name in test_mixed test_deaths; do
    gcc -std=c11 -D_GNU_SOURCE -I"$root/include" -I"$root/src" -I"$root/tests" \
        "$sample/$name.c" "$root/tests/kit/main.c" "$root/build/release/libweir.a" \
        -lcmocka -pthread -lm -o "$scratch/$name"
done

# A script of this name and text in the scratch folder.
program() {
    printf '#!/bin/sh\n%s\n' "$2" >"$scratch/$1"
    chmod +x "$scratch/$1"
}
program silent 'exit 0'
program short 'echo 1..2; echo "ok 1 - first"'
program wrong 'echo 1..3; echo "ok 1 - first"; echo "# got 1, want 2"
echo "not ok 2 - second"; echo "# x.c:1: error: Failure!"; echo "ok 3 - third"; exit 1'
program sour 'echo 1..1; echo "ok 1 - first"; echo leak; exit 3'
program slow 'echo 1..1; echo "ok 1 - first"; exec sleep 60'
program fine 'echo 1..1; echo "ok 1 - first"'
program loud 'echo 1..1; i=0; while [ $((i += 1)) -le 90 ]; do echo "line $i"; done; exit 4'
# To give `test_deaths` its argument.
program abort "exec $scratch/test_deaths by_abort"
program child "exec $scratch/test_deaths in_a_child"
program early "exec $scratch/test_deaths by_an_early_exit"

# counts TEXT PROGRAM...: the last line of script/test is TEXT, and its exit code fits.
counts() {
    local want=$1 got result=0
    shift
    got=$(WEIR_TIMEOUT=2 "$root/script/test" --program "$@") || result=1
    printf '%s\n' "$got"
    [ "$(tail -n 1 <<<"$got")" = "$want" ]
    if [[ $want == *' 0 failed' && $want != 0* ]]; then
        [ "$result" -eq 0 ]
    else
        [ "$result" -ne 0 ]
    fi
}

# recaps TEXT PROGRAM...: script/test repeats and counts TEXT at its end.
recaps() {
    local want=$1 got
    shift
    got=$({ "$root/script/test" --program "$@" || true; } | sed -n '/^failed:$/,$p')
    printf 'got:\n%s\nwant:\n%s\n' "$got" "$want"
    [ "$got" = "$want" ]
}

# is_short PROGRAM...: what script/test repeats at the end is not long.
is_short() {
    local got
    got=$({ "$root/script/test" --program "$@" || true; } | sed -n '/^failed:$/,$p')
    printf '%s\n' "$got"
    [ "$(wc -l <<<"$got")" -eq 63 ]
    grep -q '^\.\.\. and [0-9]* lines more; see build/log$' <<<"$got"
}

# dies CASE: this death is reported as a failed test, and the program ends badly.
dies() {
    fails_naming "not ok 1 - deaths__$1" "$scratch/test_deaths" "$1"
}

it 'cases of one program are counted singly' \
    counts '2 passed, 5 failed' "$scratch/test_mixed"
it 'a failed status is printed by name' \
    fails_naming 'got INVALID, want OK' "$scratch/test_mixed"
it 'a failed number is printed' fails_naming 'got 42, want 43' "$scratch/test_mixed"
it 'a failed string is printed' \
    fails_naming 'got "weir", want "(null)"' "$scratch/test_mixed"
it 'a failed range is printed' fails_naming 'got 4, want 5 to 6' "$scratch/test_mixed"
it 'a name that matches no test is a failure' \
    fails_naming '1..0' "$scratch/test_mixed" no_such_test
it 'an abort is a failed test' dies by_abort
it 'a segmentation fault is a failed test' dies by_segfault
it 'a failed check on a thread is a failed test' dies by_a_check_on_a_thread
it 'a failed check on a fiber is a failed test' dies by_a_check_on_a_fiber
it 'a program that dies is counted' counts '0 passed, 1 failed' "$scratch/abort"
it 'a test that exits is counted' counts '0 passed, 1 failed' "$scratch/early"
it 'a test that fails in a child process too is counted once' \
    counts '0 passed, 2 failed' "$scratch/child"
it 'a program that runs no test is a failure' counts '0 passed, 1 failed' "$scratch/silent"
it 'a program that stops half way is a failure' counts '1 passed, 1 failed' "$scratch/short"
it 'a bad exit code is a failure' counts '1 passed, 1 failed' "$scratch/sour"
it 'a program that hangs is a failure' counts '1 passed, 1 failed' "$scratch/slow"
it 'a failure is not forgotten over a success' \
    counts '2 passed, 1 failed' "$scratch/sour" "$scratch/fine"
it 'only successes are a success' counts '1 passed, 0 failed' "$scratch/fine"
it 'what failed is repeated at the end' recaps "failed:
program plain short: 1 failed, ran 1 of 2 tests
    | ok 1 - first
program plain wrong: 1 failed
    | # got 1, want 2
    | not ok 2 - second
program plain sour: 1 failed, ended with code 3
    | ok 1 - first
    | leak
5 passed, 3 failed" "$scratch/short" "$scratch/wrong" "$scratch/fine" "$scratch/sour"
it 'of a long output the beginning and the end are repeated' recaps "failed:
program plain loud: 1 failed, ended with code 4
    | 1..1
$(printf '    | line %d\n' 1 2 3 4 5)
    | ...
$(printf '    | line %d\n' 86 87 88 89 90)
0 passed, 1 failed" "$scratch/loud"
it 'what is repeated is bounded' is_short "$scratch"/{loud,loud,loud,loud,loud}
it 'an unknown label is refused' \
    fails_naming "no label 'nonsense'; there are:" "$root/script/test" nonsense
finish
