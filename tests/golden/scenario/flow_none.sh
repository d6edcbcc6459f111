# shellcheck shell=bash
# on: mariadb
# The execution engine is not there.
weir submit --lane l --kind k
weir submit --lane l --kind k --json
weir execution list
weir flow list
weir budget list
weir work --lane l --exec true --drain
