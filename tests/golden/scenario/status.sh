# shellcheck shell=bash
# on: sqlite postgresql mariadb
# What there is, and whether it is well.
also status
weir status --quiet
silent queue add orders --partitions 2 --retain 1d
silent queue add bills --partitions 1 --unread drop
silent enqueue orders --partition 0 one
silent enqueue orders --partition 1 two
also status
also status orders
weir status orders --all
weir status nothing
weir status nothing --json
silent relay --queue orders --to file:out --drain
silent enqueue orders --partition 0 three
also status orders
weir status orders --all --json
silent queue pause orders
also status orders
weir status --watch never

note 'while a process delivers'
silent queue resume orders
"$program" relay --queue orders --to file:out2 --as live --quiet 2>relay.err &
relay=$!
until_it '"subscription":"live","partitions":2,' status orders --json
until_it '"name":"live","served_by":"sink","processes":1,"paused":false,"queue_paused":false,"waiting":0' \
    subscription list --json
until_it '"delivered":3,' status orders --json
also status orders
also subscription list orders
weir subscription remove orders live
weir subscription remove orders live --json
kill "$relay"
wait "$relay"
