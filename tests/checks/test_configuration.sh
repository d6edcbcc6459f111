#!/usr/bin/env bash
# The page of the configuration is made of the table of keys.
. "$(dirname "$0")/../kit/tap.sh"

page_is_generated() {
    "$root/build/release/weir" help configuration | diff "$root/docs/configuration.md" - >&2
}

it 'docs/configuration.md is what weir help configuration prints' page_is_generated
finish
