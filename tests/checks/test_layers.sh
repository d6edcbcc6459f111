#!/usr/bin/env bash
# Layers include only from those before them.
. "$(dirname "$0")/../lib/tap.sh"

layers=$root/script/check/layers
sample=$root/tests/checks/bad/layers

it 'no folder includes from a later layer' "$layers" "$root"
it 'an include from a later layer is named' \
    fails_naming 'src/base/upward.c:1: "ward/ward.h"' "$layers" "$sample"
it 'an include without a layer is named' \
    fails_naming 'src/base/sideways.c:1: "list.h"' "$layers" "$sample"
it 'a private include in a public header is named' \
    fails_naming 'include/weir/leaky.h:1: <base/list.h>' "$layers" "$sample"
it 'a folder that is no layer is named' \
    fails_naming 'src/attic' "$layers" "$sample"
finish
