#!/usr/bin/env bash
# `weir enqueue`: one message in its three forms, and lines from a pipe.
. "$(dirname "$0")/../kit/tap.sh"
. "$(dirname "$0")/../kit/server.sh"
. "$(dirname "$0")/../kit/cli.sh"

# queue NAME: a new one of 4 partitions.
queue() {
    "$weir" queue add "$1" --partitions 4 --quiet
}

# enqueues CODE QUEUE OPTION...: from standard input, line by line.
enqueues() {
    local code=$1 name=$2
    shift 2
    ends "$code" enqueue "$name" --lines "$@"
}

# complains TEXT: the one line that was said to the terminal.
complains() {
    [ "$(wc -l <"$scratch/err")" -eq 1 ] || { cat "$scratch/err"; return 1; }
    grep -qF -- "$1" "$scratch/err" || { echo "no \"$1\":"; cat "$scratch/err"; return 1; }
}

enqueues_one() {
    queue one
    ends 0 enqueue one hello
    says 'enqueued in partition '
    [ "$(waiting one)" -eq 1 ]
}

prints_json() {
    queue one-json
    ends 0 enqueue one-json --json --partition 3 hello
    json '.queue == "one-json" and .count == 1 and .first_id > 0 and .last_id == .first_id and
        .partition == 3 and (.uid | test("^[0-9a-f]{32}$"))'
}

# The first four bytes of md5("c42"), modulo 4.
chooses_by_key() {
    queue keyed
    ends 0 enqueue keyed --key c42 --json x
    json ".partition == $((16#$(printf c42 | md5sum | cut -c 1-8) % 4))"
}

takes_a_file() {
    queue files
    printf 'a\0b\n' >"$scratch/payload"
    ends 0 enqueue files --file "$scratch/payload"
    ends 0 enqueue files - <"$scratch/payload"
    ends 0 enqueue files ''
    [ "$(waiting files)" -eq 3 ]
}

takes_lines() {
    queue lines
    seq 1 2500 | enqueues 0 lines
    says '2500 messages in '
    [ "$(waiting lines)" -eq 2500 ]
    seq 1 10 | enqueues 0 lines --batch 3 --json
    json '.count == 10 and .last_id >= .first_id + 9 and .seconds >= 0'
}

takes_a_last_line_without_newline() {
    queue torn
    printf 'a\nb' | enqueues 0 torn
    [ "$(waiting torn)" -eq 2 ]
}

takes_no_lines() {
    queue nothing
    enqueues 0 nothing </dev/null
    says '0 messages in '
}

# What a slow pipe has brought is there before the pipe ends.
is_not_held_back() {
    local i
    queue slow
    mkfifo "$scratch/slow-$engine"
    "$weir" enqueue slow --lines <"$scratch/slow-$engine" >/dev/null &
    exec 3>"$scratch/slow-$engine"
    echo one >&3
    for ((i = 0; i < 300; i++)); do
        [ "$(waiting slow)" -ne 1 ] || break
        sleep 0.05
    done
    exec 3>&-
    wait $!
    [ "$(waiting slow)" -eq 1 ]
    [ "$i" -lt 300 ] || { echo 'held back until the end'; return 1; }
}

stops_at_an_empty_line() {
    queue gap
    printf 'a\nb\n\nc\n' | enqueues 1 gap
    complains 'line 3 is empty; enqueued before it: 2'
    [ "$(waiting gap)" -eq 2 ]
}

stops_in_a_later_batch() {
    queue later
    { seq 1 25; echo; seq 1 25; } | enqueues 1 later --batch 10 --json
    complains 'line 26 is empty; enqueued before it: 25'
    json '.count == 25 and .failed_line == 26'
    [ "$(waiting later)" -eq 25 ]
}

stops_at_a_long_line() {
    queue long
    { echo a; head -c 65537 /dev/zero | tr '\0' x; echo; } | enqueues 1 long
    complains 'line 2 is longer than 65536 bytes; enqueued before it: 1'
    { echo a; head -c 5000000 /dev/zero | tr '\0' x; } >"$scratch/long"
    enqueues 1 long <"$scratch/long"
    complains 'line 2 is longer than 65536 bytes; enqueued before it: 1'
    { echo a; head -c 65537 /dev/zero | tr '\0' x; echo; } | enqueues 0 long --size-max 100000
    [ "$(waiting long)" -eq 4 ]
}

