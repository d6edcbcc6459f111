# shellcheck shell=bash
# on: sqlite postgresql
# Executions that wait for an answer.
silent submit --lane l --kind k
silent execution claim --lane l --quiet --lease 1h
claim=$(words)
id=${claim%%/*}
weir execution waitpoint "$claim" early --expires 1h
weir execution waitpoint "$claim" early --expires 1h --json
weir execution waitpoint "$claim" 'a b'
weir execution waitpoint "$claim" quiet --quiet
weir execution suspend "$claim"
weir execution suspend "$claim" --until ok
weir execution suspend "$claim" --until 'all(ok@legal, 2 of sources vote@(ann, bob))' --reason approval --timeout 2h --on-timeout escalate
weir execution suspend "$claim" --until 'all(ok@legal, 2 of sources vote@(ann, bob))' --reason approval --timeout 2h --on-timeout escalate --json
legal=$(out '.waitpoints[] | select(.key == "legal") | .token')
ann=$(out '.waitpoints[] | select(.key == "ann") | .token')
bob=$(out '.waitpoints[] | select(.key == "bob") | .token')
also execution get "$id"
also execution waitpoints "$id"
weir execution waitpoints "$id" --quiet
also execution signals "$id"
weir execution signal "$id" ann --name vote --token "$ann" --source anna --key first
weir execution signal "$id" ann --name vote --token "$ann" --source anna --key first --json
weir execution signal "$id" ann --name vote --token "$bob"
weir execution signal "$id" ann --name vote
weir execution signal "$id" nothing --name vote --token "$ann"
weir execution signal "$id" bob --name vote --token "$bob" --source bert --payload '{"yes": true}' --json
also execution get "$id"
weir execution signal "$id" legal --name ok --token "$legal"
also execution signals "$id"
weir execution signals "$id" --quiet
also execution waitpoints "$id"
weir execution signal "$id" legal --name ok --token "$legal" --json

note 'operators'
for lane in m n; do
    silent submit --lane $lane --kind k --quiet
    id=$(words)
    silent execution claim --lane $lane --quiet --lease 1h
    silent execution suspend "$(words)" --until ok@a --quiet
done
also execution approve "$id" a --name ok
weir execution approve "$id" b --name ok
weir execution approve "$id"
silent execution list --lane m --quiet
also execution resume "$(words)"
weir execution resume '1-00000000-0000-0000-0000-000000000000'
weir execution resume

note 'the key'
weir key rotate k2
weir key rotate k3 --grace 0 --json
weir key rotate k2
weir key rotate 'k 1'
weir key rotate
