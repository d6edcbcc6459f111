# shellcheck shell=bash
# on: sqlite postgresql mariadb
# Messages into a queue.
silent queue add orders --partitions 2
weir enqueue orders --key c42 '{"total": 5}'
weir enqueue orders --key c42 '{"total": 5}' --json
weir enqueue orders --key c42 x --quiet
weir enqueue orders --partition 1 --type greeting --header a=1 --header b=2 hello --json
printf 'from a file' >payload
weir enqueue orders --key k --file payload --json
weir enqueue orders --key k --file nowhere
feed 'piped' enqueue orders --key k - --json
feed 'a\nb\nc\n' enqueue orders --key k --lines
feed 'a\nb\nc\n' enqueue orders --key k --lines --json
feed 'a\nb\n' enqueue orders --key k --lines --quiet
feed '{"no":"x","kind":"t","body":{"n":1}}\n' enqueue orders --lines --key-field no --type-field kind --payload-field body --json
feed 'a\n\nc\n' enqueue orders --key k --lines
feed 'a\n\nc\n' enqueue orders --key k --lines --json
feed '{"no":1}\nx\n' enqueue orders --lines --key-field no --json
feed '\377\n' enqueue orders --key k --lines
feed '\377\n' enqueue orders --key k --lines --binary --json
weir enqueue nothing x
weir enqueue nothing x --json
weir enqueue
weir enqueue orders
weir enqueue orders x y
weir enqueue orders --partition 7 x
weir enqueue orders --partition 0 --key k x
weir enqueue orders --header novalue x
weir enqueue orders --size-max 3 hello
weir enqueue orders --batch 0 --lines
