# shellcheck shell=bash
# on: sqlite
# The program as a whole: mistakes on the command line.
weir
weir --version
weir version
weir version 1
weir frobnicate
weir dmeo
weir ''
weir help dem
weir help migrate twice
weir --nonsense
weir --verison
weir queue
weir queue ad
weir flow submit
weir flow claim
weir execution
weir flow
weir budget
weir key
weir status --jsno
weir status -x
weir status --db
weir status --json=yes
weir status orders twice
weir status --db nonsense:x
weir status --db sqlite:nowhere.db
weir status --db sqlite:nowhere.db --json
weir status --prefix 1x
weir status --prefix other
weir queue list --db 'postgresql://weir@127.0.0.1:1/x?connect_timeout=1' --quiet
