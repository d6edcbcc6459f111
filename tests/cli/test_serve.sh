#!/usr/bin/env bash
# `weir serve`: the real server, asked with curl.
. "$(dirname "$0")/../kit/tap.sh"
. "$(dirname "$0")/../kit/server.sh"
. "$(dirname "$0")/../kit/cli.sh"

unset RUNTIME_DIRECTORY WEIR_CONFIG
# A variable WEIR_... that names no key of the configuration is a mistake: those of tests stay here.
export -n "${!WEIR_@}"

# launch NAME ARG...: a server in the background on a free port; its log is in $scratch/NAME.err.
launch() {
    local name=$1
    shift
    : >"$scratch/$name.err"
    "$weir" serve --set http.listen=127.0.0.1:0 "$@" 2>"$scratch/$name.err" &
    echo $! >"$scratch/$name.pid"
}

logged() {
    grep -qF -- "$2" "$scratch/$1.err"
}

# serve NAME ARG...: as launch, until requests are taken. Sets `base` and `token`.
serve() {
    launch "$@"
    until_true logged "$1" event=server.ready
    base=http://$(sed -n 's/.*event=server.ready address=//p' "$scratch/$1.err" | head -n 1)
    token=$(sed -n 's/.*token for the life of this process: //p' "$scratch/$1.err")
    until_true ready
}

