#!/usr/bin/env bash
# The program as a whole: version, help, and what it says to mistakes.
. "$(dirname "$0")/../kit/tap.sh"

weir=${WEIR:-$root/build/release/weir}

# misuses TEXT ARG...: exit code 2, one line on standard error with TEXT, nothing on
# standard output.
misuses() {
    local text=$1 result=0
    shift
    "$weir" "$@" >"$scratch/out" 2>"$scratch/err" || result=$?
    [ "$result" -eq 2 ] || { echo "exit code $result"; return 1; }
    [ ! -s "$scratch/out" ] || { echo "standard output:"; cat "$scratch/out"; return 1; }
    [ "$(wc -l <"$scratch/err")" -eq 1 ] || { cat "$scratch/err"; return 1; }
    grep -qF -- "$text" "$scratch/err" || { cat "$scratch/err"; return 1; }
}

# helps_with TEXT... -- ARG...: succeeds, and each TEXT is printed.
helps_with() {
    local texts=() text
    while [ "$1" != -- ]; do
        texts+=("$1")
        shift
    done
    shift
    "$weir" "$@" >"$scratch/out" 2>"$scratch/err"
    [ ! -s "$scratch/err" ]
    for text in "${texts[@]}"; do
        grep -qF -- "$text" "$scratch/out" || { echo "no \"$text\""; return 1; }
    done
}

commands=$("$weir" --help | sed -n '/^commands:/,/^$/s/^  \([a-z]\+\).*/\1/p')

explains_every_command() {
    local command
    [ "$(wc -w <<<"$commands")" -ge 3 ]
    for command in $commands; do
        helps_with "usage: weir $command" --help -- "$command" --help
        "$weir" help "$command" | cmp - <("$weir" "$command" --help)
    done
}

# The help of every command, and of those of its group if it is one.
print_all_help() {
    local command member
    "$weir" --help
    for command in $commands; do
        "$weir" help "$command"
        for member in $("$weir" help "$command" | sed -n '/^commands:/,/^$/s/^  \([a-z]\+\).*/\1/p'); do
            "$weir" help "$command" "$member"
        done
    done
}

fits_80_columns() {
    print_all_help >"$scratch/all"
    [ "$(grep -c '^usage: ' "$scratch/all")" -ge 14 ]
    ! grep -nE '.{81}' "$scratch/all"
}

# ends_with CODE COMMAND...: without a crash, whatever it says.
ends_with() {
    local want=$1 result=0
    shift
    "$@" 2>"$scratch/err" || result=$?
    [ "$result" -eq "$want" ] || { echo "exit code $result"; cat "$scratch/err"; return 1; }
}

without_output() {
    "$@" >&-
}

to_a_full_disk() {
    "$@" >/dev/full
}

it 'prints its version' prints 'weir 0.1.0' "$weir" --version
it 'prints its version for -V' prints 'weir 0.1.0' "$weir" -V
it 'prints its version as a command' prints 'weir 0.1.0' "$weir" version
it 'lists demo, help and version' helps_with '  demo ' '  help ' '  version ' -- --help
it 'prints the same help for -h and help' cmp <("$weir" -h) <("$weir" help)
it 'names its exit codes' helps_with 'exit codes: 0 done, 1 failed, 2 misuse' -- --help
it 'explains every command it lists' explains_every_command
it 'keeps its help within 80 columns' fits_80_columns

it 'wants a command' misuses "no command given, try 'weir demo'"
it 'names an unknown command' misuses "unknown command 'frobnicate'" frobnicate
it 'suggests the command that was meant' misuses "did you mean 'demo'?" dmeo
it 'suggests a command by its beginning' misuses "did you mean 'version'?" vers
it 'suggests the command of another place' misuses "did you mean 'weir submit'?" flow submit
it 'suggests the command of another group' misuses "did you mean 'weir execution get'?" flow get
it 'suggests the commands of a few groups' \
    misuses "did you mean 'weir dlq claim' or 'weir execution claim'? 'weir flow --help' lists all" flow claim
it 'suggests none of many groups' misuses "unknown command 'list'; 'weir --help' lists all" list
it 'suggests nothing for a word that is like no command' \
    misuses "unknown command 'xyz'; 'weir --help' lists all" xyz
it 'names the next step after an unknown command' misuses "'weir --help'" nonsense
it 'refuses an empty command' misuses "unknown command ''" ''
it 'refuses help on an unknown command' misuses "did you mean 'demo'?" help dem
it 'names an unknown option' misuses "weir: unknown option '--nonsense'" --nonsense
it 'suggests the option that was meant' misuses "did you mean '--version'?" --verison
it 'names an unknown option of a command' \
    misuses "weir demo: unknown option '--colour'" demo --colour
it 'suggests the option of a command' misuses "did you mean '--seconds'?" demo --secnods=3
it 'names the next step after an unknown option' misuses "'weir demo --help'" demo --colour
it 'names an unknown letter' misuses "unknown option '-x'" demo -x
it 'names an unknown letter among others' misuses "unknown option '-x'" demo -jx
it 'names an option without its value' misuses "'--seconds' needs a value N" demo --seconds
it 'names an option with one too many' misuses "'--json' takes no value" demo --json=yes
it 'refuses an argument too many' misuses "unexpected argument 'twice'" demo twice
it 'refuses an argument of version' misuses "unexpected argument '1'" version 1

it 'fails when standard output is closed' ends_with 1 without_output "$weir" --help
it 'fails when the disk is full' ends_with 1 to_a_full_disk "$weir" --version
it 'names the full disk' fails_naming 'No space left' to_a_full_disk "$weir" --help

finish
