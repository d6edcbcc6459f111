# shellcheck shell=bash
# on: mariadb
# The execution engine is not there.
weir flow submit --lane l --kind k
weir flow submit --lane l --kind k --json
weir flow list
weir flow graphs
weir flow budget list
weir flow work --lane l --exec true --drain
