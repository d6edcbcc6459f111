# shellcheck shell=bash
# on: sqlite postgresql mariadb
# Queues.
weir queue add orders --partitions 2
weir queue add bills --partitions 4 --unread drop --backlog-max 5000 --attempts-max 5 --dead-letter-retention 7d --retain 2d --json
weir queue add orders --partitions 2
weir queue add orders --partitions 4
weir queue add orders --partitions 3
weir queue add odd
weir queue add 'no good' --partitions 1
weir queue add --partitions 1
weir queue set orders --backlog-max 100 --attempts-max 3
weir queue set orders --backlog-max 100 --json
weir queue set orders --retain 1h --unread drop --json
weir queue set orders
weir queue set nothing --attempts-max 1
weir queue set orders --attempts-max -1
weir queue set orders --dead-letter-retention never
weir queue set orders --unread maybe
weir queue set orders --backlog-max 0 --attempts-max 0 --retain 0 --unread keep
also queue pause orders
also queue list
weir queue list --quiet
also queue resume orders
weir queue resume orders --quiet
weir queue pause nothing
weir queue resume nothing --json
weir enqueue orders --key a one
also queue list
also queue remove orders
also queue remove orders --dry-run
weir queue remove orders --force
also queue remove orders --force --dry-run
weir queue remove orders --force --yes
weir queue remove bills --json
weir queue remove bills
weir queue list
weir queue list extra
