#!/usr/bin/env bash
# `weir budget ...`: limits, what is reported, and executions that wait for a budget.
. "$(dirname "$0")/../kit/tap.sh"
. "$(dirname "$0")/../kit/server.sh"
. "$(dirname "$0")/../kit/cli.sh"

nobody='1-00000000-0000-0000-0000-000000000000'

# budget VERB NAME [OPTION...]: must work.
budget() {
    "$weir" budget "$1" -q "${@:2}"
}

# usage NAME: "cents 90/100/80, tokens 7/0/0": used, hard, soft.
usage() {
    "$weir" budget show "$1" --json |
        jq -r '[.usage[] | "\(.dimension) \(.used)/\(.hard)/\(.soft)"] | join(", ")'
}

is_used() {
    [ "$(usage "$1")" = "$2" ] || { usage "$1"; return 1; }
}

# ---- create, change --------------------------------------------------------------------------

makes_one() {
    ends 0 budget create made --hard cents=100 --soft cents=80 --soft calls=5 --period 1d \
        --scope-type tenant --scope acme
    says 'made created'
    ends 0 budget create made --hard cents=100 --soft cents=80 --soft calls=5 --period 24h \
        --scope-type tenant --scope acme --json
    json '.budget == "made" and .answer == "was there already"'
    refuses 1 'budget "made": it is there, and different' budget create made --hard cents=1
    is_used made 'calls 0/0/5, cents 0/100/80'
    ends 0 budget show made
    says 'budget        made' 'scope         tenant acme' 'period        1 d 0 h' 'next reset    ' \
        'waiting       0' 'breaches      hard: 0, soft: 0' 'cents         0   100    80'
    ends 0 budget show made --json
    json '.name == "made" and .scope_type == "tenant" and .scope == "acme" and
        .period_seconds == 86400 and .next_reset_at > .created_at and .resets == 0 and
        .waiting == 0 and .breached_at == null'
}

changes_what_is_named() {
    budget create changed --hard cents=100 --soft cents=80 --hard calls=9 --period 1h
    budget report changed cents=10
    ends 0 budget change changed --hard cents=200
    says 'changed changed'
    is_used changed 'calls 0/9/0, cents 10/200/80'
    budget change changed --soft tokens=5 --hard cents=0
    is_used changed 'calls 0/9/0, cents 10/0/80, tokens 0/0/5'
    ends 0 budget show changed --json
    json '.period_seconds == 3600'
    budget change changed --period 0
    ends 0 budget show changed
    says 'period        none: reset by hand'
    is_used changed 'calls 0/9/0, cents 10/0/80, tokens 0/0/5'
}

takes_the_last_period() {
    budget create twice --hard cents=1 --period 1d --period 0
    ends 0 budget show twice
    says 'period        none: reset by hand'
    budget change twice --period 0 --period 1h
    ends 0 budget show twice --json
    json '.period_seconds == 3600'
}

refuses_bad_limits() {
    local create='budget create bad'
    # shellcheck disable=SC2086 # words
    {
        refuses 2 '--hard or --soft is needed' $create
        refuses 2 "--hard is 'cents=-1', must be NAME=N, a whole number from 0" $create --hard cents=-1
        refuses 2 "--soft is 'cents=9223372036854775808'" $create --soft cents=9223372036854775808
        refuses 2 'must be NAME=N' $create --hard cents
        refuses 2 'must be NAME=N' $create --hard =7
        refuses 2 "--hard 'cents' is given twice" $create --hard cents=1 --hard cents=2
        refuses 2 'dimension must have 1 to 64 printable characters' $create \
            --hard "$(printf 'x%.0s' {1..65})=1"
        refuses 2 'must be a duration from 1 s' $create --hard cents=1 --period 10ms
        refuses 2 'more than 32 dimensions' $create $(seq -f '--hard d%g=1' 33)
        refuses 2 'scope must have at most 256 bytes' $create --hard cents=1 \
            --scope "$(printf 'x%.0s' {1..257})"
    }
    refuses 2 '1 to 256 printable characters' budget create $'\001' --hard cents=1
    refuses 2 '1 to 256 printable characters' budget create "$(printf 'x%.0s' {1..257})" --hard cents=1
    refuses 2 'no NAME given' budget create --hard cents=1
    refuses 2 '--hard, --soft or --period is needed' budget change bad
    refuses 1 'there is no budget "bad"' budget change bad --hard cents=1
    refuses 1 "'weir budget list' lists all budgets" budget show bad
    ends 0 budget list --quiet
    ! grep -qx bad "$scratch/out"
}

