# shellcheck shell=bash
# tap.sh - tests in shell, reported like those in C. To be sourced.
#
#   . "$(dirname "$0")/../kit/tap.sh"
#
#   it 'prints its version' prints 'weir 0.1.0' build/release/weir --version
#   it 'refuses an unknown flag' fails_naming '--nonsense' build/release/weir --nonsense
#   finish
#
# `root` is the repository, `scratch` a folder of this test alone, removed at the end.

set -euo pipefail
export LC_ALL=C

# shellcheck disable=SC2034 # used by the tests
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
scratch=$(mktemp -d "${TMPDIR:-/tmp}/weir-test.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

tap_count=0
tap_failed=0

# A case that fails in the middle ends what it has started in the background.
# shellcheck disable=SC2317 # called by the trap
end_failed() {
    local code=$?
    # shellcheck disable=SC2046 # several words
    [ "$code" -eq 0 ] || kill $(jobs -p) 2>/dev/null || true
}

# it CLAIM COMMAND [ARG...]: one test case; the command's success is its result. A
# function may be given as well: the first failing line in it is its result.
it() {
    local claim=$1 output result
    shift
    tap_count=$((tap_count + 1))
    # Not `if output=...`: bash switches -e off inside a condition.
    set +e
    output=$(trap end_failed EXIT; set -e; "$@" 2>&1)
    result=$?
    set -e
    if [ "$result" -eq 0 ]; then
        printf 'ok %d - %s\n' "$tap_count" "$claim"
    else
        tap_failed=$((tap_failed + 1))
        printf '%s\n' "$output" | sed 's/^/# /'
        printf 'not ok %d - %s\n' "$tap_count" "$claim"
    fi
}

# prints TEXT COMMAND [ARG...]: it succeeds and prints exactly this.
prints() {
    local want=$1 got
    shift
    got=$("$@") || { echo "failed: $*"; return 1; }
    [ "$got" = "$want" ] || { printf 'got:  %s\nwant: %s\n' "$got" "$want"; return 1; }
}

# fails_naming TEXT COMMAND [ARG...]: it fails, and says TEXT on the way.
fails_naming() {
    local text=$1 output
    shift
    if output=$("$@" 2>&1); then
        printf 'succeeded, but should not: %s\n%s\n' "$*" "$output"
        return 1
    fi
    grep -qF -- "$text" <<<"$output" || {
        printf 'failed without naming "%s":\n%s\n' "$text" "$output"
        return 1
    }
}

# finish: the plan, and the exit code of the program.
finish() {
    echo "1..$tap_count"
    [ "$tap_failed" -eq 0 ]
}
