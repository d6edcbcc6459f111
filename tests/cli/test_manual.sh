#!/usr/bin/env bash
# What is made of the table of commands besides --help: the manual page and the completion.
. "$(dirname "$0")/../kit/tap.sh"
. "$(dirname "$0")/../kit/server.sh"
. "$(dirname "$0")/../kit/cli.sh"

WEIR_DB=sqlite:$scratch/a.db
export WEIR_DB
"$weir" migrate --quiet
"$weir" queue add orders --partitions 1 --quiet
"$weir" queue add owls --partitions 1 --quiet

explains_every_command() {
    local command
    ends 0 help --man
    says '.TH WEIR 1' '.SH NAME' '.SH SYNOPSIS' '.SH EXIT STATUS' '.SH ENVIRONMENT' \
        '\-\-key\-field' '.SS queue add' '.SS budget create'
    for command in $("$weir" --help | sed -n '/^commands:/,/^$/s/^  \([a-z]\+\).*/\1/p'); do
        says ".SS $command"
    done
}

# groff is not everywhere; where it is, it must have nothing to say.
is_clean_for_groff() {
    "$weir" help --man | groff -man -Tutf8 -ww -z 2>"$scratch/warnings"
    [ ! -s "$scratch/warnings" ] || { cat "$scratch/warnings"; return 1; }
}

# completes WANT WORD...: the last word, to these words.
completes() {
    local want=$1
    shift
    COMP_LINE="$*"
    COMP_WORDS=("$@")
    COMP_WORDS[0]=$weir
    COMP_CWORD=$(($# - 1))
    _weir
    [ "${COMPREPLY[*]}" = "$want" ] || { echo "got: ${COMPREPLY[*]}"; return 1; }
}

completes_by_table() {
    # shellcheck disable=SC1090
    . <("$weir" help --bash)
    completes 'enqueue' weir en
    completes 'demo dlq doctor' weir d
    completes 'remove' weir queue rem
    completes 'resume remove' weir queue re
    completes '--partitions' weir queue add x --part
    completes 'keep drop' weir queue add x --unread ''
    completes '--dry-run --db' weir migrate --d
    completes 'orders owls' weir status o
    completes 'orders' weir queue pause or
    completes '' weir status o --db sqlite:nowhere.db
    completes 'orders owls' weir status --db "$WEIR_DB" o
    echo hello >"$scratch/payload"
    completes "$scratch/payload" weir enqueue orders --file "$scratch/pay"
    completes 'queue' weir help qu
    completes 'orders owls' weir relay --queue o
    completes 'subscription submit supervise' weir su
    completes 'suspend' weir execution su
    completes 'create change' weir budget c
    completes '--hard' weir budget create x --ha
    completes "$scratch/payload" weir key rotate k2 --secret-file "$scratch/pay"
    completes "$scratch/payload" weir execution claim --input-to "$scratch/pay"
    completes 'beginning now' weir relay --queue orders --from ''
}

it 'explains every command in the manual page' explains_every_command
if command -v groff >/dev/null; then
    it 'prints a manual page without a warning' is_clean_for_groff
else
    echo '# no groff here: one case less'
fi
it 'completes commands, options, values and queues' completes_by_table
it 'explains a command of a group' prints "$("$weir" queue add --help)" "$weir" help queue add
it 'refuses help on a word behind a command' \
    refuses 2 "unexpected argument 'twice'" help migrate twice

finish