stops_at_what_is_no_text() {
    queue bytes
    printf 'a\nb\xff\n' | enqueues 1 bytes
    complains 'line 2 is not UTF-8'
    printf 'b\xff\n\0\n' | enqueues 0 bytes --binary
    [ "$(waiting bytes)" -eq 3 ]
}

stops_at_what_is_no_object() {
    queue objects
    printf '{"k":"a"}\n[1]\n' | enqueues 1 objects --key-field k
    complains 'line 2 is no JSON object: no object at byte 0; enqueued before it: 1'
    printf '{"k":"a"\n' | enqueues 1 objects --key-field k
    complains 'line 1 is no JSON object'
    printf '{"k":"\xff"}\n' | enqueues 1 objects --key-field k
    complains 'line 1 is not UTF-8'
    printf '{"x":1}\n' | enqueues 1 objects --key-field k
    complains "line 1 has no field 'k'"
    printf '{"k":"a","t":""}\n' | enqueues 1 objects --key-field k --type-field t
    complains 'line 1 cannot be enqueued: type is empty'
    printf '{"k":"%01025d"}\n' 0 | enqueues 1 objects --key-field k
    complains 'line 1 cannot be enqueued: key'
}

names_a_missing_queue() {
    refuses 1 "there is no queue 'orders'; make it with 'weir queue add orders --partitions N'" \
        enqueue orders x
    # ... before anything is read: this pipe does not end.
    mkfifo "$scratch/endless-$engine"
    exec 3<>"$scratch/endless-$engine"
    refuses 1 "there is no queue 'orders'" enqueue orders --lines <&3
    exec 3<&-
}

# ---- what arrives, as far as SQL can tell --------------------------------------------------

# rows QUEUE: key, type, headers and payload of what is in it, in order.
rows() {
    local log=weir_log payload="convert_from(l.payload, 'UTF8')"
    if [ "$engine" = mariadb ]; then
        log=weir_incoming
        payload='CONVERT(l.payload USING utf8mb4)'
    fi
    sql "$WEIR_DB" "SELECT concat_ws('|', coalesce(l.message_key, '-'), l.type,
        coalesce(l.headers, '-'), $payload)
        FROM $log l JOIN weir_queue q ON l.pid BETWEEN q.id * 64 AND q.id * 64 + 63
        WHERE q.name = '$1' ORDER BY l.id"
}

carries_everything() {
    queue parts
    ends 0 enqueue parts --key k --type order.made --header trace=4bf9 --header 'a=b=c' '{"x": 1}'
    [ "$(rows parts)" = 'k|order.made|{"trace":"4bf9","a":"b=c"}|{"x": 1}' ] || { rows parts; return 1; }
}

refuses_a_header_twice() {
    queue twice
    refuses 2 'header "a" is there twice, must be once' \
        enqueue twice --header a=1 --header b=2 --header a=1 x
    printf 'x\ny\n' | refuses 2 'header "a" is there twice, must be once' \
        enqueue twice --lines --header a=1 --header a=2
    [ "$(waiting twice)" -eq 0 ]
}

says_message_of_one_and_messages_of_others() {
    queue counted
    printf 'a\n' | ends 0 enqueue counted --lines
    says '1 message in '
    printf 'b\nc\n' | ends 0 enqueue counted --lines
    says '2 messages in '
    printf '' | ends 0 enqueue counted --lines
    says '0 messages in '
    ends 0 relay --queue counted --drain --to stdout:
    grep -q '^3 messages in ' "$scratch/err"
    ends 0 enqueue counted d
    ends 0 relay --queue counted --drain --to stdout:
    grep -q '^1 message in ' "$scratch/err"
    ends 0 enqueue counted e
    ends 0 queue remove counted --force --yes
    says 'with 1 subscription, 1 waiting message, 0 dead letters'
}

