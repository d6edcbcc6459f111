# shellcheck shell=bash
# on: sqlite postgresql
# Executions that wait for each other.
also flow list
weir flow create --kind order --namespace shop
flow=$(words)
weir flow create --kind order --json
weir flow create
weir flow create --kind order --id x
weir flow show "$flow"
weir flow show "$flow" --json
members='{"name": "a", "lane": "a", "kind": "k"}
{"name": "b", "lane": "b", "kind": "k"}
{"name": "c", "lane": "c", "kind": "k"}
{"name": "d", "lane": "d", "kind": "k"}
{"from": "a", "to": "b"}
{"from": "a", "to": "c"}
{"from": "b", "to": "d"}
{"from": "c", "to": "d"}'
feed "${members//$'\n'/\\n}\n" flow add "$flow" --from -
mapfile -t ids < <(words | cut -d " " -f 1)
weir flow add "$flow" --lane e --kind k --name e --json
last=$(out '.members[0].id')
also flow edge "$flow" "${ids[3]}" "$last"
weir flow edge "$flow" "$last" "${ids[0]}"
weir flow edge "$flow" "$last" "$last"
weir flow edge "$flow"
feed '{"name": "x"}\n' flow add "$flow" --from -
feed 'x\n' flow add "$flow" --from -
weir flow add "$flow"
weir flow add 00000000-0000-0000-0000-000000000000 --lane l --kind k
also flow show "$flow"
weir flow show "$flow" --ids
weir flow show "${ids[0]}" --quiet
silent execution claim --lane a --quiet --lease 1h
silent execution complete "$(words)" --result passed
also flow show "$flow"
also execution get "${ids[3]}"
also flow list
weir flow list --limit 1
weir flow list --quiet --namespace shop
weir flow show 00000000-0000-0000-0000-000000000000
weir flow cancel "$flow" --reason enough
weir flow cancel "$flow" --json
also flow show "$flow"
