#!/usr/bin/env bash
# `weir submit` and `weir execution ...`: executions as those see them who submit them, work on them
# by hand, and look after them. Workers that run are in test_flow_work.sh.
. "$(dirname "$0")/../kit/tap.sh"
. "$(dirname "$0")/../kit/server.sh"
. "$(dirname "$0")/../kit/cli.sh"

# submit LANE [OPTION...]: prints the id.
submit() {
    local lane=$1
    shift
    "$weir" submit --lane "$lane" --kind job --quiet "$@"
}

# claim LANE [OPTION...]: prints the token.
claim() {
    local lane=$1
    shift
    "$weir" execution claim --lane "$lane" --quiet "$@"
}

# state ID: in one word.
state() {
    "$weir" execution get "$1" --quiet
}

# refuses_claim TEXT COMMAND...: exit code 1, and TEXT on standard error.
refuses_claim() {
    local text=$1
    shift
    ends 1 execution "$@"
    grep -qF -- "$text" "$scratch/err" || { cat "$scratch/err"; return 1; }
}

# ---- submit ----------------------------------------------------------------------------------

prints_the_id() {
    ends 0 submit --lane printed --kind job
    grep -qE '^[0-9]+-[0-9a-f]{8}-[0-9a-f-]{27}$' "$scratch/out"
    [ ! -s "$scratch/err" ]
    [ "$(state "$(cat "$scratch/out")")" = waiting ]
    ends 0 submit --lane printed --kind job --json
    json '(.id | test("^[0-9]{1,5}-[0-9a-f]{8}-")) and .duplicate == false'
}

# Somebody copies the file of a database that nobody has open.
leaves_a_file_to_copy() {
    local id
    id=$(submit copied)
    [ ! -e "$scratch/main.db-wal" ] || { ls -l "$scratch"; return 1; }
    cp "$scratch/main.db" "$scratch/copy.db"
    [ "$(WEIR_DB=sqlite:$scratch/copy.db state "$id")" = waiting ]
}

keeps_what_was_said() {
    local id
    id=$(submit said --priority 7 --namespace shop --delay 1h --deadline 2h)
    ends 0 execution get "$id" --json
    json '.lane == "said" and .kind == "job" and .priority == 7 and .namespace == "shop" and
        .state == "delayed" and .blocked_by == "waiting_for_delay" and
        (.deadline_at | test("Z$")) and (.due_at < .deadline_at) and .attempts == 0'
}

takes_input() {
    printf 'a\0b' >"$scratch/input"
    submit inputs --input '{"to": "anna"}' >/dev/null
    submit inputs --input "@$scratch/input" >/dev/null
    submit inputs --input - <"$scratch/input" >/dev/null
    submit inputs >/dev/null
    ends 0 execution claim --lane inputs --count 10 --json
    json '[.claims[] | .input // .input_base64] == ["{\"to\": \"anna\"}", "a\u0000b", "a\u0000b", ""]'
}

is_one_for_one_key() {
    local id
    id=$(submit keyed --key order-1)
    ends 0 submit --lane keyed --kind job --key order-1
    [ "$(cat "$scratch/out")" = "$id" ]
    grep -qF 'it was there already' "$scratch/err"
    refuses 1 'used before for something else' submit --lane keyed --kind other --key order-1
    [ "$("$weir" execution list --lane keyed --quiet | wc -l)" -eq 1 ]
}

takes_an_id() {
    local id='7-01234567-89ab-cdef-0123-456789abcdef'
    [ "$(submit given --id "$id")" = "$id" ]
}

takes_an_id_of_the_old_form() {
    local uuid=01234567-89ab-cdef-0123-456789abcde0 token
    [ "$(submit older --id "{fp:7}:$uuid")" = "7-$uuid" ]
    [ "$("$weir" execution list --lane older --quiet)" = "7-$uuid" ]
    [ "$(state "{fp:7}:$uuid")" = waiting ]
    token=$(claim older)
    ends 0 execution complete "{fp:7}:$uuid/${token#*/}"
    [ "$(state "7-$uuid")" = completed ]
}