picks_fields() {
    queue fields
    enqueues 0 fields --key-field k --type-field t --payload-field p --type other <<'END'
{"k": "a\u00e9\"", "t": "x", "p": "text\n"}
{"p": {"n": [1, 2]}, "t": "y", "k": 12345678901234567890}
{"k": null, "p": null}
{"k": "null", "p": "", "nested": {"k": "no"}, "t": "z"}
{"k": "first", "k": "last", "p": true}
END
    rows fields >"$scratch/rows"
    cat >"$scratch/want" <<'END'
aé"|x|-|text

12345678901234567890|y|-|{"n": [1, 2]}
-|other|-|null
null|z|-|
last|other|-|true
END
    diff "$scratch/want" "$scratch/rows"
}

takes_the_whole_line_as_payload() {
    queue whole
    printf '{"k": "a", "v": 1}\n' | enqueues 0 whole --key-field k
    [ "$(rows whole)" = 'a|message|-|{"k": "a", "v": 1}' ] || { rows whole; return 1; }
}

keeps_the_order_of_lines() {
    queue ordered
    seq 1 3000 | enqueues 0 ordered --key same --batch 100
    rows ordered | cut -d '|' -f 4 | cmp - <(seq 1 3000)
}

# ---- what only MariaDB refuses -------------------------------------------------------------

# The payload is one that weir would take; the server's largest packet is smaller.
names_the_largest_packet() {
    local WEIR_DB
    WEIR_DB=$(own_mariadb packet --max-allowed-packet=131072)
    "$weir" migrate --quiet
    queue packets
    head -c 150000 /dev/zero | tr '\0' x >"$scratch/large"
    refuses 2 'has 150000 bytes, the server takes 131072 (max_allowed_packet)' \
        enqueue packets --size-max 1000000 --file "$scratch/large"
    { echo a; cat "$scratch/large"; echo; echo b; } |
        enqueues 1 packets --size-max 1000000 --batch 2
    complains '(max_allowed_packet); 0 messages enqueued'
    [ "$(waiting packets)" -eq 0 ]
    ends 0 enqueue packets --size-max 1000000 "$(head -c 120000 "$scratch/large")"
    [ "$(waiting packets)" -eq 1 ]
    end_server "$WEIR_RUN_DIR/mariadb_$$_packet.pid"
}

names_the_missing_right() {
    sql "$WEIR_DB" "CREATE OR REPLACE USER reader IDENTIFIED BY 'x'; GRANT SELECT ON * TO reader"
    queue forbidden
    refuses 1 'weir_incoming_id`; see docs/roles.md' \
        enqueue forbidden x --db "${WEIR_DB/weir:cork-and-lead/reader:x}"
    sql "$WEIR_DB" 'GRANT INSERT ON weir_incoming_id TO reader'
    refuses 1 'weir_incoming`; see docs/roles.md' \
        enqueue forbidden x --db "${WEIR_DB/weir:cork-and-lead/reader:x}"
}

# ---- ends ----------------------------------------------------------------------------------

# Ctrl-C: what was read is enqueued, and said.
ends_on_a_signal() {
    local result=0 i
    queue signalled
    mkfifo "$scratch/signal"
    exec 3<>"$scratch/signal"
    env --default-signal=INT "$weir" enqueue signalled --lines <"$scratch/signal" \
        >"$scratch/out" 2>"$scratch/err" &
    seq 1 10 >&3
    for ((i = 0; i < 300; i++)); do
        [ "$(waiting signalled)" -ne 10 ] || break
        sleep 0.05
    done
    kill -s INT $!
    wait $! || result=$?
    exec 3<&-
    [ "$result" -eq 1 ] || { echo "exit code $result"; return 1; }
    complains 'interrupted; enqueued up to line 10, messages: 10'
}

shows_progress() {
    queue shown
    on_a_terminal 80 "{ seq 1 1000; sleep 1; seq 1 1000; sleep 0.5; seq 1 10; } |
        $weir enqueue shown --lines" </dev/null
    grep -qE '[0-9,]+ messages, [0-9,]+/s' "$scratch/out" || { cat -v "$scratch/out"; return 1; }
    says '2010 messages in '
}

shows_what_is_left() {
    queue left
    seq 1 300000 >"$scratch/numbers"
    on_a_terminal 80 "$weir enqueue left --lines --batch 200 <$scratch/numbers" </dev/null
    grep -qE '/s, [0-9]+ %, [0-9]+ s left' "$scratch/out" || { cat -v "$scratch/out"; return 1; }
}

