# shellcheck shell=bash
# on: sqlite postgresql mariadb
# Tokens of clients, and what operators have done.
silent queue add orders --partitions 2
silent queue pause orders
weir queue pause nothing
weir token create --name ci --scope producer,worker --queue 'orders.*' --lane fast
weir token create --name board --scope read --expires 90d --json
also token list
weir token list --quiet
weir token rotate ci --overlap 1h
weir token rotate ci --overlap 0 --json
weir token rotate nothing
also token revoke ci
weir token revoke nothing
weir token create --scope read
weir token create --name x
weir token create --name x --scope everything
weir token create --name x --scope read --queue ,
also token list
also audit list
weir audit list --action 'queue.*' --quiet
weir audit list --action token.revoke --limit 1
weir audit list --who nobody-else
weir audit list --limit 0
