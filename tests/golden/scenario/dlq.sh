# shellcheck shell=bash
# on: sqlite postgresql mariadb
# Dead letters.
also dlq list
silent queue add orders --partitions 1
for i in 1 2 3 4 5 6 7 8; do silent enqueue orders --key "k$i" --type t --header h=1 "payload $i"; done
silent relay --queue orders --to 'exec:echo no good >&2; exit 65' --drain
also dlq list
weir dlq list --limit 2
weir dlq list --limit 2 --json
weir dlq list --quiet
weir dlq list --queue orders --subscription default --status pending --key k1
weir dlq list --status nonsense
weir dlq list --queue nothing
silent dlq list --quiet
mapfile -t ids < <(words | tac)
also dlq show "${ids[0]}"
weir dlq show "${ids[0]}" --quiet
weir dlq show 999999
weir dlq show x
weir dlq claim --limit 1 --for 1h
weir dlq claim --limit 1 --for 1h --json
token=$(out '.token')
claimed=$(out '.dead_letters[0].id')
weir dlq claim --limit 1 --for 1h --quiet
weir dlq reject "$claimed" --token "$token" --reason 'still no good' --json
weir dlq claim --limit 5 --for 1h --json
token=$(out '.token')
mapfile -t ids < <(out '.dead_letters[].id')
weir dlq resolve "${ids[0]}" --token "$token"
weir dlq resolve "${ids[0]}" --token "$token" --json
weir dlq resolve "${ids[1]}" --token 999999
weir dlq resolve "${ids[1]}" --token 999999 --json
weir dlq resolve "${ids[1]}"
weir dlq reject "${ids[1]}" --token "$token" --reason again
weir dlq reject "${ids[2]}" --token "$token"
weir dlq requeue "${ids[2]}" --token "$token"
weir dlq requeue "${ids[3]}" --token "$token" --json
weir dlq discard "${ids[4]}" --token "$token"
weir dlq requeue "${ids[1]}"
weir dlq requeue 999999
weir dlq discard 999999 --json
weir dlq discard
weir dlq requeue --all
also dlq discard --all --queue nothing --yes
weir dlq discard --all --yes --json
weir dlq requeue --all --yes
also dlq list --status any
also dlq cleanup --dry-run
weir dlq cleanup
weir dlq cleanup --yes
weir dlq cleanup --yes --json
also status orders