# A database is opened in the background, which may take a while on a busy machine.
ready() {
    [ "$(curl -s -k -o /dev/null -w '%{http_code}' "${scheme:-http}://${base#http://}/readyz")" = 200 ]
}

# ended NAME CODE: wait for it.
ended() {
    local result=0
    wait "$(<"$scratch/$1.pid")" || result=$?
    [ "$result" -eq "$2" ] || { echo "exit code $result"; cat "$scratch/$1.err"; return 1; }
}

end() {
    kill -s TERM "$(<"$scratch/$1.pid")"
    ended "$1" 0
}

# ask PATH [ARG...]: the body, in $scratch/body, with the head beside it. Sets `status`.
ask() {
    local path=$1
    shift
    status=$(curl -s --max-time 60 -o "$scratch/body" -D "$scratch/head" -w '%{http_code}' \
        -H "Authorization: Bearer $token" "$@" "$base$path")
}

# answers STATUS PATH [ARG...]
answers() {
    local want=$1
    shift
    ask "$@"
    [ "$status" = "$want" ] || { echo "$status of $1"; cat "$scratch/body"; return 1; }
}

body_has() {
    grep -qF -- "$1" "$scratch/body" || { echo "no \"$1\":"; cat "$scratch/body"; return 1; }
}

head_has() {
    grep -qi -- "^$1" "$scratch/head" || { echo "no \"$1\":"; cat "$scratch/head"; return 1; }
}

# Ages and rates differ from call to call.
steady() {
    sed -E 's/"([a-z_]*_seconds|[a-z]*_per_second|file_bytes|free_bytes)":[-0-9.]+/"\1":0/g'
}

# same PATH COMMAND...: the answer has the bytes of the command with --json.
same() {
    local path=$1
    shift
    answers 200 "$path"
    "$weir" "$@" --json | steady >"$scratch/want"
    { cat "$scratch/body"; echo; } | steady | cmp - "$scratch/want" ||
        { echo "$path:"; cat "$scratch/body"; echo; cat "$scratch/want"; return 1; }
}

gone() {
    ! kill -0 "$1" 2>/dev/null
}

has_lines() {
    [ "$(cat "$1" 2>/dev/null | wc -l)" -eq "$2" ]
}

# ---- one database --------------------------------------------------------------------

# A queue with messages, one of them dead.
fill() {
    "$weir" queue add "$1" --partitions 4 --quiet
    "$weir" enqueue "$1" --key a '{"n": 1}' --quiet
    "$weir" relay --queue "$1" --to 'exec:exit 65' --drain --quiet 2>/dev/null
    "$weir" enqueue "$1" --key b '{"n": 2}' --quiet
}

bytes_of_the_outbox() {
    local id
    fill letters
    serve one --db "$WEIR_DB"
    same /v1/queues queue list
    same /v1/status status
    same /v1/queues/letters/subscriptions subscription list letters
    same /v1/dead-letters dlq list
    id=$(jq '.dead_letters[0].id' "$scratch/body")
    same "/v1/dead-letters/$id" dlq show "$id"
    same "/db/main/v1/queues" queue list
    "$weir" token create --name ci --scope read --quiet >/dev/null
    same /v1/audit audit list
    same /v1/tokens token list
    end one
}

bytes_of_the_engine() {
    local id flow
    id=$("$weir" submit --lane mail --kind welcome --input anna)
    flow=$("$weir" flow create --kind order)
    "$weir" budget create cents --hard cents=100 --quiet
    serve engine --db "$WEIR_DB"
    same /v1/executions execution list
    same "/v1/executions/$id" execution get "$id"
    same "/v1/executions/$id/signals" execution signals "$id"
    same "/v1/executions/$id/waitpoints" execution waitpoints "$id"
    same /v1/flows flow list
    same /v1/budgets budget list
    same /v1/budgets/cents budget show cents
    answers 200 "/v1/flows/$flow"
    answers 404 "/v1/executions/$id/result"
    body_has '"code":"not_completed"'
    end engine
}

no_engine() {
    serve none --db "$WEIR_DB"
    answers 501 /v1/executions
    body_has '"code":"no_engine"'
    end none
}

tokens_of_the_database() {
    local made
    serve tokens --db "$WEIR_DB"
    made=$("$weir" token create --name ci --scope read --json | jq -r .token)
    token=$made answers 200 /v1/queues
    token=$made answers 403 /v1/executions/151-00000000-0000-7000-8000-000000000000/result
    token=nonsense answers 401 /v1/queues
    head_has 'WWW-Authenticate: Bearer'
    end tokens
}

supervises() {
    local id
    serve supervised --db "$WEIR_DB"
    id=$("$weir" submit --lane late --kind k --delay 300ms)
    until_true state_is "$id" waiting
    end supervised
}

state_is() {
    [ "$("$weir" execution get "$1" --quiet)" = "$2" ]
}

for engine in $engines; do
    use_engine "$engine"
    it "answers with the bytes of --json on $engine" bytes_of_the_outbox
    it "takes tokens of the database on $engine" tokens_of_the_database
    if [ "$engine" = mariadb ]; then
        it "has no engine on $engine" no_engine
    else
        it "answers for the engine with the bytes of --json on $engine" bytes_of_the_engine
        it "supervises executions on $engine" supervises
    fi
done

# ---- HTTP ----------------------------------------------------------------------------

use_engine sqlite

methods() {
    serve methods --db "$WEIR_DB"
    answers 405 /v1/queues -X DELETE
    head_has 'Allow: GET, HEAD'
    answers 204 /v1/queues -X OPTIONS
    head_has 'Allow: GET, HEAD'
    answers 200 /v1/queues -I
    head_has 'Content-Type: application/json'
    [ ! -s "$scratch/body" ] || [ "$(head -c 4 "$scratch/body")" = HTTP ]
    answers 400 /v1/queues/a%2Fb
    body_has 'a/b'
    answers 404 /v1/nothing
    answers 405 /v1/queues -d '{}'
    end methods
}

needs_a_token() {
    serve auth --db "$WEIR_DB"
    [ "$(grep -c 'token for the life' "$scratch/auth.err")" -eq 1 ]
    status=$(curl -s -o /dev/null -w '%{http_code}' "$base/v1/queues")
    [ "$status" = 401 ]
    status=$(curl -s -o /dev/null -w '%{http_code}' "$base/v1/queues?token=$token")
    [ "$status" = 401 ]
    for path in /livez /readyz /version /openapi.json /metrics; do
        status=$(curl -s -o /dev/null -w '%{http_code}' "$base$path")
        [ "$status" = 200 ] || { echo "$status of $path"; return 1; }
    done
    end auth
    [ "$(grep -cF "$token" "$scratch/auth.err")" -eq 1 ]
}

unix_socket() {
    : >"$scratch/unix.err"
    "$weir" serve --db "$WEIR_DB" --set "http.listen=unix:$scratch/weir.sock" \
        2>"$scratch/unix.err" &
    echo $! >"$scratch/unix.pid"
    until_true logged unix event=server.ready
    until_true answers_there /readyz
    answers_there /v1/queues
    end unix
}

# At SIGHUP the user of the server loses its rights on the unix socket.
unix_reload() {
    printf '[database shop]\nurl = %s\n[http]\nlisten = unix:%s\n' "$WEIR_DB" \
        "$scratch/weir.sock" >"$scratch/rights.ini"
    : >"$scratch/rights.err"
    "$weir" serve -c "$scratch/rights.ini" 2>"$scratch/rights.err" &
    echo $! >"$scratch/rights.pid"
    until_true logged rights event=server.ready
    until_true answers_there /v1/queues
    printf '[auth]\nunix_admin = no\n' >>"$scratch/rights.ini"
    kill -s HUP "$(<"$scratch/rights.pid")"
    until_true logged rights event=server.reloaded
    if answers_there /v1/queues; then return 1; fi
    end rights
}

answers_there() {
    [ "$(curl -s --unix-socket "$scratch/weir.sock" -o /dev/null -w '%{http_code}' \
        "http://weir$1")" = 200 ]
}

# A key with its origin, a secret without its value; what is printed can be read again.
printed() {
    (cd "$scratch" && printf '%s\n' '[database shop]' 'url = mariadb://u:hunter2@h/shop' '[http]' \
        'idle_timeout = 90s' >printed.ini && "$weir" serve -c printed.ini --print-config >printed 2>/dev/null)
    grep -qx -A 1 '# printed.ini:4' "$scratch/printed"
    grep -qx 'idle_timeout = 90s' "$scratch/printed"
    grep -qx 'url = \*\*\*' "$scratch/printed"
    ! grep -q hunter2 "$scratch/printed"
    sed -i 's|^url = .*|url = sqlite:shop.db|' "$scratch/printed"
    "$weir" serve -c "$scratch/printed" --check
}

it 'says which methods a route has' methods
it 'prints a token once and asks for it' needs_a_token
it 'takes its own user on a unix socket for an admin' unix_socket
it 'takes that from its own user at SIGHUP' unix_reload

# ---- process -------------------------------------------------------------------------

port_taken() {
    local result=0 port
    serve first --db "$WEIR_DB"
    port=${base##*:}
    "$weir" serve --db "$WEIR_DB" --set "http.listen=127.0.0.1:$port" \
        2>"$scratch/second.err" || result=$?
    [ "$result" -eq 2 ]
    grep -qF "127.0.0.1:$port" "$scratch/second.err"
    end first
}

no_tables() {
    local result=0
    "$weir" serve --db "sqlite:$scratch/none.db" --set http.listen=127.0.0.1:0 \
        2>"$scratch/none.err" || result=$?
    [ "$result" -eq 2 ]
    grep -qF "run 'weir migrate'" "$scratch/none.err"
    [ ! -e "$scratch/none.db" ]
}

one_is_away() {
    cat >"$scratch/two.ini" <<END
[database shop]
url = $WEIR_DB
default = yes
[database far]
url = postgresql://weir@127.0.0.1:1/none
[token test]
sha256 = $(printf %s "$1" | sha256sum | cut -d ' ' -f 1)
scopes = admin
END
    serve two -c "$scratch/two.ini"
    token=$1
    answers 503 /db/far/v1/queues
    body_has '"code":"database_away"'
    head_has 'Retry-After: 1'
    answers 200 /db/shop/v1/queues
    answers 404 /db/none/v1/queues
    answers 200 /readyz
    end two
}

# No database is the default one: a token of the first is not good for the second.
foreign_token() {
    local other="sqlite:$scratch/other.db" mine
    "$weir" migrate --db "$other" --quiet
    "$weir" queue add hidden --db "$other" --partitions 2 --quiet
    mine=$(a_token)
    printf '[database mine]\nurl = %s\n[database other]\nurl = %s\n' "$WEIR_DB" "$other" \
        >"$scratch/tenants.ini"
    serve tenants -c "$scratch/tenants.ini"
    token=$mine
    answers 200 /db/mine/v1/queues
    answers 401 /db/other/v1/queues
    answers 401 /v1/relays
    token=$("$weir" token create --db "$other" --name made --scope admin --json | jq -r .token)
    answers 200 /db/other/v1/queues
    answers 401 /db/mine/v1/queues
    end tenants
}

# A token in its form, made by the program itself.
a_token() {
    "$weir" token create --name made --scope admin --json | jq -r .token
}

relays() {
    "$weir" queue add parcels --partitions 2 --quiet
    cat >"$scratch/relay.ini" <<END
[database shop]
url = $WEIR_DB
[relay one]
queue = parcels
as = one
to = file:$scratch/one.jsonl
END
    serve relay -c "$scratch/relay.ini"
    "$weir" enqueue parcels first --quiet
    until_true has_lines "$scratch/one.jsonl" 1
    cat >>"$scratch/relay.ini" <<END
[relay two]
queue = parcels
as = two
to = file:$scratch/two.jsonl
END
    kill -s HUP "$(<"$scratch/relay.pid")"
    until_true has_subscriptions parcels 2
    token=$(a_token)
    answers 200 /v1/relays
    jq -e '[.relays[].name] | sort == ["one", "two"]' "$scratch/body" >/dev/null
    until_true counts_relay one
    "$weir" enqueue parcels second --quiet
    until_true grep -q second "$scratch/one.jsonl"
    until_true grep -q second "$scratch/two.jsonl"
    end relay
}

changed_relay() {
    "$weir" queue add boxes --partitions 2 --quiet
    printf '[database shop]\nurl = %s\n[relay one]\nqueue = boxes\nto = file:%s\n' \
        "$WEIR_DB" "$scratch/before.jsonl" >"$scratch/changed.ini"
    serve changed -c "$scratch/changed.ini"
    "$weir" enqueue boxes first --quiet
    until_true has_lines "$scratch/before.jsonl" 1
    sed -i 's/before.jsonl/after.jsonl/' "$scratch/changed.ini"
    kill -s HUP "$(<"$scratch/changed.pid")"
    until_true logged changed server.reloaded
    "$weir" enqueue boxes second --quiet
    until_true has_lines "$scratch/after.jsonl" 1
    has_lines "$scratch/before.jsonl" 1
    sed -i '/^.relay one/,$d' "$scratch/changed.ini"
    kill -s HUP "$(<"$scratch/changed.pid")"
    until_true serves_nothing boxes
    end changed
}

serves_nothing() {
    [ "$("$weir" subscription list "$1" --json | jq '.subscriptions[0].processes')" -eq 0 ]
}

# make_certificate NAME: $scratch/NAME.pem with its key, $scratch/NAME.key.
make_certificate() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
        -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 \
        -keyout "$scratch/$1.key" -out "$scratch/$1.pem" 2>/dev/null
    chmod 600 "$scratch/$1.key"
}

with_tls() {
    make_certificate tls
    scheme=https serve tls --db "$WEIR_DB" --set "http.tls_certificate_file=$scratch/tls.pem" \
        --set "http.tls_key_file=$scratch/tls.key"
    base=https://${base#http://}
    answers 200 /v1/queues --cacert "$scratch/tls.pem"
    head_has 'Strict-Transport-Security'
    end tls
}

open_metrics() {
    serve metrics --db "$WEIR_DB"
    ask /v1/queues
    curl -s "$base/metrics" >"$scratch/metrics"
    grep -q '^weir_db_up{database="main"} 1$' "$scratch/metrics"
    grep -q '^weir_http_requests_total{route="/v1/queues",method="GET",code="200"} 1$' \
        "$scratch/metrics"
    # Each name has one HELP and one TYPE, and its samples follow them.
    awk '/^# TYPE/ { if (seen[$3]++) exit 1; type = $3; next }
        /^#/ { next }
        index($1, type) != 1 { exit 1 }' "$scratch/metrics"
    curl -s -H 'Accept: application/openmetrics-text' "$base/metrics" >"$scratch/metrics"
    [ "$(tail -n 1 "$scratch/metrics")" = '# EOF' ]
    end metrics
}

counts_relay() {
    curl -s "$base/metrics" >"$scratch/metrics"
    grep -q "weir_outbox_acked_messages_total{database=\"shop\",relay=\"$1\"" "$scratch/metrics"
}

has_subscriptions() {
    [ "$("$weir" subscription list "$1" --json | jq '.subscriptions | length')" -eq "$2" ]
}

refused_reload() {
    printf '[database shop]\nurl = %s\n' "$WEIR_DB" >"$scratch/reload.ini"
    serve reload -c "$scratch/reload.ini"
    printf '[http]\nidle_timeout = 75\n' >>"$scratch/reload.ini"
    kill -s HUP "$(<"$scratch/reload.pid")"
    until_true logged reload server.reload_refused
    [ "$(curl -s -o /dev/null -w '%{http_code}' "$base/readyz")" = 200 ]
    end reload
}

# The certificate of the new configuration cannot be used: its relay does not begin either, but
# does once the certificate can be used.
failed_reload() {
    make_certificate first
    make_certificate second
    cp "$scratch/first.pem" "$scratch/shown.pem"
    "$weir" queue add crates --partitions 2 --quiet
    printf '[database shop]\nurl = %s\n[http]\ntls_certificate_file = %s\ntls_key_file = %s\n' \
        "$WEIR_DB" "$scratch/shown.pem" "$scratch/first.key" >"$scratch/failed.ini"
    scheme=https serve failed -c "$scratch/failed.ini"
    printf '[relay one]\nqueue = crates\nto = file:%s\n' "$scratch/crates.jsonl" >>"$scratch/failed.ini"
    cp "$scratch/second.pem" "$scratch/shown.pem"
    kill -s HUP "$(<"$scratch/failed.pid")"
    until_true logged failed server.reload_failed
    cp "$scratch/first.pem" "$scratch/shown.pem"
    kill -s HUP "$(<"$scratch/failed.pid")"
    until_true logged failed event=server.reloaded
    "$weir" enqueue crates first --quiet
    until_true has_lines "$scratch/crates.jsonl" 1
    end failed
}

# The second signal does not wait for the rest of the delay.
second_signal() {
    serve twice --db "$WEIR_DB" --set server.drain_delay=1h
    kill -s TERM "$(<"$scratch/twice.pid")"
    until_true logged twice event=server.stopping
    until_true sleeps_unblocked "$(<"$scratch/twice.pid")"
    kill -s TERM "$(<"$scratch/twice.pid")"
    ended twice 1
}

# SIGTERM is not blocked any more, and has a handler.
sleeps_unblocked() {
    local blocked caught
    blocked=$((0x$(awk '/^SigBlk:/ { print $2 }' "/proc/$1/status")))
    caught=$((0x$(awk '/^SigCgt:/ { print $2 }' "/proc/$1/status")))
    (((blocked & 1 << 14) == 0 && (caught & 1 << 14) != 0))
}

mistakes() {
    local result=0
    printf '[database shop]\nurl = %s\n[http]\nidle_timeot = 75s\n' "$WEIR_DB" \
        >"$scratch/wrong.ini"
    "$weir" serve --check -c "$scratch/wrong.ini" 2>"$scratch/wrong.err" || result=$?
    [ "$result" -eq 2 ]
    grep -qF 'idle_timeout' "$scratch/wrong.err"
}

public() {
    local result=0
    "$weir" serve --db "$WEIR_DB" --set http.listen=0.0.0.0:0 2>"$scratch/public.err" ||
        result=$?
    [ "$result" -eq 2 ]
}

# Bound by a parent, as systemd does it, to all addresses.
public_of_systemd() {
    local result=0
    make_certificate passed
    timeout 60 /usr/bin/python3 - "$weir" serve --db "$WEIR_DB" --set http.listen=systemd:web --set auth.mode=none \
        --set "http.tls_certificate_file=$scratch/passed.pem" \
        --set "http.tls_key_file=$scratch/passed.key" 2>"$scratch/passed.err" <<'END' || result=$?
import os, socket, sys
listener = socket.socket()
listener.bind(("0.0.0.0", 0))
listener.listen(1)
if listener.fileno() != 3:
    os.dup2(listener.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_FDS="1", LISTEN_FDNAMES="web", LISTEN_PID=str(os.getpid()))
os.execv(sys.argv[1], sys.argv[1:])
END
    [ "$result" -eq 2 ]
    grep -qF 'mode must be tokens' "$scratch/passed.err"
}

it 'ends with 2 and names the address that is in use' port_taken
it 'ends with 2 and the remedy without tables' no_tables
it 'serves one database while another one is away' one_is_away "$(a_token)"
it 'opens a database to tokens of its own if none is the default one' foreign_token
it 'relays as the configuration says, and adds a relay at SIGHUP' relays
it 'changes and removes a relay at SIGHUP' changed_relay
it 'serves TLS' with_tls
it 'has metrics in both forms' open_metrics
it 'keeps its configuration when the new one has a mistake' refused_reload
it 'begins at the next SIGHUP what a certificate has held up' failed_reload
it 'ends at once with 1 at a second signal during drain_delay' second_signal
it 'names mistakes with --check' mistakes
it 'prints the configuration with the origin of each value' printed
it 'refuses a public address without TLS' public
it 'refuses a public socket of systemd without tokens' public_of_systemd

finish
