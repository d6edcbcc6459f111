# shellcheck shell=bash
# on: sqlite postgresql mariadb
# Delivery.
silent queue add orders --partitions 1 --retain 1d
silent enqueue orders --key a --type t --header h=1 one
silent enqueue orders --key b two
feed '\377' enqueue orders --key c - --quiet
weir relay --queue orders --to stdout: --drain
weir relay --queue orders --to stdout: --drain --as second --json
weir relay --queue orders --to stdout: --drain --as third --quiet
weir relay --queue orders --to file:out --drain --as fourth
weir relay --queue orders --to file:out --drain --as fourth --json
# shellcheck disable=SC2016 # expanded by the shell of exec:
weir relay --queue orders --to 'exec:echo $WEIR_QUEUE $WEIR_PARTITION $WEIR_SEQ $WEIR_KEY $WEIR_TYPE $WEIR_ATTEMPTS' --drain --as fifth --handlers 1
weir relay --queue orders --to 'exec-stream:while read -r line; do echo ok; done' --drain --as sixth --json

note 'what is rejected, and what fails too often'
weir relay --queue orders --to 'exec:echo no good >&2; exit 65' --drain --as seventh
weir relay --queue orders --to 'exec:echo no good >&2; exit 65' --drain --as eighth --json
silent queue add failing --partitions 1 --attempts-max 1
silent enqueue failing --key a one
weir relay --queue failing --to 'exec:echo broken >&2; exit 1' --drain
silent enqueue failing --key a two
weir relay --queue failing --to 'exec:echo broken >&2; exit 1' --drain --json

note 'mistakes'
weir relay
weir relay --queue orders
weir relay --queue nothing --to stdout: --drain
weir relay --queue nothing --to stdout: --drain --json
weir relay --queue orders --to nonsense: --drain
weir relay --queue orders --to file: --drain
weir relay --queue orders --to file:no/where --drain --lease 1
weir relay --queue orders --to stdout: --from middle
weir relay --queue orders --to stdout: --batch 0
weir relay --queue orders --to stdout: --permissions 999
