# shellcheck shell=bash
# on: sqlite postgresql
# Executions.
also flow list
weir flow submit --lane l --kind k --id '{fp:7}:01234567-89ab-cdef-0123-456789abcdef' --priority 7 --namespace shop --deadline 2h --tag tenant.plan=gold --input '{"n": 1}'
one=$(words)
weir flow submit --lane l --kind k --json
two=$(out .id)
weir flow submit --lane l --kind k --key order-1 --quiet
weir flow submit --lane l --kind k --key order-1
weir flow submit --lane l --kind k --key order-1 --json
weir flow submit --lane l --kind other --key order-1
weir flow submit --lane later --kind k --delay 1h
later=$(words)
feed 'a\nb\n' flow submit --lane lines --kind k --lines
feed '{"no":"a"}\n{"no":"a"}\n' flow submit --lane lines --kind k --lines --key-field no --json
feed 'a\n\n' flow submit --lane lines --kind k --lines
weir flow submit --kind k
weir flow submit --lane l
weir flow submit --lane l --kind k --priority 9001
weir flow submit --lane l --kind k --id x
also flow get "$one"
weir flow get "$one" --quiet
also flow get "$later"
weir flow get '{fp:1}:00000000-0000-0000-0000-000000000000'
weir flow get x
weir flow get
also flow list
weir flow list --quiet --lane l
weir flow list --limit 1
weir flow list --state delayed --json
weir flow list --state nonsense
weir flow list --tag tenant.plan=gold
weir flow list --tag a=1

note 'claims'
weir flow claim --lane l --count 2 --lease 1h
weir flow claim --lane l --lease 1h --json
weir flow claim --lane nothing
weir flow claim --lane nothing --json
weir flow claim
silent flow submit --lane c --kind k --input hello --retries 3 --backoff 1h --backoff-max 1h
silent flow claim --lane c --lease 1h --quiet
token=$(words)
id=${token%%/*}
also flow get "$id"
also flow renew "$token" --lease 1h
also flow progress "$token" --percent 40 --text 'half way'
weir flow progress "$token" --percent 101
weir flow get "$id"
weir flow renew x
also flow delay "$token" --for 1h
weir flow get "$id"
weir flow complete "$token"
silent flow submit --lane c --kind k
silent flow claim --lane c --quiet --lease 1h
token=$(words)
id=${token%%/*}
weir flow result "$id"
also flow complete "$token" --result '{"ok": true}'
also flow result "$id"
also flow get "$id"
weir flow fail "$token"
weir flow fail "$token" --json
silent flow submit --lane c --kind k --retries 3 --backoff 1h --backoff-max 1h
silent flow claim --lane c --quiet --lease 1h
token=$(words)
also flow fail "$token" --reason 'no good'
also flow get "${token%%/*}"
silent flow submit --lane c --kind k
silent flow claim --lane c --quiet --lease 1h
token=$(words)
weir flow fail "$token" --reason 'no good' --for-good --json
also flow replay "${token%%/*}"
also flow get "${token%%/*}"
silent flow submit --lane d --kind k
silent flow claim --lane d --quiet --lease 1h
token=$(words)
also flow abandon "$token" --reason 'nothing to do'
also flow get "${token%%/*}"

note 'operators'
silent flow submit --lane o --kind k --quiet
id=$(words)
also flow prioritise "$id" --priority 9
weir flow prioritise "$id"
silent flow claim --lane o --quiet --lease 1h
token=$(words)
also flow revoke "$id"
weir flow renew "$token"
weir flow renew "$token" --json
also flow cancel "$id" --reason 'not wanted'
weir flow get "$id"
weir flow replay "$id"
weir flow cancel "$two"
weir flow cancel '{fp:1}:00000000-0000-0000-0000-000000000000'
weir flow cancel '{fp:1}:00000000-0000-0000-0000-000000000000' --json
weir flow cancel

note 'processes'
silent flow submit --lane w --kind k --input hello
weir flow work --lane w --exec 'cat >/dev/null; echo done' --drain
silent flow submit --lane w --kind k --input hello
weir flow work --lane w --exec 'cat >/dev/null; echo done' --drain --json
silent flow submit --lane w --kind k
weir flow work --lane w --exec 'echo broken >&2; exit 65' --drain
weir flow list --lane w
weir flow work --lane w
weir flow work --exec true
weir flow supervise --every x
weir flow supervise extra
also status
also doctor
