#!/usr/bin/env bash
# `weir execution suspend` and what answers it: waitpoints, tokens, signals, operators, the key.
. "$(dirname "$0")/../kit/tap.sh"
. "$(dirname "$0")/../kit/server.sh"
. "$(dirname "$0")/../kit/cli.sh"

nobody='1-00000000-0000-0000-0000-000000000000'
no_token=k1:$(printf '0%.0s' {1..64})

# suspended LANE UNTIL [OPTION...]: submits, claims and suspends. Then id has the execution, and
# token_of KEY and id_of KEY what was printed for a waitpoint.
suspended() {
    local lane=$1 until=$2
    shift 2
    id=$("$weir" submit --lane "$lane" --kind job -q)
    claim=$("$weir" execution claim --lane "$lane" -q)
    "$weir" execution suspend "$claim" --until "$until" -q "$@" >"$scratch/waitpoints"
}

token_of() { awk -v key="$1" '$1 == key { print $3 }' "$scratch/waitpoints"; }
id_of() { awk -v key="$1" '$1 == key { print $2 }' "$scratch/waitpoints"; }
state() { "$weir" execution get "$1" -q; }

# signal KEY NAME [OPTION...]: prints the effect.
signal() {
    local key=$1 name=$2
    shift 2
    "$weir" execution signal "$id" "$(id_of "$key")" --token "$(token_of "$key")" --name "$name" -q "$@"
}

# execute SQL: in the database of the test; {p} is the prefix.
execute() {
    if [[ $WEIR_DB = sqlite:* ]]; then
        sqlite3 "${WEIR_DB#sqlite:}" "${1//\{p\}/weir}"
    else
        sql "$WEIR_DB" "${1//\{p\}/weir}"
    fi
}

# ---- suspend ---------------------------------------------------------------------------------

parks_it() {
    id=$("$weir" submit --lane parked --kind job)
    ends 0 execution suspend "$("$weir" execution claim --lane parked -q)" --until 'all(ok@a, ok@b)'
    says "$id suspended" 'waitpoint  id ' 'a          '
    grep -qE '^b +[0-9a-f-]{36}  k1:[0-9a-f]{64}$' "$scratch/out"
    [ "$(state "$id")" = suspended ]
    [ -z "$("$weir" execution claim --lane parked -q)" ]
}

prints_tokens_for_programs() {
    suspended programs ok@a --waitpoint spare
    [ "$(cut -d ' ' -f 1 "$scratch/waitpoints")" = "$(printf 'spare\na')" ]
    ends 0 execution suspend "$claim" --until ok@a --waitpoint spare --json
    json ".id == \"$id\" and .state == \"suspended\" and .satisfied == false and
        (.waitpoints | length) == 2 and .waitpoints[1].key == \"a\" and
        .waitpoints[1].token == \"$(token_of a)\" and .waitpoints[1].id == \"$(id_of a)\""
}

says_what_is_missing() {
    suspended missing 'all(ok@legal, 2 of sources vote@(ann, bob))' --reason approval \
        --timeout 2h --on-timeout escalate
    [ "$(signal ann vote --source anna)" = kept ]
    [ "$(signal bob vote --source anna)" = kept ]
    ends 0 execution get "$id"
    says 'suspended: waiting for approval' 'waits for     ok@legal; 1 of 2 sources, vote@(ann, bob)' \
        'until         all(ok@legal, 2 of sources vote@(ann, bob))' \
        'Z, then an operator is to look at it'
    ends 0 execution get "$id" --json
    json '.suspension | .missing == "ok@legal; 1 of 2 sources, vote@(ann, bob)" and
        .reason == "approval" and .on_timeout == "escalate" and (.escalated | not) and
        .timeout_at > .since and [.parts[] | [.found, .wanted]] == [[0, 1], [1, 2]]'
    ends 0 execution list --lane missing
    says 'waiting for approval'
}

waits_for_a_time() {
    suspended timed timeout --timeout 100ms --on-timeout resume
    "$weir" supervise --quiet 2>"$scratch/supervise-err" &
    local pid=$!
    resumed() { [ "$(state "$id")" = resumable ]; }
    until_true resumed
    kill "$pid"
    wait "$pid"
    ends 0 execution signals "$id" --json
    json '.signals[0] | .name == "timeout" and .source_type == "engine"'
    ends 0 execution get "$id" --json
    json '.suspension == null and .budgets == []'
}

