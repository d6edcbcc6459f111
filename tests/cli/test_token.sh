#!/usr/bin/env bash
# `weir token ...`: create, list, rotate and revoke.
. "$(dirname "$0")/../kit/tap.sh"
. "$(dirname "$0")/../kit/server.sh"
. "$(dirname "$0")/../kit/cli.sh"

is_token() {
    grep -qxE 'weir_[A-Za-z0-9_-]{49}' "$1" || { cat "$1"; return 1; }
}

prints_the_token_alone() {
    ends 0 token create --name plain --scope read
    is_token "$scratch/out"
    [ ! -s "$scratch/err" ] || { cat "$scratch/err"; return 1; }
}

has_the_token_in_json_with_what_it_allows() {
    ends 0 token create --name full --scope producer,worker --scope signal --queue 'orders.*' --queue mail \
        --lane fast --namespace eu --database shop --expires 1h --json
    json '(.token | length) == 54 and .name == "full" and .state == "valid" and
        .scopes == ["producer", "worker", "signal"] and .queues == ["orders.*", "mail"] and
        .lanes == ["fast"] and .namespaces == ["eu"] and .databases == ["shop"] and
        .expires_at != null and .used_on == null and .revoked_at == null'
}

lists_without_the_token() {
    ends 0 token create --name listed --scope admin
    local token
    token=$(cat "$scratch/out")
    ends 0 token list
    says id name state scopes listed admin valid
    if grep -qF "$token" "$scratch/out"; then return 1; fi
    ends 0 token list --json
    json '.tokens[] | select(.name == "listed") | has("token") | not'
    ends 0 token list --quiet
    grep -qxE '[0-9a-f]{8}' "$scratch/out"
}

rotates_with_an_overlap() {
    ends 0 token create --name turned --scope read
    ends 0 token rotate turned --overlap 1h
    is_token "$scratch/out"
    ends 0 token list --json
    json '[.tokens[] | select(.name == "turned" and .state == "valid")] | length == 2 and
        .[0].expires_at == null and .[1].expires_at != null'
}

revokes_by_name() {
    ends 0 token create --name gone --scope read
    ends 0 token revoke gone
    says '1 token revoked'
    ends 0 token revoke gone --json
    json '. == {"token": "gone", "revoked": 0}'
    ends 0 token list --json
    json '.tokens[] | select(.name == "gone") | .state == "revoked"'
}

refuses_bad_input() {
    refuses 2 'which name?' token create --scope read
    refuses 2 'what may it do?' token create --name x
    refuses 2 'none of read, content' token create --name x --scope everything
    refuses 2 'token name' token create --name 'a b' --scope read
    refuses 2 'as ids are' token create --name 0badcafe --scope read
    refuses 2 'pattern' token create --name x --scope read --queue 'a,,b'
    refuses 1 'there is no valid token "none"' token rotate none
    refuses 1 'there is no token "none"' token revoke none
}

# Not "all queues": a variable of a script may be unset.
refuses_an_empty_pattern() {
    refuses 2 'a pattern is empty' token create --name empty --scope read --queue ''
    refuses 2 'a pattern is empty' token create --name empty --scope read --lane a --namespace ''
}

has_its_text_nowhere() {
    local token word
    ends 0 token create --name pasted --scope read
    token=$(cat "$scratch/out")
    for word in "$token" "Bearer $token" "${token%????}"; do
        refuses 2 'must be a name or an id' token revoke "$word"
        refuses 2 'must be a name or an id' token rotate "$word"
        refuses 2 'must be a name or an id' token create --name "$word" --scope read
        if grep -F "${token%????}" "$scratch/err"; then return 1; fi
    done
    for word in audit token; do
        ends 0 "$word" list --json
        if grep -F "${token%????}" "$scratch/out"; then return 1; fi
    done
    ends 0 audit list --action token.revoke --json
    json '[.audit[] | select(.target == null and .outcome == "invalid")] | length == 3'
}

for engine in $engines; do
    use_engine "$engine"
    it "token create prints the token and nothing else on $engine" prints_the_token_alone
    it "token create has the token and what it allows in JSON on $engine" has_the_token_in_json_with_what_it_allows
    it "token list never has the token on $engine" lists_without_the_token
    it "token rotate makes a second one that is valid beside the first on $engine" rotates_with_an_overlap
    it "token revoke ends all of a name on $engine" revokes_by_name
    it "token create refuses an empty pattern on $engine" refuses_an_empty_pattern
    it "the text of a token that is given as a name is stored and repeated nowhere on $engine" has_its_text_nowhere
    it "token refuses bad input on $engine" refuses_bad_input
done

finish