submits_lines() {
    seq 1 2500 | ends 0 submit --lane lines --kind n --lines
    [ "$(sort -u "$scratch/out" | wc -l)" -eq 2500 ]
    grep -qF '2500 executions in ' "$scratch/err"
    ends 0 execution claim --lane lines --count 2 --json
    json '[.claims[].input] == ["1", "2"]'
}

takes_keys_from_lines() {
    local lines='{"no": "b1"}
{"no": "b2"}
{"no": "b1"}'
    ends 0 submit --lane bills --kind bill --lines --key-field no --json <<<"$lines"
    json '.count == 3 and .duplicates == 1'
    [ "$("$weir" execution list --lane bills --quiet | wc -l)" -eq 2 ]
}

stops_at_a_bad_line() {
    ends 1 submit --lane torn --kind n --lines < <(printf 'a\nb\n\nc\n')
    grep -qF 'line 3 is empty; submitted before it: 2' "$scratch/err"
    [ "$(wc -l <"$scratch/out")" -eq 2 ]
    [ "$("$weir" execution list --lane torn --quiet | wc -l)" -eq 2 ]
}

refuses_bad_drafts() {
    local submit='submit --lane bad --kind job'
    refuses 2 'lane LANE is needed' submit --kind job
    refuses 2 'kind KIND is needed' submit --lane bad
    refuses 2 'at most 64' submit --lane "$(printf 'x%.0s' {1..65})" --kind job
    # shellcheck disable=SC2086 # words
    {
        refuses 2 'from 0 to 9000' $submit --priority 9001
        refuses 2 'must be KEY=VALUE' $submit --tag plan
        refuses 2 'Plan' $submit --tag Plan=gold
        refuses 2 'capability' $submit --capability 'a b'
        refuses 2 'must be a duration' $submit --delay soon
        refuses 2 'must be a partition and a uuid' $submit --id x
        refuses 2 '--lines makes many' $submit --lines --input x
        refuses 2 'for --lines' $submit --batch 3
        refuses 1 "cannot read '$scratch/none'" $submit --input "@$scratch/none"
        head -c 1048577 /dev/zero >"$scratch/large"
        refuses 1 'more than 1048576 bytes' $submit --input "@$scratch/large"
    }
    ends 0 execution list --lane bad --quiet
    [ ! -s "$scratch/out" ]
}

# ---- get, result, list -----------------------------------------------------------------------

# A worker that fails, and then why and until when it is not tried again.
says_why_it_waits() {
    local id
    id=$(submit why --retries 3 --backoff 1h --backoff-max 1h)
    ends 0 execution get "$id"
    says 'waiting: no worker has claimed it yet'
    claim why --instance host-7 --lease 1h >"$scratch/token"
    ends 0 execution get "$id"
    says 'active: held by host-7 for another ' 'lease until ' 'initial  running'
    "$weir" execution fail -q "$(cat "$scratch/token")" --reason 'the bank said no'
    ends 0 execution get "$id"
    says 'delayed: is tried again in 59 min ' 'before: the bank said no' 'retry    weir'
}

shows_attempts_in_json() {
    local id
    id=$(submit attempts --retries 1 --backoff 1h)
    # A backoff longer than the longest by default is the longest then.
    "$weir" execution fail -q "$(claim attempts --worker pool --instance one)" --reason broken
    ends 0 execution get "$id" --json
    json '.attempts == 1 and .retries == 1 and .failure == "broken" and (.attempts_log | length) == 1'
    json '.attempts_log[0] | .number == 0 and .type == "initial" and .outcome == "retry" and
        .worker == "pool" and .instance == "one" and .failure == "broken" and .epoch == 1 and
        .ended_at >= .started_at'
}

# Nobody supervises here, so what is overdue stays so.
names_who_puts_it_right() {
    local id
    id=$(submit overdue)
    claim overdue --lease 1s >/dev/null
    late() {
        "$weir" execution get "$id" | grep -qE "ended [0-9.]+ s ago; does 'weir supervise' run\?"
    }
    until_true late
}