refuses_bad_suspensions() {
    local token
    id=$("$weir" submit --lane bad --kind job)
    token=$("$weir" execution claim --lane bad -q --lease 1h)
    refuses 2 'until CONDITION is needed' execution suspend "$token"
    refuses 2 'no TOKEN' execution suspend --until ok@a
    refuses 2 'is no token of a claim' execution suspend "$id" --until ok@a
    refuses 2 '"@" expected at character 3' execution suspend "$token" --until ok
    refuses 2 'is nested deeper than 4' execution suspend "$token" --until 'all(all(all(all(all(ok@a)))))'
    refuses 2 'several waitpoints need a count' execution suspend "$token" --until 'ok@(a, b)'
    refuses 2 '3 of 2 waitpoints can never be' execution suspend "$token" \
        --until '3 of waitpoints ok@(a, b)'
    refuses 2 '"timeout" needs a timeout' execution suspend "$token" --until timeout
    refuses 2 'must have at most 16384' execution suspend "$token" --until "$(printf 'x%.0s' {1..16385})@a"
    refuses 2 '--on-timeout needs --timeout' execution suspend "$token" --until ok@a --on-timeout fail
    refuses 2 "'escalat', which is not known, did you mean 'escalate'?" execution suspend "$token" \
        --until ok@a --timeout 1s --on-timeout escalat
    refuses 2 "--reason is 'lunch', which is not known" execution suspend "$token" --until ok@a \
        --reason lunch
    refuses 2 'must be a duration from 1 ms' execution suspend "$token" --until ok@a --timeout 0
    refuses 2 'is named twice' execution suspend "$token" --until ok@a --waitpoint b --waitpoint b
    refuses 2 'letters, digits and' execution suspend "$token" --until ok@a --waitpoint 'a b'
    refuses 2 'must be the id of a waitpoint' execution suspend "$token" --until ok@a --waitpoint a=7
    [ "$(state "$id")" = active ]
    ends 0 execution waitpoints "$id"
    says 'no waitpoints'
}

shows_the_truth_to_who_lost() {
    local token
    id=$("$weir" submit --lane lost --kind job)
    token=$("$weir" execution claim --lane lost -q)
    "$weir" execution revoke -q "$id"
    refuses 1 "$id: the claim has been lost; it is waiting (epoch 2)" execution suspend "$token" --until ok@a
    refuses 1 "$id: the claim has been lost; it is waiting (epoch 2)" execution waitpoint "$token" a
    refuses 1 'there is no such execution' execution suspend "$nobody/999999/1" --until ok@a
    [ "$(state "$id")" = waiting ]
    [ -z "$("$weir" execution waitpoints "$id" -q)" ]
}

# ---- waitpoints made before ------------------------------------------------------------------

takes_what_came_before() {
    id=$("$weir" submit --lane early --kind job)
    claim=$("$weir" execution claim --lane early -q)
    "$weir" execution waitpoint "$claim" a -q >"$scratch/waitpoints"
    "$weir" execution waitpoint "$claim" a -q | diff "$scratch/waitpoints" -
    ends 0 execution waitpoints "$id"
    says 'pending' '23 h 59 min'
    [ "$(signal a ok)" = buffered ]
    refuses 1 "one made before is named with its id, as KEY=UUID" execution suspend "$claim" --until ok@a
    ends 0 execution suspend "$claim" --until ok@a --waitpoint "a=$(id_of a)"
    says "$id goes on: what came before suffices"
    [ "$(wc -l <"$scratch/out")" -eq 1 ]
    [ -z "$("$weir" execution suspend "$claim" --until ok@a --waitpoint "a=$(id_of a)" -q)" ]
    ends 0 execution suspend "$claim" --until ok@a --waitpoint "a=$(id_of a)" --json
    json '.satisfied and .state == "active" and .waitpoints == []'
    [ "$(state "$id")" = active ]
    "$weir" execution complete -q "$claim"
}

knows_when_one_has_expired() {
    id=$("$weir" submit --lane expired --kind job)
    claim=$("$weir" execution claim --lane expired -q)
    "$weir" execution waitpoint "$claim" a --expires 1ms -q >"$scratch/waitpoints"
    late() { [ "$(signal a ok)" = late ]; }
    until_true late
    refuses 1 'waitpoint "a" is not there any more' execution suspend "$claim" --until ok@a \
        --waitpoint "a=$(id_of a)"
    refuses 2 'must be a duration from 1 ms' execution waitpoint "$claim" a --expires 0
    refuses 2 'no KEY given' execution waitpoint "$claim"
    [ "$(state "$id")" = active ]
}

