# shellcheck shell=bash
# on: sqlite
# What measures: the names and types of its JSON.
keys bench --messages 20 --batch 10
weir bench --messages 0
weir bench --nonsense
keys demo --seconds 1
keys demo --flow --seconds 1
weir demo --seconds 0
weir demo --flow --rate 51
