# shellcheck shell=bash
# on: sqlite postgresql mariadb
# The doctor.
also doctor
weir doctor --quiet
silent queue add orders --partitions 2
silent enqueue orders --partition 0 one
also doctor
weir doctor --prefix other
weir doctor --prefix other --json
weir doctor extra
[ "$engine" != sqlite ] || also doctor --db sqlite:nowhere.db