says_when_there_are_too_many() {
    local keys
    keys=$(seq -s ', w' 256)
    suspended many "1 of signals ok@(w$keys)"
    "$weir" execution resume -q "$id"
    claim=$("$weir" execution claim --lane many -q)
    ends 0 execution waitpoint "$claim" more # those of before are over
    refuses 1 'there are 1 waitpoints already' execution suspend "$claim" --until "1 of signals ok@(w$keys)"
    refuses 2 'names more than 256 waitpoints' execution suspend "$claim" --until "1 of signals ok@(w$keys, x)"
}

# ---- signals ---------------------------------------------------------------------------------

wakes_it() {
    suspended woken approved@review
    ends 0 execution signal "$id" "$(id_of review)" --token "$(token_of review)" --name rejected
    says 'ignored: no part of the condition asks for it'
    ends 0 execution signal "$id" review --token "$(token_of review)" --name approved \
        --source-type user --source anna --payload '{"by": "anna"}' --json
    json ".id == \"$id\" and .effect == \"resumed\""
    [ "$(state "$id")" = resumable ]
    [ "$(signal review approved)" = late ]
    ends 0 execution signals "$id" --json
    json '.signals | length == 2 and .[0].name == "rejected" and .[0].payload == ""'
    json '.signals[1] | .name == "approved" and .waitpoint == "review" and .source == "anna" and
        .source_type == "user" and .payload == "{\"by\": \"anna\"}" and (.came_at | test("Z$"))'
    ends 0 execution signals "$id"
    says 'review     approved  user anna     14  {"by": "anna"}'
    ends 0 execution waitpoints "$id" --json
    json '.waitpoints == [.waitpoints[] | select(.state == "closed" and .signals == 2)]'
}

takes_token_and_payload_from_elsewhere() {
    suspended elsewhere '4 of signals ok@a'
    token_of a >"$scratch/token"
    printf 'x\0y\377' >"$scratch/payload"
    ends 0 execution signal "$id" a --token-file "$scratch/token" --name ok --payload - <"$scratch/payload"
    ends 0 execution signal "$id" a --token - --name ok --payload "@$scratch/payload" <"$scratch/token"
    ends 0 execution signal "$id" a --token=- --name ok --payload plain <"$scratch/token"
    refuses 2 'the token or the payload, not both' execution signal "$id" a --token - --name ok --payload -
    refuses 2 'one token is enough' execution signal "$id" a --token x --token-file "$scratch/token" --name ok
    refuses 1 "cannot read '$scratch/none'" execution signal "$id" a --token-file "$scratch/none" --name ok
    ends 0 execution signals "$id" --json
    json '[.signals[] | .payload_base64 // .payload] == ["eAB5/w==", "eAB5/w==", "plain"]'
    ends 0 execution signals "$id"
    says '(no text)'
}

counts_a_key_once() {
    suspended keyed '2 of signals ok@a'
    [ "$(signal a ok --key k --payload one)" = kept ]
    [ "$(signal a ok --key k --payload one)" = duplicate ]
    refuses 1 'its key was used before for another signal' execution signal "$id" a \
        --token "$(token_of a)" --name ok --key k --payload two
    refuses 1 'its key was used before for another signal' execution signal "$id" a \
        --token "$(token_of a)" --name other --key k --payload one
    ends 0 execution signals "$id" --json
    json '[.signals[].payload] == ["one"]'
    [ "$(signal a ok)" = resumed ]
    [ "$(signal a ok --key k --payload one)" = duplicate ]
}

