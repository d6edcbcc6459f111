# shellcheck shell=bash
# on: sqlite postgresql
# Executions that wait for an answer.
silent flow submit --lane l --kind k
silent flow claim --lane l --quiet --lease 1h
claim=$(words)
id=${claim%%/*}
weir flow waitpoint "$claim" early --expires 1h
weir flow waitpoint "$claim" early --expires 1h --json
weir flow waitpoint "$claim" 'a b'
weir flow waitpoint "$claim" quiet --quiet
weir flow suspend "$claim"
weir flow suspend "$claim" --until ok
weir flow suspend "$claim" --until 'all(ok@legal, 2 of sources vote@(ann, bob))' --reason approval --timeout 2h --on-timeout escalate
weir flow suspend "$claim" --until 'all(ok@legal, 2 of sources vote@(ann, bob))' --reason approval --timeout 2h --on-timeout escalate --json
legal=$(out '.waitpoints[] | select(.key == "legal") | .token')
ann=$(out '.waitpoints[] | select(.key == "ann") | .token')
bob=$(out '.waitpoints[] | select(.key == "bob") | .token')
also flow get "$id"
also flow waitpoints "$id"
weir flow waitpoints "$id" --quiet
also flow signals "$id"
weir flow signal "$id" ann --name vote --token "$ann" --source anna --key first
weir flow signal "$id" ann --name vote --token "$ann" --source anna --key first --json
weir flow signal "$id" ann --name vote --token "$bob"
weir flow signal "$id" ann --name vote
weir flow signal "$id" nothing --name vote --token "$ann"
weir flow signal "$id" bob --name vote --token "$bob" --source bert --payload '{"yes": true}' --json
also flow get "$id"
weir flow signal "$id" legal --name ok --token "$legal"
also flow signals "$id"
weir flow signals "$id" --quiet
also flow waitpoints "$id"
weir flow signal "$id" legal --name ok --token "$legal" --json

note 'operators'
for lane in m n; do
    silent flow submit --lane $lane --kind k --quiet
    id=$(words)
    silent flow claim --lane $lane --quiet --lease 1h
    silent flow suspend "$(words)" --until ok@a --quiet
done
also flow approve "$id" a --name ok
weir flow approve "$id" b --name ok
weir flow approve "$id"
silent flow list --lane m --quiet
also flow resume "$(words)"
weir flow resume '{fp:1}:00000000-0000-0000-0000-000000000000'
weir flow resume

note 'the key'
weir flow key rotate k2
weir flow key rotate k3 --grace 0 --json
weir flow key rotate k2
weir flow key rotate 'k 1'
weir flow key rotate
