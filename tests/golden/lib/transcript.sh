# shellcheck shell=bash
# transcript.sh - plays scenarios and writes down what the program said. To be sourced by parts.sh.
#
# A scenario is a file of tests/golden/scenario, which says in its second line what it runs on:
# "# on: sqlite postgresql mariadb". It is played in a database of its own, with our tables in it, from
# a new folder. Its words:
#
#   weir ARG...           run the program; it must be the same each time it is played
#   also ARG...           the same as text and with --json
#   feed TEXT ARG...      with this on standard input; TEXT as of printf
#   keys ARG...           with --json, of which only names and types are kept: for measurements
#   silent ARG...         run it and write nothing down
#   note TEXT             a heading
#   out FILTER            of the last command's JSON, by jq
#   words                 what the last command has printed
#
# A transcript has the command line, standard output, standard error behind "2> ", and the exit code if
# it is not 0. normalise.py replaces what changes from run to run.

# own_prefix [LETTER]: the run's own for what belongs to the whole server; of one length.
own_prefix() {
    printf '%s%07d' "${1:-g}" $$
}

program=$weir

shown() {
    local word
    printf '$ %s' "${1}"
    shift
    printf 'weir'
    for word in "$@"; do
        if [[ $word =~ ^[A-Za-z0-9_./:=@,+{}-]+$ ]]; then
            printf ' %s' "$word"
        else
            printf " '%s'" "$word"
        fi
    done
    echo
}

# record ARG...: run it, from standard input to the transcript.
record() {
    local result=0
    "$program" "$@" >"$play/out" 2>"$play/err" || result=$?
    cat "$play/out"
    [ ! -s "$play/out" ] || [ -z "$(tail -c 1 "$play/out")" ] || echo '<no newline>'
    sed 's/^/2> /' "$play/err"
    [ "$result" -eq 0 ] || echo "exit code $result"
    echo
}

weir() {
    shown '' "$@"
    record "$@" </dev/null
}

also() {
    weir "$@"
    weir "$@" --json
}

feed() {
    local text=$1
    shift
    shown "printf '$text' | " "$@"
    # shellcheck disable=SC2059 # it is a format
    printf "$text" | record "$@"
}

keys() {
    shown '' "$@" --json
    "$program" "$@" --json </dev/null >"$play/out" 2>"$play/err" || echo "exit code $?"
    jq -r '[paths(type != "object" and type != "array") as $path |
        ($path | map(if type == "number" then "[]" else . end) | join(".")) + ": " +
        (getpath($path) | type)] | unique | .[]' "$play/out"
    echo
}

silent() {
    "$program" "$@" </dev/null >"$play/out" 2>"$play/err" || { cat "$play/err" >&2; return 1; }
}

note() {
    printf '# %s\n\n' "$1"
}

out() {
    jq -r "$1" "$play/out"
}

words() {
    cat "$play/out"
}

# until_it TEXT ARG...: the program prints this with these arguments; within a minute.
until_it() {
    local text=$1 i
    shift
    for ((i = 0; i < 600; i++)); do
        ! "$program" "$@" 2>/dev/null </dev/null | grep -qF -- "$text" || return 0
        sleep 0.1
    done
    echo "not within a minute: weir $* prints $text" >&2
    return 1
}

# play_engine ENGINE FOLDER: all scenarios that are for it, into FOLDER.
play_engine() {
    local scenario name play
    mkdir "$2"
    for scenario in "$root"/tests/golden/scenario/*.sh; do
        grep -q "^# on:.* $1\b" "$scenario" || continue
        name=$(basename "$scenario" .sh)
        play=$scratch/play.$1.$name
        mkdir "$play" "$play/here"
        play_or_tell "$1" "$scenario"
        python3 "$lib/normalise.py" "$(own_prefix)" "$("$program" --version)" <"$play/raw" >"$2/$name.txt"
    done
}

# Not `if play_scenario`: bash switches -e off inside a condition.
play_or_tell() {
    local result
    set +e
    play_scenario "$@" >"$play/raw"
    result=$?
    set -e
    [ "$result" -eq 0 ] || { echo "$name fails on $1, after:"; tail -n 20 "$play/raw"; }
    return "$result"
}

# In a shell of its own, in which a failed line ends it.
play_scenario() (
    set -euo pipefail
    engine=$1
    export NO_COLOR=1
    if [ "$engine" = sqlite ]; then
        export WEIR_DB=sqlite:main.db
    else
        WEIR_DB=$(new_database "$engine" "$(basename "$2" .sh)")
        export WEIR_DB
    fi
    cd "$play/here" # servers, which cannot read it, are started
    silent migrate
    . "$2"
)

# leaves [WORD...]: every command that is no group, one per line.
leaves() {
    local member members
    members=$("$program" "$@" --help | sed -n '/^commands:/,/^$/s/^  \([a-z]\+\).*/\1/p')
    [ -n "$members" ] || { echo "$*"; return 0; }
    for member in $members; do leaves "$@" "$member"; done
}

# all_played FOLDER: each command is in some transcript.
all_played() {
    local command bad=0
    while read -r command; do
        grep -rqE -- "^\\$ (printf .* \| )?weir $command( |\$)" "$1" ||
            { echo "no scenario runs 'weir $command'"; bad=1; }
    done < <(leaves)
    return $bad
}
