# shellcheck shell=bash
# on: sqlite postgresql
# Executions.
also execution list
weir submit --lane l --kind k --id '7-01234567-89ab-cdef-0123-456789abcdef' --priority 7 --namespace shop --deadline 2h --tag tenant.plan=gold --input '{"n": 1}'
one=$(words)
weir submit --lane l --kind k --json
two=$(out .id)
weir submit --lane l --kind k --key order-1 --quiet
weir submit --lane l --kind k --key order-1
weir submit --lane l --kind k --key order-1 --json
weir submit --lane l --kind other --key order-1
weir submit --lane later --kind k --delay 1h
later=$(words)
feed 'a\nb\n' submit --lane lines --kind k --lines
feed '{"no":"a"}\n{"no":"a"}\n' submit --lane lines --kind k --lines --key-field no --json
feed 'a\n\n' submit --lane lines --kind k --lines
weir submit --kind k
weir submit --lane l
weir submit --lane l --kind k --priority 9001
weir submit --lane l --kind k --id x
also execution get "$one"
weir execution get "$one" --quiet
also execution get "$later"
weir execution get '1-00000000-0000-0000-0000-000000000000'
weir execution get x
weir execution get
also execution list
weir execution list --quiet --lane l
weir execution list --limit 1
weir execution list --state delayed --json
weir execution list --state nonsense
weir execution list --tag tenant.plan=gold
weir execution list --tag a=1

note 'claims'
weir execution claim --lane l --count 2 --lease 1h
weir execution claim --lane l --lease 1h --json
weir execution claim --lane nothing
weir execution claim --lane nothing --json
weir execution claim
silent submit --lane c --kind k --input hello --retries 3 --backoff 1h --backoff-max 1h
silent execution claim --lane c --lease 1h --quiet
token=$(words)
id=${token%%/*}
also execution get "$id"
also execution renew "$token" --lease 1h
also execution progress "$token" --percent 40 --text 'half way'
weir execution progress "$token" --percent 101
weir execution get "$id"
weir execution renew x
also execution delay "$token" --for 1h
weir execution get "$id"
weir execution complete "$token"
silent submit --lane c --kind k
silent execution claim --lane c --quiet --lease 1h
token=$(words)
id=${token%%/*}
weir execution result "$id"
also execution complete "$token" --result '{"ok": true}'
also execution result "$id"
also execution get "$id"
weir execution fail "$token"
weir execution fail "$token" --json
silent submit --lane c --kind k --retries 3 --backoff 1h --backoff-max 1h
silent execution claim --lane c --quiet --lease 1h
token=$(words)
also execution fail "$token" --reason 'no good'
also execution get "${token%%/*}"
silent submit --lane c --kind k
silent execution claim --lane c --quiet --lease 1h
token=$(words)
weir execution fail "$token" --reason 'no good' --for-good --json
also execution replay "${token%%/*}"
also execution get "${token%%/*}"
silent submit --lane d --kind k
silent execution claim --lane d --quiet --lease 1h
token=$(words)
also execution abandon "$token" --reason 'nothing to do'
also execution get "${token%%/*}"

note 'operators'
silent submit --lane o --kind k --quiet
id=$(words)
also execution prioritise "$id" --priority 9
weir execution prioritise "$id"
silent execution claim --lane o --quiet --lease 1h
token=$(words)
also execution revoke "$id"
weir execution renew "$token"
weir execution renew "$token" --json
also execution cancel "$id" --reason 'not wanted'
weir execution get "$id"
weir execution replay "$id"
weir execution cancel "$two"
weir execution cancel '1-00000000-0000-0000-0000-000000000000'
weir execution cancel '1-00000000-0000-0000-0000-000000000000' --json
weir execution cancel

note 'processes'
silent submit --lane w --kind k --input hello
weir work --lane w --exec 'cat >/dev/null; echo done' --drain
silent submit --lane w --kind k --input hello
weir work --lane w --exec 'cat >/dev/null; echo done' --drain --json
silent submit --lane w --kind k
weir work --lane w --exec 'echo broken >&2; exit 65' --drain
weir execution list --lane w
weir work --lane w
weir work --exec true
weir supervise --every x
weir supervise extra
also status
also doctor