# Whatever is wrong, it is said in the same words, and no text has the token.
gives_nothing_away() {
    local right='the token is not valid for this waitpoint' token
    suspended secret ok@a --waitpoint b
    token=$(token_of a)
    refuses 1 "$id: $right" execution signal "$id" "$(id_of a)" --token "$no_token" --name ok
    refuses 1 "$id: $right" execution signal "$id" "$(id_of a)" --token "k9:${token#*:}" --name ok
    refuses 1 "$id: $right" execution signal "$id" "$(id_of a)" --token "${token%?}" --name ok
    refuses 1 "$id: $right" execution signal "$id" "$(id_of b)" --token "$token" --name ok
    refuses 1 "$id: $right" execution signal "$id" nowhere --token "$token" --name ok
    refuses 1 "$nobody: $right" execution signal "$nobody" a --token "$token" --name ok
    refuses 1 "$nobody: $right" execution signal "$nobody" "$(id_of a)" --token "$token" --name ok
    [ "$("$weir" execution signals "$id")" = 'no signals' ]
    says_no_token() { ! grep -qF "${token#*:}" "$scratch/out" "$scratch/err"; }
    ends 2 execution signal "$id" a "$token" --name ok
    says_no_token
    ends 1 execution signal "$id" b --token "$token" --name ok
    says_no_token
    ends 2 execution signal "$id" a --token "$token" --name 'o k'
    says_no_token
    ends 0 execution waitpoints "$id" --json
    says_no_token
    json ".waitpoints[0].fingerprint == \"$(printf %s "$token" | sha256sum | cut -c 1-16)\""
}

refuses_bad_signals() {
    suspended rough ok@a
    local signal="execution signal $id a --token $no_token"
    head -c 65537 /dev/zero >"$scratch/large"
    # shellcheck disable=SC2086 # words
    {
        refuses 2 '--name NAME is needed' $signal
        refuses 2 '1 to 256 letters, digits and' $signal --name 'o k'
        refuses 2 '1 to 256 letters, digits and' $signal --name "$(printf 'x%.0s' {1..257})"
        refuses 1 'the payload has more than 65536 bytes' $signal --name ok --payload "@$scratch/large"
        refuses 2 'source has 257 bytes, must have at most 256' $signal --name ok \
            --source "$(printf 'x%.0s' {1..257})"
        refuses 2 'source_type must be UTF-8' $signal --name ok --source-type $'\377'
        refuses 2 'key has ' $signal --name ok --key "$(printf 'x%.0s' {1..2000})"
    }
    refuses 2 'which of its waitpoints' execution signal "$id" --token x --name ok
    refuses 2 "operators have 'weir execution approve'" execution signal "$id" a --name ok
    refuses 2 'must be a partition and a uuid' execution signal x a --token y --name ok
    [ "$("$weir" execution signals "$id")" = 'no signals' ]
    [ "$(state "$id")" = suspended ]
}

says_when_it_is_full() {
    local row
    suspended full '3 of sources ok@a'
    row=${claim%/*}
    row=${row##*/}
    [ "$(signal a ok)" = kept ]
    execute "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9999)
        INSERT INTO {p}_signal (no, waitpoint, key, uuid, name, source_type, source, payload, came_us)
        SELECT no, waitpoint, 'k' || i, uuid, name, source_type, source, payload, came_us
        FROM {p}_signal, n WHERE no = $row"
    refuses 1 'it has 10000 signals already' execution signal "$id" a --token "$(token_of a)" --name ok
    refuses 1 'it has 10000 signals already' execution approve "$id" a --name ok
    [ "$(state "$id")" = suspended ]
}

# ---- operators -------------------------------------------------------------------------------

approves() {
    suspended approved 'all(approved@review, ok@other)'
    ends 0 execution approve "$id" review --source anna
    says 'kept: it counts, and more is missing'
    ends 0 execution approve "$id" other --name ok -q
    [ "$(cat "$scratch/out")" = resumed ]
    ends 0 execution signals "$id" --json
    json '.signals[0] | .name == "approved" and .source_type == "operator" and .source == "anna"'
    refuses 1 'it has no waitpoint of this key' execution approve "$id" nowhere
    refuses 1 'there is no such execution' execution approve "$nobody" review
    refuses 2 'letters, digits and' execution approve "$id" 'a b'
    refuses 2 "unknown option '--token'" execution approve "$id" review --token "$no_token"
}