# ---- report ----------------------------------------------------------------------------------

counts_reports() {
    budget create counted --hard cents=100 --soft cents=80
    ends 0 budget report counted cents=50 tokens=7
    says 'counted: reported'
    ends 0 budget report counted cents=40
    says 'counted: reported; cents is at 90, above its soft limit of 80'
    ends 0 budget report counted cents=1 --json
    json '.answer == "over_soft" and .dimension == "cents" and .used == 91 and .limit == 80'
    refuses 1 'counted: refused, nothing was counted: cents is at 91, and its hard limit is 100' \
        budget report counted cents=10 tokens=1
    is_used counted 'cents 91/100/80, tokens 7/0/0'
    ends 1 budget report counted cents=10 --json
    json '.answer == "refused" and .used == 91 and .limit == 100'
    ends 0 budget show counted
    says 'breaches      hard: 2, soft: 2; the last of cents at '
}

counts_a_key_once() {
    budget create keyed --hard cents=10
    ends 0 budget report keyed cents=4 --key k
    ends 0 budget report keyed cents=4 --key k
    says 'keyed: reported before, and counted once'
    ends 0 budget report keyed cents=4 --key k --json
    json '.answer == "before"'
    refuses 1 'budget "keyed": ' budget report keyed cents=5 --key k
    grep -qF 'key was used before for another report' "$scratch/err"
    is_used keyed 'cents 4/10/0'
    # One that was refused is not remembered.
    refuses 1 'its hard limit is 10' budget report keyed cents=7 --key later
    budget report keyed cents=2 --key later
    is_used keyed 'cents 6/10/0'
}

refuses_bad_reports() {
    budget create strict --hard cents=10
    refuses 2 'DIMENSION=N is needed' budget report strict
    refuses 2 "an amount is 'cents=-1', must be NAME=N, a whole number from 0" budget report strict cents=-1
    refuses 2 'must be NAME=N' budget report strict cents=1.5
    refuses 2 'must be NAME=N' budget report strict 7
    # shellcheck disable=SC2046 # words
    refuses 2 'more than 32 amounts' budget report strict $(seq -f 'd%g=1' 33)
    refuses 2 'key has ' budget report strict cents=1 --key "$(printf 'x%.0s' {1..2000})"
    refuses 2 'key must be UTF-8' budget report strict cents=1 --key $'\377'
    refuses 2 'must be a partition and a uuid' budget report strict cents=1 --for x
    refuses 1 'there is no such execution' budget report strict cents=1 --for "$nobody"
    refuses 1 'there is no such budget' budget report nowhere cents=1
    is_used strict 'cents 0/10/0'
}

# ---- release, reset --------------------------------------------------------------------------

gives_back() {
    local id
    budget create given --hard cents=100
    id=$("$weir" submit --lane given --kind job --budget given)
    budget report given cents=30 --for "$id"
    budget report given cents=5
    ends 0 budget release given "$id"
    says 'given released'
    is_used given 'cents 5/100/0'
    ends 0 budget release given "$id"
    is_used given 'cents 5/100/0'
    budget report given cents=30 --for "$id"
    ends 0 budget reset given
    says 'given reset'
    is_used given 'cents 0/100/0'
    budget report given cents=8
    budget release given "$id"
    is_used given 'cents 8/100/0'
    refuses 1 'there is no such execution' budget release given "$nobody"
    refuses 1 'there is no such budget' budget release nowhere "$id"
    refuses 1 'there is no such budget' budget reset nowhere
    refuses 2 'no ID given' budget release given
    refuses 2 'unexpected argument' budget reset given twice
}

# ---- executions ------------------------------------------------------------------------------