# Somebody copies the file of a database that nobody has open.
leaves_a_file_to_copy() {
    queue copied
    seq 1 100 | enqueues 0 copied
    [ ! -e "$scratch/main.db-wal" ] || { ls -l "$scratch"; return 1; }
    cp "$scratch/main.db" "$scratch/copy.db"
    [ "$(WEIR_DB=sqlite:$scratch/copy.db waiting copied)" -eq 100 ]
}

for engine in $engines; do
    use_engine "$engine"
    it "enqueues one message on $engine" enqueues_one
    it "prints JSON on $engine" prints_json
    it "chooses the partition by key on $engine" chooses_by_key
    it "takes a file, a pipe and nothing as payload on $engine" takes_a_file
    it "takes lines on $engine" takes_lines
    it "takes a last line without newline on $engine" takes_a_last_line_without_newline
    it "takes no lines on $engine" takes_no_lines
    it "does not hold a slow pipe back on $engine" is_not_held_back
    it "stops at an empty line on $engine" stops_at_an_empty_line
    it "stops in a later batch on $engine" stops_in_a_later_batch
    it "stops at a line that is too long on $engine" stops_at_a_long_line
    it "stops at a line that is no text on $engine" stops_at_what_is_no_text
    it "stops at a line that is no JSON object on $engine" stops_at_what_is_no_object
    it "names a missing queue and the remedy on $engine" names_a_missing_queue
    it "refuses a header that is there twice on $engine" refuses_a_header_twice
    it "says message of one and messages of others on $engine" says_message_of_one_and_messages_of_others
    [ "$engine" != sqlite ] || continue # which has no client here
    it "carries key, type and headers on $engine" carries_everything
    it "picks key, type and payload out of JSON on $engine" picks_fields
    it "takes the whole line as payload on $engine" takes_the_whole_line_as_payload
    it "keeps the order of lines on $engine" keeps_the_order_of_lines
    [ "$engine" = mariadb ] || continue
    it 'names both sizes when the server takes no packet as large' names_the_largest_packet
    it 'names the table that a right is missing on' names_the_missing_right
done

WEIR_DB=sqlite:$scratch/main.db
it 'ends on a signal and says how far it came' ends_on_a_signal
it 'leaves a file that holds everything, without a log' leaves_a_file_to_copy
if on_a_terminal 80 true </dev/null; then
    it 'shows progress on a terminal' shows_progress
    it 'shows how much of a file is left' shows_what_is_left
else
    echo '# no pseudo-terminal can be had here: two cases less'
fi

queue misuse
it 'wants a queue' refuses 2 'no QUEUE given' enqueue
it 'wants a payload' refuses 2 'no payload: give PAYLOAD' enqueue misuse
it 'wants one payload' refuses 2 'is enough' enqueue misuse x --lines
it 'wants one payload at a time' refuses 2 'is enough' enqueue misuse x --file y
it 'refuses a second payload' refuses 2 "unexpected argument 'y'" enqueue misuse x y
it 'refuses key and partition' refuses 2 'give only one' enqueue misuse --key a --partition 1 x
it 'refuses a partition that is none' refuses 2 'partition' enqueue misuse --partition 4 x
it 'refuses a key that is no text' refuses 2 'must be UTF-8' enqueue misuse --key $'\xff' x
it 'refuses a header without value' refuses 2 'must be NAME=VALUE' enqueue misuse --header a x
it 'refuses an empty type' refuses 2 'type is empty' enqueue misuse --type '' x
it 'refuses a bad batch' refuses 2 "--batch is '0'" enqueue misuse --lines --batch 0
it 'refuses fields without lines' refuses 2 'are for --lines' enqueue misuse --key-field k x
it 'refuses a payload that is too large' \
    refuses 1 'more than 10 bytes; --size-max' enqueue misuse --size-max 10 - <<<'01234567890'
it 'refuses a word that is too large' refuses 2 'must have at most 3' \
    enqueue misuse --size-max 3 1234
it 'names a file that is not there' \
    refuses 1 "cannot read '$scratch/nothing': No such file" enqueue misuse --file "$scratch/nothing"
it 'names a folder that is no file' \
    refuses 1 'Is a directory' enqueue misuse --file "$scratch"

finish
