# shellcheck shell=bash
# cli.sh - helpers for tests of the program. To be sourced after tap.sh and server.sh.
#
#   for engine in $engines; do
#       use_engine "$engine"            a new database with our tables, named by WEIR_DB
#       it "lists queues on $engine" lists_queues
#   done
#
# Databases are shared by the cases of a file, so each case has queues of its own.

# shellcheck disable=SC2034,SC2154 # used by the tests; root is of tap.sh
engines=${WEIR_ENGINES:-sqlite postgresql mariadb}
weir=${WEIR:-$root/build/release/weir}
unset WEIR_DB WEIR_PREFIX

# new_database ENGINE NAME: where it is. Nothing is in it.
new_database() {
    # shellcheck disable=SC2154 # of tap.sh
    if [ "$1" = sqlite ]; then echo "sqlite:$scratch/$2.db"; else "$1_url" "$2"; fi
}

use_engine() {
    WEIR_DB=$(new_database "$1" main)
    export WEIR_DB
    "$weir" migrate --quiet
}

# ends CODE ARG...: the program ends with this code; its output is kept in $scratch/out, what it
# said to the terminal in $scratch/err.
ends() {
    local want=$1 result=0
    shift
    "$weir" "$@" >"$scratch/out" 2>"$scratch/err" || result=$?
    [ "$result" -eq "$want" ] ||
        { echo "exit code $result of: weir $*"; cat "$scratch/out" "$scratch/err"; return 1; }
}

# refuses CODE TEXT ARG...: with one line on standard error that has TEXT, and no output.
refuses() {
    local code=$1 text=$2
    shift 2
    ends "$code" "$@"
    [ ! -s "$scratch/out" ] || { echo 'standard output:'; cat "$scratch/out"; return 1; }
    [ "$(wc -l <"$scratch/err")" -eq 1 ] || { cat "$scratch/err"; return 1; }
    grep -qF -- "$text" "$scratch/err" || { echo "no \"$text\":"; cat "$scratch/err"; return 1; }
}

# says TEXT...: each is in the output of the last `ends`.
says() {
    local text
    for text in "$@"; do
        grep -qF -- "$text" "$scratch/out" || { echo "no \"$text\":"; cat "$scratch/out"; return 1; }
    done
}

# json FILTER: holds for the output of the last `ends`, which is one line of JSON.
json() {
    [ "$(wc -l <"$scratch/out")" -eq 1 ] || { echo 'not one line:'; cat "$scratch/out"; return 1; }
    jq -e "$1" "$scratch/out" >/dev/null || { echo "not: $1"; cat "$scratch/out"; return 1; }
}

# waiting QUEUE: how many messages are in it.
waiting() {
    "$weir" status "$1" --json | jq '.queues[0].waiting'
}

# until_true COMMAND...: for up to a minute; then what was said to the terminal is shown.
until_true() {
    local i
    for ((i = 0; i < 3000; i++)); do
        ! "$@" || return 0
        sleep 0.02
    done
    echo "not within a minute: $*"
    # shellcheck disable=SC2154 # of tap.sh
    cat "$scratch"/*err
    return 1
}

# on_a_terminal COLUMNS COMMAND: what a terminal of that width would get.
on_a_terminal() {
    TERM=xterm script -qec "stty cols $1 rows 24; $2" /dev/null >"$scratch/out"
}