holds_back_until_a_reset() {
    local id free pid
    budget create held --hard cents=100 --period 1h
    budget create plenty --hard cents=100
    id=$("$weir" submit --lane held --kind job --budget held --budget plenty)
    free=$("$weir" submit --lane held --kind job)
    budget report held cents=100
    [[ $("$weir" execution claim --lane held -q) = "$free"/* ]]
    [ -z "$("$weir" execution claim --lane held -q)" ]
    ends 0 execution get "$id"
    says 'rate_limited: waiting for budget ' 'budget        held: cents is at 100 of 100; is reset in 59 min' \
        'budget        plenty: not reached'
    ends 0 execution get "$id" --json
    json '.state == "rate_limited" and [.budgets[] | [.name, .usage[0].reached]] ==
        [["held", true], ["plenty", false]] and .budgets[0].waiting == 1'
    ends 0 budget list
    grep -qE '^held +cents +100 +100 +- +59 min [0-9]+ s +1 +0$' "$scratch/out"
    "$weir" supervise --quiet 2>"$scratch/supervise-err" &
    pid=$!
    budget reset held
    "$weir" execution claim --lane held --wait 1min -q >"$scratch/claim"
    kill "$pid"
    wait "$pid"
    [[ $(cat "$scratch/claim") = "$id"/* ]]
}

needs_budgets_that_are_there() {
    local lines='submit --lane none --kind job --lines --budget nowhere'
    refuses 1 "there is no budget \"nowhere\"; 'weir budget list' lists all" \
        submit --lane none --kind job --budget nowhere
    # shellcheck disable=SC2086 # words
    ends 1 $lines <<<one
    grep -qF 'there is no budget "nowhere"' "$scratch/err"
    refuses 2 'budget "a" is named twice' submit --lane none --kind job --budget a --budget a
    # shellcheck disable=SC2046 # words
    refuses 2 'more than 16 budgets' submit --lane none --kind job $(seq -f '--budget b%g' 17)
    [ -z "$("$weir" execution list --lane none -q)" ]
}

# ---- list ------------------------------------------------------------------------------------

lists_in_pages() {
    local name
    for name in page-a page-b page-c; do
        budget create "$name" --hard cents=1
    done
    ends 0 budget list --quiet --after page- --limit 2
    [ "$(cat "$scratch/out")" = "$(printf 'page-a\npage-b')" ]
    ends 0 budget list --json --after page-b --limit 1
    json '[.budgets[].name] == ["page-c"]'
    ends 0 budget list --after zzz
    says 'no budgets'
    refuses 2 'must be a whole number from 1 to 1000' budget list --limit 0
}

explains_itself() {
    local command
    refuses 2 "no command given, try 'weir budget create'" budget
    refuses 2 "unknown command 'crate', did you mean 'create'? 'weir budget --help' lists all" \
        budget crate
    for command in $("$weir" budget --help | sed -n '/^commands:/,/^$/s/^  \([a-z]\+\).*/\1/p'); do
        ends 0 help budget "$command"
        says "usage: weir budget $command "
        if grep -nE '.{81}' "$scratch/out"; then return 1; fi
    done
}

for engine in ${WEIR_ENGINES:-sqlite postgresql}; do
    [ "$engine" != mariadb ] || continue
    use_engine "$engine"
    it "makes a budget once, on $engine" makes_one
    it "changes what is named and nothing else, on $engine" changes_what_is_named
    it "takes the last of several periods, on $engine" takes_the_last_period
    it "refuses what is wrong with limits, and makes nothing, on $engine" refuses_bad_limits
    it "counts reports, and tells of soft and hard limits, on $engine" counts_reports
    it "counts a key once, and refuses it for other amounts, on $engine" counts_a_key_once
    it "refuses what is wrong with a report, and counts nothing, on $engine" refuses_bad_reports
    it "gives back what was used since the last reset, on $engine" gives_back
    it "holds executions back until a reset, and says why, on $engine" holds_back_until_a_reset
    it "needs budgets that are there, on $engine" needs_budgets_that_are_there
    it "lists budgets in pages, on $engine" lists_in_pages
done
it 'explains its commands' explains_itself

finish