resumes() {
    local other
    suspended resumed operator
    [ ! -s "$scratch/waitpoints" ]
    other=$("$weir" submit --lane elsewhere --kind job)
    ends 0 execution get "$id"
    says 'waits for     an operator'
    ends 1 execution resume "$nobody" "$id" "$other" --json
    json ".resumed == 1 and [.refused[].id] == [\"$nobody\", \"$other\"]"
    grep -qF 'it is waiting and cannot be resumed' "$scratch/err"
    [ "$(state "$id")" = resumable ]
    suspended later operator
    ends 0 execution resume "$id" --delay 1h
    says "$id resumed"
    ends 0 execution get "$id"
    says 'delayed: goes on in 59 min '
    refuses 2 'must be a duration' execution resume "$id" --delay soon
    refuses 1 'there is no such execution' execution signals "$nobody"
    refuses 1 'there is no such execution' execution waitpoints "$nobody"
}

# ---- the key ---------------------------------------------------------------------------------

rotates_the_key() {
    suspended rotated '3 of signals ok@a'
    head -c 32 /dev/urandom >"$scratch/secret"
    ends 0 key rotate k2 --secret-file "$scratch/secret"
    says "new tokens are made with 'k2'; those of the key before are valid for another 1 d"
    [ "$(signal a ok)" = kept ]
    od -An -v -tx1 "$scratch/secret" | tr -d ' \n' | ends 0 key rotate k2 --secret-file - --json
    json '.key == "k2" and .grace_seconds == 86400'
    refuses 1 'key "k2" has another secret' key rotate k2
    ends 0 key rotate k3 --grace 0
    says 'those of the key before are worthless'
    local old=$id
    suspended after ok@a
    [[ $(token_of a) = k3:* ]]
    [ "$(signal a ok)" = resumed ]
    ends 0 execution waitpoints "$old"
    says 'k1'
}

# The old key is over at once: what it made is as good as any wrong token.
forgets_rotated_keys() {
    suspended forgotten ok@a
    ends 0 key rotate k4 --grace 0 -q
    refuses 1 'the token is not valid for this waitpoint' execution signal "$id" a --token "$(token_of a)" --name ok
    [ "$(state "$id")" = suspended ]
    ends 0 execution approve "$id" a --name ok
}

refuses_bad_keys() {
    printf 'short' >"$scratch/secret"
    refuses 2 'no KEY given' key rotate
    refuses 2 '1 to 64 letters, digits and' key rotate 'k 1'
    refuses 2 '1 to 64 letters, digits and' key rotate "$(printf 'k%.0s' {1..65})"
    refuses 1 'the secret has 5 bytes, must have 32, or be 64 hexadecimal digits' \
        key rotate k9 --secret-file "$scratch/secret"
    printf 'g%.0s' {1..64} >"$scratch/secret"
    refuses 1 'the secret has 64 bytes' key rotate k9 --secret-file "$scratch/secret"
    refuses 2 'must be a duration' key rotate k9 --grace never
    suspended unrotated ok@a
    [[ $(token_of a) != k9:* ]]
}

for engine in ${WEIR_ENGINES:-sqlite postgresql}; do
    [ "$engine" != mariadb ] || continue
    use_engine "$engine"
    it "parks an execution and prints its tokens, on $engine" parks_it
    it "prints tokens for programs, and again after a lost reply, on $engine" prints_tokens_for_programs
    it "says what is missing, on $engine" says_what_is_missing
    it "waits for a time, on $engine" waits_for_a_time
    it "refuses what is wrong with a suspension, and parks nothing, on $engine" refuses_bad_suspensions
    it "shows the truth to who has lost the claim, on $engine" shows_the_truth_to_who_lost
    it "takes what came to a waitpoint before, on $engine" takes_what_came_before
    it "says that a waitpoint has expired, on $engine" knows_when_one_has_expired
    it "says that there are too many waitpoints, on $engine" says_when_there_are_too_many
    it "wakes an execution by a signal, on $engine" wakes_it
    it "takes token and payload from files and pipes, on $engine" takes_token_and_payload_from_elsewhere
    it "counts a key once, and refuses it for another signal, on $engine" counts_a_key_once
    it "gives nothing away to a wrong token, on $engine" gives_nothing_away
    it "refuses what is wrong with a signal, and keeps nothing, on $engine" refuses_bad_signals
    it "says that an execution has too many signals, on $engine" says_when_it_is_full
    it "approves as an operator, on $engine" approves
    it "resumes whatever the condition is, on $engine" resumes
    it "rotates the key of tokens, on $engine" rotates_the_key
    it "refuses tokens of a key that is rotated out, on $engine" forgets_rotated_keys
    it "refuses what is wrong with a key, on $engine" refuses_bad_keys
done

finish