prints_the_result() {
    local id token
    id=$(submit results)
    refuses 1 'is waiting and has no result' execution result "$id"
    token=$(claim results)
    printf 'a\0b' | "$weir" execution complete -q "$token" --result -
    [ "$("$weir" execution result "$id" | od -An -c | tr -d ' ')" = 'a\0b' ]
    ends 0 execution result "$id" --json
    json '.result == "a\u0000b"'
    refuses 1 "'weir execution list'" execution result '1-00000000-0000-0000-0000-000000000000'
}

lists_what_filters_allow() {
    submit listed --tag shop.plan=gold --namespace n1 >/dev/null
    submit listed --delay 1h >/dev/null
    "$weir" submit --lane listed --kind other -q >/dev/null
    count() {
        ends 0 execution list --lane listed --json "${@:2}"
        json "(.executions | length) == $1 and .after == null"
    }
    count 3
    count 1 --kind other
    count 1 --state delayed
    count 3 --state delayed --state waiting
    count 0 --state failed
    count 1 --tag shop.plan=gold
    count 0 --tag shop.plan=free
    count 1 --namespace n1
    ends 0 execution list --lane listed --state failed
    says 'no executions'
    refuses 2 "did you mean 'delayed'?" execution list --state delay
}

lists_in_pages() {
    local mark first
    seq 1 5 | "$weir" submit --lane paged --kind n --lines -q >"$scratch/ids"
    first=$("$weir" execution list --lane paged --limit 3)
    grep -qE '^there are more: --after [0-9]+$' <<<"$first"
    mark=$(sed -n 's/^there are more: --after //p' <<<"$first")
    "$weir" execution list --lane paged --limit 3 --quiet >"$scratch/pages"
    "$weir" execution list --lane paged --limit 3 --after "$mark" --quiet >>"$scratch/pages"
    diff <(tac "$scratch/ids") "$scratch/pages"
}

# ---- workers by hand -------------------------------------------------------------------------

