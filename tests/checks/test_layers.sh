#!/usr/bin/env bash
# Layers include only from those before them.
. "$(dirname "$0")/../kit/tap.sh"

layers=$root/script/check/layers
sample=$root/tests/checks/bad/layers

# passes_over TEXT COMMAND [ARG...]: it fails, and does not say TEXT.
passes_over() {
    local text=$1 output
    shift
    output=$("$@" 2>&1) && return 1
    ! grep -F -- "$text" <<<"$output"
}

it 'no folder includes from a later layer' "$layers" "$root"
it 'an include from a later layer is named' \
    fails_naming 'src/base/upward.c:1: "ward/ward.h"' "$layers" "$sample"
it 'an include without a layer is named' \
    fails_naming 'src/base/sideways.c:1: "list.h"' "$layers" "$sample"
it 'a private include in a public header is named' \
    fails_naming 'include/weir/leaky.h:1: <base/list.h>' "$layers" "$sample"
it 'a folder that is no layer is named' \
    fails_naming 'src/attic' "$layers" "$sample"
it 'an include from the folder of an engine is named' \
    fails_naming 'src/outbox/log/peeking.c:1: "outbox/postgres/cut.h"' "$layers" "$sample"
it 'an include from one engine to another is named' \
    fails_naming 'src/outbox/mariadb/crossing.c:1: "outbox/sqlite/log.h"' "$layers" "$sample"
it 'an include within an engine is not named' passes_over src/outbox/sqlite "$layers" "$sample"
it 'an exception that is not needed is named' \
    fails_naming 'src/db/url.c: does not include "db/postgres/conninfo.h"' "$layers" "$sample"
finish
