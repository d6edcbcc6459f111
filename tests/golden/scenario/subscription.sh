# shellcheck shell=bash
# on: sqlite postgresql mariadb
# Readers of a queue.
silent queue add orders --partitions 2 --retain 1d
also subscription list
silent enqueue orders --partition 0 one
silent enqueue orders --partition 0 two
silent enqueue orders --partition 1 three
silent relay --queue orders --to file:out --drain
silent relay --queue orders --to file:out --drain --as other
silent enqueue orders --partition 0 four
also subscription list
weir subscription list orders --quiet
weir subscription list nothing
also subscription pause orders other
also subscription list orders
also status orders
also subscription resume orders other
weir subscription resume orders other --quiet
weir subscription pause orders nothing
weir subscription pause nothing other --json
weir subscription pause orders
also subscription seek orders other --to beginning --dry-run
also subscription seek orders other --to beginning
weir subscription seek orders other --to now
weir subscription seek orders other --to now --json
weir subscription seek orders other --to 2 --partition 0
weir subscription seek orders other --to 2
weir subscription seek orders other --to 2 --partition 9
weir subscription seek orders other --to 99 --partition 0
weir subscription seek orders other --to never
weir subscription seek orders other --to 2001-01-01
weir subscription seek orders other
weir subscription seek orders nothing --to now
also subscription remove orders other --dry-run
weir subscription remove orders other --json
weir subscription remove orders other
silent relay --queue orders --to 'exec:exit 65' --drain --as sour
also subscription remove orders sour
weir subscription remove orders sour --force
weir subscription remove orders sour --force --dry-run --json
weir subscription remove orders sour --force --yes