claims_as_plain_data() {
    local id
    id=$(submit plain --input hello --tag shop.plan=gold)
    ends 0 execution claim --lane plain --worker pool --instance one --lease 1h --json
    json '.claims | length == 1'
    json ".claims[0] | .id == \"$id\" and (.token | startswith(\"$id/\")) and .lane == \"plain\" and
        .kind == \"job\" and .attempt == 0 and .type == \"initial\" and .epoch == 1 and
        .input == \"hello\" and .tags == {\"shop.plan\": \"gold\"} and .deadline_at == null and
        (.lease_until | test(\"Z\$\"))"
    ends 0 execution get "$id" --json
    json '.state == "active" and .worker == "pool" and .instance == "one"'
}

says_nothing_to_claim() {
    ends 0 execution claim --lane nothing
    says 'nothing to claim'
    ends 0 execution claim --lane nothing --quiet
    [ ! -s "$scratch/out" ]
    ends 0 execution claim --lane nothing --json
    json '.claims == []'
}

writes_the_input_to_a_file() {
    submit files --input hello >/dev/null
    claim files --input-to "$scratch/in" >/dev/null
    [ "$(cat "$scratch/in")" = hello ]
    [ "$(stat -c %a "$scratch/in")" = 600 ]
    submit files >/dev/null
    refuses 1 'cannot write' execution claim --lane files --input-to "$scratch/none/in"
    ends 0 execution list --lane files --state waiting --json
    json '.executions | length == 1'
}

waits_for_work() {
    "$weir" execution claim --lane later --wait 1h --quiet >"$scratch/later" &
    local pid=$!
    submit later >/dev/null
    wait "$pid"
    [ -s "$scratch/later" ]
}

needs_capabilities() {
    submit able --capability gpu >/dev/null
    [ -z "$(claim able)" ]
    [ -n "$(claim able --capability gpu --capability other)" ]
}

completes() {
    local id token
    id=$(submit completed)
    token=$(claim completed)
    ends 0 execution complete "$token" --result done
    says "$id completed"
    ends 0 execution complete "$token" --result done
    [ "$(state "$id")" = completed ]
    [ "$("$weir" execution result "$id")" = 'done' ]
}

says_that_it_was_settled_before() {
    local token
    submit settled --retries 1 --backoff 0 >/dev/null
    token=$(claim settled)
    "$weir" execution fail -q "$token"
    claim settled >/dev/null
    ends 0 execution fail "$token"
    says 'was settled before'
}

fails_with_and_without_retries() {
    local id
    id=$(submit failing --retries 1 --backoff 0)
    ends 0 execution fail "$(claim failing)"
    says "$id failed; it is "
    id=$(submit failed --retries 9)
    ends 0 execution fail "$(claim failed)" --reason 'never' --for-good
    says "$id failed"
    [ "$(state "$id")" = failed ]
}

delays() {
    local id
    id=$(submit put_off)
    ends 0 execution delay "$(claim put_off)" --for 1h
    says "$id delayed"
    ends 0 execution get "$id"
    says 'delayed: goes on in 59 min '
    refuses 2 '--for D is needed' execution delay "$id/1/1"
}

abandons() {
    local id
    id=$(submit abandoned)
    ends 0 execution abandon "$(claim abandoned)" --reason 'nobody wants it'
    [ "$(state "$id")" = cancelled ]
}

renews_many() {
    local tokens
    seq 1 3 | "$weir" submit --lane renewed --kind n --lines -q >/dev/null
    tokens=$(claim renewed --count 3 --lease 5s)
    # shellcheck disable=SC2086 # words
    ends 0 execution renew $tokens --lease 1h --json
    json '[.claims[] | select(.answer == "ok" and .state == "active")] | length == 3'
    ends 0 execution list --lane renewed
    [ "$(grep -c 'for another 59 min' "$scratch/out")" -eq 3 ]
}

notes_progress() {
    local id
    id=$(submit progressing)
    ends 0 execution progress "$(claim progressing)" --percent 40 --text 'two of five'
    ends 0 execution get "$id"
    says 'progress      40 %, two of five'
}

# One who has lost the claim gets the truth from every call, and changes nothing.
shows_the_truth_to_who_lost() {
    local id token command
    id=$(submit lost)
    token=$(claim lost)
    "$weir" execution revoke -q "$id"
    claim lost --lease 1h >/dev/null
    for command in renew complete fail 'delay --for 1s' abandon 'progress --percent 1'; do
        # shellcheck disable=SC2086 # words
        refuses_claim "$id: the claim has been lost; it is active, held for another 59 min" \
            $command "$token"
    done
    ends 1 execution complete "$token" --json
    json '.claims[0] | .answer == "fenced" and .state == "active" and .epoch == 3'
    ends 0 execution get "$id" --json
    json '.state == "active" and .epoch == 3 and .progress == null'
}

# The reply of the first may have been lost, but it counts.
refuses_another_settlement() {
    local id token
    id=$(submit settled_once)
    token=$(claim settled_once)
    ends 0 execution complete "$token" --result one
    refuses_claim "$id: the claim was settled before, in another way; it is completed" fail "$token"
    refuses_claim "$id: the claim was settled before, in another way; it is completed" \
        complete "$token" --result two
    ends 1 execution fail "$token" --json
    json '.claims[0] | .answer == "settled_otherwise" and .state == "completed"'
    ends 0 execution complete "$token" --result one
    [ "$(state "$id")" = completed ]
}

settles_the_others() {
    local first second gone='1-00000000-0000-0000-0000-000000000000/999999/1'
    first=$(submit mixed)
    second=$(submit mixed)
    claim mixed --count 2 >"$scratch/tokens"
    "$weir" execution revoke -q "$first"
    ends 1 execution complete "$(sed -n 1p "$scratch/tokens")" "$(sed -n 2p "$scratch/tokens")" "$gone" --json
    json '[.claims[].answer] == ["fenced", "ok", "not_found"]'
    grep -qF 'there is no such execution' "$scratch/err"
    [ "$(state "$first")" = waiting ]
    [ "$(state "$second")" = completed ]
}

refuses_bad_tokens() {
    local id token
    id=$(submit tokens)
    for token in "$id" "$id/1" "$id/1/" "$id/x/1" "$id/1/1/1" 'x/1/1' '/1/1' "$id/0/1"; do
        refuses 2 'is no token of a claim' execution complete "$token"
    done
    refuses 2 "'$id/0/1' is no token of a claim" execution complete "$id/0/1"
    refuses 2 'a TOKEN of' execution complete
}

# It may be that of a waitpoint, which is a secret.
repeats_no_foreign_token() {
    refuses 2 'is no token of a claim' execution suspend k1:0123abcd --until operator
    ! grep -q 0123abcd "$scratch/err"
    refuses 2 'must be a partition and a uuid' execution get k1:0123abcd
    ! grep -q 0123abcd "$scratch/err"
    refuses 2 'is no token of a claim' execution suspend 1-k:0123abcd --until operator
    ! grep -q 0123abcd "$scratch/err"
}

# ---- operators -------------------------------------------------------------------------------

cancels() {
    local id token
    id=$(submit cancelled)
    token=$(claim cancelled)
    ends 0 execution cancel "$id" --reason 'not wanted'
    says "$id cancelled"
    ends 0 execution cancel "$id"
    ends 0 execution get "$id"
    says 'cancelled: not wanted'
    refuses_claim 'it is cancelled' complete "$token"
}

revokes() {
    local id
    id=$(submit revoked)
    claim revoked --instance one >/dev/null
    ends 0 execution revoke "$id" --instance other
    says 'nothing to revoke (different_worker_instance_id); it is active'
    ends 0 execution revoke "$id" --instance one --json
    json '.revoked == 1 and .unchanged == 0 and .refused == []'
    ends 0 execution revoke "$id"
    says 'nothing to revoke (no_active_lease); it is waiting'
    ends 0 execution get "$id" --json
    json '.state == "waiting" and .reclaims == 0 and .retries == 0'
}

prioritises() {
    local second
    submit urgent >/dev/null
    second=$(submit urgent)
    ends 0 execution prioritise "$second" --priority 9
    [ "$(claim urgent | cut -d / -f 1)" = "$second" ]
    refuses 2 'priority N is needed' execution prioritise "$second"
}

replays() {
    local id
    id=$(submit again --replays 1)
    refuses 1 'it is waiting and cannot be replayed' execution replay "$id"
    "$weir" execution complete -q "$(claim again)"
    ends 0 execution replay "$id"
    says "$id replayed"
    ends 0 execution claim --lane again --json
    json '.claims[0].type == "replay" and .claims[0].attempt == 1'
    "$weir" execution complete -q "$(jq -r '.claims[0].token' "$scratch/out")"
    refuses 1 'its limit is 1' execution replay "$id"
}

operates_on_the_others() {
    local id gone='1-00000000-0000-0000-0000-000000000000'
    id=$(submit others)
    ends 1 execution cancel "$gone" "$id" --json
    json ".cancelled == 1 and .refused[0].id == \"$gone\" and
        (.refused[0].why | test(\"no such execution\"))"
    [ "$(state "$id")" = cancelled ]
    refuses 2 'must be a partition and a uuid' execution cancel x
    refuses 2 'an ID is needed' execution cancel
}

# ---- databases -------------------------------------------------------------------------------

tells_what_operators_did() {
    local id relay="relay --queue execution.operator --as audit --from now --drain --quiet"
    # shellcheck disable=SC2086 # words
    {
        "$weir" $relay --to "file:$scratch/audit"
        id=$(submit audited)
        "$weir" execution prioritise -q "$id" --priority 5
        "$weir" $relay --to "file:$scratch/audit"
    }
    [ "$(jq -r .key "$scratch/audit")" = "$id" ]
    rm "$scratch/audit"
}

without_tables() {
    local command commands='execution list|execution get 1-00000000-0000-0000-0000-000000000000
submit --lane a --kind b|execution claim --lane a|supervise|work --lane a --exec true'
    while IFS= read -r command; do
        # shellcheck disable=SC2086 # words
        refuses 1 "$1" $command --db "$2"
    done < <(tr '|' '\n' <<<"$commands")
}

without_flow_tables() {
    local url=sqlite:$scratch/old.db
    "$weir" migrate --quiet --db "$url"
    sqlite3 "$scratch/old.db" 'DELETE FROM weir_schema WHERE number > 1000' 2>"$scratch/err" ||
        { sqlite3 "$scratch/old.db" .schema | grep -A6 weir_schema; cat "$scratch/err"; return 1; }
    without_tables "has no tables for executions with prefix 'weir'; run 'weir migrate'" "$url"
}

on_mariadb() {
    local url
    url=$(mariadb_url flow)
    "$weir" migrate --quiet --db "$url"
    without_tables "executions need SQLite or PostgreSQL; on MariaDB 'weir migrate'" "$url"
}

fits_into_80_columns() {
    local command group
    for group in '' execution flow key; do
        # shellcheck disable=SC2086 # a word or none
        for command in $("$weir" $group --help | sed -n '/^commands:/,/^$/s/^  \([a-z]\+\).*/\1/p'); do
            # shellcheck disable=SC2086
            "$weir" $group "$command" --help >"$scratch/help"
            if grep -nE '.{81}' "$scratch/help"; then return 1; fi
        done
    done
}

for engine in ${WEIR_ENGINES:-sqlite postgresql}; do
    [ "$engine" != mariadb ] || continue
    use_engine "$engine"
    it "submits one and prints its id, on $engine" prints_the_id
    it "keeps what was said of it, on $engine" keeps_what_was_said
    it "takes input from a word, a file or a pipe, on $engine" takes_input
    it "is one execution for one key, on $engine" is_one_for_one_key
    it "takes an id, on $engine" takes_an_id
    it "takes an id of the old form, on $engine" takes_an_id_of_the_old_form
    it "submits lines, on $engine" submits_lines
    it "takes keys from lines, on $engine" takes_keys_from_lines
    it "stops at a line that is none, and says which, on $engine" stops_at_a_bad_line
    it "refuses what is wrong with a draft, and creates nothing, on $engine" refuses_bad_drafts
    it "says why it does not move, on $engine" says_why_it_waits
    it "shows attempts in JSON, on $engine" shows_attempts_in_json
    it "names who puts right what is overdue, on $engine" names_who_puts_it_right
    it "prints the result byte by byte, on $engine" prints_the_result
    it "lists what the filters allow, on $engine" lists_what_filters_allow
    it "lists in pages, on $engine" lists_in_pages
    it "claims as plain data, on $engine" claims_as_plain_data
    it "says that there is nothing to claim, on $engine" says_nothing_to_claim
    it "writes the input to a file, or claims nothing, on $engine" writes_the_input_to_a_file
    it "waits for work, on $engine" waits_for_work
    it "claims only what it is able to, on $engine" needs_capabilities
    it "completes, also twice, on $engine" completes
    it "says that a claim was settled before, on $engine" says_that_it_was_settled_before
    it "fails with a retry, and for good, on $engine" fails_with_and_without_retries
    it "delays, on $engine" delays
    it "abandons, on $engine" abandons
    it "renews many, on $engine" renews_many
    it "notes progress, on $engine" notes_progress
    it "shows the truth to one who has lost the claim, on $engine" shows_the_truth_to_who_lost
    it "refuses to settle a claim in two ways, on $engine" refuses_another_settlement
    it "settles the claims that are good, on $engine" settles_the_others
    it "refuses tokens that are none, on $engine" refuses_bad_tokens
    it "repeats no token that is none of a claim, on $engine" repeats_no_foreign_token
    it "cancels whoever holds it, on $engine" cancels
    it "revokes, or says why there is nothing to, on $engine" revokes
    it "lets one overtake, on $engine" prioritises
    it "replays up to the limit, on $engine" replays
    it "does the others when one is refused, on $engine" operates_on_the_others
    it "tells in a queue what operators did, on $engine" tells_what_operators_did
done
WEIR_DB=sqlite:$scratch/main.db
it 'leaves a file that holds everything, without a log' leaves_a_file_to_copy
it 'wants tables' without_tables "does not exist; run 'weir migrate'" "sqlite:$scratch/none.db"
it 'wants tables for executions, and names weir migrate' without_flow_tables
if [[ ${WEIR_ENGINES:-mariadb} == *mariadb* ]]; then
    it 'refuses MariaDB, and says where it works' on_mariadb
fi
it 'suggests a command' refuses 2 "did you mean 'claim'?" execution clami
it 'explains every command within 80 columns' fits_into_80_columns

finish
