# shellcheck shell=bash
# on: sqlite postgresql
# Budgets.
also budget list
weir budget create acme --hard cents=100 --soft cents=80 --soft calls=5 --period 1d --scope-type tenant --scope acme
weir budget create acme --hard cents=100 --soft cents=80 --soft calls=5 --period 1d --scope-type tenant --scope acme --json
weir budget create acme --hard cents=1
weir budget create plain --hard tokens=7 --json
weir budget create plain
weir budget create plain --hard tokens=-1
also budget show acme
also budget show plain
weir budget show nothing
also budget change plain --hard tokens=9
weir budget change plain
weir budget change nothing --hard x=1
silent submit --lane l --kind k --budget acme --quiet
id=$(words)
weir budget report acme cents=85 calls=1 --for "$id" --key one
weir budget report acme cents=85 calls=1 --for "$id" --key one --json
weir budget report acme cents=10 --json
weir budget report acme cents=10
weir budget report acme cents=10 --json
weir budget report acme nonsense=1
weir budget report nothing cents=1
also budget show acme
also budget release acme "$id"
weir budget report acme cents=90 --quiet
silent execution claim --lane l --quiet
also execution get "$id"
also execution list
also budget list
weir budget list --quiet
weir budget list --limit 1
also status
also budget reset acme
weir budget reset nothing
also budget show acme
