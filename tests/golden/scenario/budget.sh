# shellcheck shell=bash
# on: sqlite postgresql
# Budgets.
also flow budget list
weir flow budget create acme --hard cents=100 --soft cents=80 --soft calls=5 --period 1d --scope-type tenant --scope acme
weir flow budget create acme --hard cents=100 --soft cents=80 --soft calls=5 --period 1d --scope-type tenant --scope acme --json
weir flow budget create acme --hard cents=1
weir flow budget create plain --hard tokens=7 --json
weir flow budget create plain
weir flow budget create plain --hard tokens=-1
also flow budget show acme
also flow budget show plain
weir flow budget show nothing
also flow budget change plain --hard tokens=9
weir flow budget change plain
weir flow budget change nothing --hard x=1
silent flow submit --lane l --kind k --budget acme --quiet
id=$(words)
weir flow budget report acme cents=85 calls=1 --for "$id" --key one
weir flow budget report acme cents=85 calls=1 --for "$id" --key one --json
weir flow budget report acme cents=10 --json
weir flow budget report acme cents=10
weir flow budget report acme cents=10 --json
weir flow budget report acme nonsense=1
weir flow budget report nothing cents=1
also flow budget show acme
also flow budget release acme "$id"
weir flow budget report acme cents=90 --quiet
silent flow claim --lane l --quiet
also flow get "$id"
also flow list
also flow budget list
weir flow budget list --quiet
weir flow budget list --limit 1
also status
also flow budget reset acme
weir flow budget reset nothing
also flow budget show acme
