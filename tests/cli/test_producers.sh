#!/usr/bin/env bash
# weir_enqueue() in SQL, from each engine's own client: what it enqueues is delivered like what the
# library enqueues, and what the library refuses it refuses in the same words.
. "$(dirname "$0")/../kit/tap.sh"
. "$(dirname "$0")/../kit/server.sh"
. "$(dirname "$0")/../kit/cli.sh"

extension=$(dirname "$weir")/extension/weir # SQLite knows what is behind the dot
vectors=$root/tests/vectors/keys.tsv

# client WORD...: the engine's own, with what it is told on standard input. It goes on after an
# error.
client() {
    case $engine in
        postgresql) "$server_bin/psql" -d "$WEIR_DB" -qAtX "$@" ;;
        mariadb) mariadb_client "$WEIR_DB" --force "$@" ;;
        # Newer builds of the shell begin without trust in the schema, and so in triggers.
        sqlite) sqlite3 -cmd ".load $extension" -cmd '.timeout 10000' \
            -cmd 'PRAGMA trusted_schema = ON' "${WEIR_DB#sqlite:}" ;;
    esac
}

# sql_script TEXT...: statements; their output. Any error is a failure.
sql_script() {
    printf '%s\n' "$@" | client >"$scratch/out" 2>"$scratch/err"
    [ ! -s "$scratch/err" ] || { cat "$scratch/err"; return 1; }
    cat "$scratch/out"
}

# enqueue QUEUE PAYLOAD [KEY [TYPE [HEADERS]]]: one message; prints its id.
enqueue() {
    sql_script "SELECT weir_enqueue('$1', '${3:-k}', '$2', '${4:-message}', ${5:-NULL});"
}

# queue NAME [OPTION...]: a new one, of one partition unless told.
queue() {
    local name=$1
    shift
    "$weir" queue add "$name" --partitions 1 --quiet "$@"
}

# drained QUEUE: everything that waits, as JSON lines in the order of delivery, in $scratch/lines.
drained() {
    "$weir" relay --queue "$1" --drain --quiet --to stdout: >"$scratch/lines"
}

# payloads: of what was drained, in one line.
payloads() {
    jq -r .payload "$scratch/lines" | paste -sd ' '
}

# shop NAME: a table of the application's.
shop() {
    sql_script "CREATE TABLE $1 (id INTEGER PRIMARY KEY, name VARCHAR(100));"
}

# ---- delivery -------------------------------------------------------------------------------

delivers_what_is_committed() {
    queue committed
    shop committed_shop
    sql_script 'BEGIN;' "INSERT INTO committed_shop VALUES (1, 'a');" \
        "SELECT weir_enqueue('committed', 'k', 'one', 'order.placed', NULL);" 'COMMIT;' \
        'BEGIN;' "INSERT INTO committed_shop VALUES (2, 'b');" \
        "SELECT weir_enqueue('committed', 'k', 'two', 'order.placed', NULL);" 'ROLLBACK;'
    drained committed
    [ "$(payloads)" = one ] || { cat "$scratch/lines"; return 1; }
    prints 1 sql_script 'SELECT count(*) FROM committed_shop;'
}

tells_the_id() {
    queue known
    enqueue known hello >"$scratch/id"
    drained known
    prints "$(cat "$scratch/id")" jq -r .id "$scratch/lines"
}

keeps_the_order() {
    queue mixed
    "$weir" enqueue mixed 1 --quiet
    enqueue mixed 2
    "$weir" enqueue mixed 3 --quiet
    sql_script "BEGIN;" "SELECT weir_enqueue('mixed', 'a', '4', 'message', NULL);" \
        "SELECT weir_enqueue('mixed', 'b', '5', 'message', NULL);" "COMMIT;"
    "$weir" enqueue mixed 6 --quiet
    drained mixed
    prints '1 2 3 4 5 6' payloads
}

# What a sink prints of a message, but for what no two have in common.
without_its_own() {
    jq -cS 'del(.id, .seq, .created_at)' "$scratch/lines"
}

# bytes HEX: as the engine writes them.
bytes() {
    case $engine in
        postgresql) echo "'\\x$1'::bytea" ;;
        *) echo "X'$1'" ;;
    esac
}

# literal TEXT: as the engine writes it. Backslashes mean something to MariaDB.
literal() {
    if [ "$engine" = mariadb ]; then echo "'${1//\\/\\\\}'"; else echo "'$1'"; fi
}

stores_as_the_library_does() {
    queue same
    printf 'a\0\xff\0b' >"$scratch/bytes"
    "$weir" enqueue same --quiet --key 'Grüße' --type order.placed --header trace=4bf9 \
        --header "text=a \"quote\", a \\ and é" --file "$scratch/bytes"
    sql_script "SELECT weir_enqueue('same', 'Grüße', $(bytes 6100ff0062), 'order.placed',
        $(literal '{"trace": "4bf9", "text": "a \"quote\", a \\ and \u00e9"}'));"
    "$weir" enqueue same --quiet 'Ünïcödé 😀'
    sql_script "SELECT weir_enqueue('same', NULL, 'Ünïcödé 😀', 'message', NULL);"
    "$weir" enqueue same --quiet ''
    sql_script "SELECT weir_enqueue('same', NULL, '', 'message', '{}');"
    drained same
    without_its_own >"$scratch/same"
    [ "$(wc -l <"$scratch/same")" -eq 6 ]
    [ "$(awk 'NR % 2' "$scratch/same")" = "$(awk 'NR % 2 == 0' "$scratch/same")" ] ||
        { cat "$scratch/same"; return 1; }
}

# What is no text is kept as its JSON.
takes_other_values_of_headers() {
    queue headers
    enqueue headers x k message "'{\"retries\": 3, \"urgent\": true, \"tags\": [\"a\"]}'"
    drained headers
    prints '{"retries":"3","tags":"[\"a\"]","urgent":"true"}' jq -cS .headers "$scratch/lines"
}

spreads_without_a_key() {
    local i
    queue spread --partitions 4
    for ((i = 0; i < 64; i++)); do
        echo "SELECT weir_enqueue('spread', NULL, '$i', 'message', NULL);"
    done | client >/dev/null
    drained spread
    prints '0 1 2 3' eval 'jq .partition "$scratch/lines" | sort -u | paste -sd " "'
    prints null eval 'jq .key "$scratch/lines" | sort -u'
}

# ---- keys -----------------------------------------------------------------------------------

# key_of HEX: as the engine writes it.
key_of() {
    case $engine in
        postgresql) echo "convert_from('\\x$1', 'UTF8')" ;;
        mariadb) echo "CONVERT(X'$1' USING utf8mb4)" ;;
        sqlite) echo "CAST(X'$1' AS TEXT)" ;;
    esac
}

# One queue for each number of partitions; the payload is the number of the line.
follows_the_vectors() {
    local n i
    for n in 1 2 4 8 16 32 64; do
        queue "of$n" --partitions "$n"
    done
    grep -v '^#' "$vectors" | cut -f 1 >"$scratch/keys"
    i=0
    while read -r key; do
        i=$((i + 1))
        for n in 1 2 4 8 16 32 64; do
            echo "SELECT weir_enqueue('of$n', $(key_of "${key#x}"), '$i', 'message', NULL);"
        done
    done <"$scratch/keys" >"$scratch/script"
    client <"$scratch/script" >/dev/null 2>"$scratch/err"
    [ ! -s "$scratch/err" ] || { cat "$scratch/err"; return 1; }
    for n in 1 2 4 8 16 32 64; do
        drained "of$n"
        jq -r '"\(.payload) \(.partition) \(.key | @base64)"' "$scratch/lines" |
            sort -n >"$scratch/got"
        i=0
        grep -v '^#' "$vectors" | awk -F '\t' -v n="$n" '
            { c = 2; for (m = 1; m < n; m *= 2) c++; print $1, $c }' |
            while read -r key partition; do
                i=$((i + 1))
                echo "$i $partition $(printf "$(sed 's/^x//; s/../\\x&/g' <<<"$key")" | base64 -w 0)"
            done >"$scratch/want"
        cmp "$scratch/want" "$scratch/got" || { diff "$scratch/want" "$scratch/got"; return 1; }
    done
}

# ---- triggers -------------------------------------------------------------------------------

make_trigger() {
    case $engine in
        postgresql)
            sql_script "CREATE FUNCTION announce() RETURNS trigger LANGUAGE plpgsql AS \$\$
                BEGIN
                    PERFORM weir_enqueue('placed', NEW.name, row_to_json(NEW), 'order.placed');
                    RETURN NEW;
                END \$\$;" \
                "CREATE TRIGGER placed AFTER INSERT ON trigger_shop
                    FOR EACH ROW EXECUTE FUNCTION announce();"
            ;;
        mariadb)
            sql_script "CREATE TRIGGER placed AFTER INSERT ON trigger_shop FOR EACH ROW
                DO weir_enqueue('placed', NEW.name,
                    JSON_OBJECT('id', NEW.id, 'name', NEW.name), 'order.placed', NULL);"
            ;;
        sqlite)
            sql_script "CREATE TRIGGER placed AFTER INSERT ON trigger_shop BEGIN
                SELECT weir_enqueue('placed', NEW.name,
                    json_object('id', NEW.id, 'name', NEW.name), 'order.placed'); END;"
            ;;
    esac
}

works_in_a_trigger() {
    queue placed
    shop trigger_shop
    make_trigger
    sql_script "INSERT INTO trigger_shop VALUES (1, 'a'), (2, 'b');" 'BEGIN;' \
        "INSERT INTO trigger_shop VALUES (3, 'c');" 'ROLLBACK;' \
        "INSERT INTO trigger_shop VALUES (4, 'd');"
    drained placed
    prints 'a b d' eval 'jq -r .key "$scratch/lines" | paste -sd " "'
    prints '1 2 4' eval 'jq -r ".payload | fromjson | .id" "$scratch/lines" | paste -sd " "'
}

# ---- refusals -------------------------------------------------------------------------------

# x COUNT: so many.
x() {
    head -c "$1" /dev/zero | tr '\0' x
}

# refused TEXT ARGUMENTS: the call fails with this text; what came before it in the transaction is
# kept, and the transaction goes on.
refused() {
    local text=$1 arguments=$2 shown
    bad_count=$((bad_count + 1))
    {
        echo 'BEGIN;'
        echo "INSERT INTO bad_shop VALUES ($bad_count, 'before');"
        echo "SELECT weir_enqueue('bad', 'k', 'before', 'message', NULL);"
        echo 'SAVEPOINT s;'
        echo "SELECT weir_enqueue($arguments);"
        echo 'ROLLBACK TO SAVEPOINT s;'
        echo "SELECT weir_enqueue('bad', 'k', 'after', 'message', NULL);"
        echo 'COMMIT;'
    } | client >/dev/null 2>"$scratch/err" || true
    shown=$(head -c 300 "$scratch/err")
    grep -qF -- "$text" "$scratch/err" || { echo "no \"$text\": $shown"; return 1; }
    [ "$(grep -ciE '^(ERROR|Runtime error)' "$scratch/err")" -eq 1 ] || { echo "more than one: $shown"; return 1; }
}

refuses_what_the_library_refuses() {
    local twelve pairs
    bad_count=0
    queue bad
    shop bad_shop
    twelve=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...
    pairs=$(seq -s, 65 | sed -E 's/[0-9]+/"&":"x"/g')
    refused 'queue name is NULL, must have 1 to 1024 characters' "NULL, 'k', 'x', 't', NULL"
    refused 'queue name is empty, must have 1 to 1024 characters' "'', 'k', 'x', 't', NULL"
    refused "queue name \"a b\" has byte 0x20 at 1, must be ASCII letters, digits, '.', '_' and '-'" \
        "'a b', 'k', 'x', 't', NULL"
    refused 'queue name "a??" has byte 0xc3 at 1' "'aé', 'k', 'x', 't', NULL"
    refused 'queue name "-a" must begin and end with a letter or digit' "'-a', 'k', 'x', 't', NULL"
    refused "queue name \"$twelve\" is too long, must have at most 1024 characters" \
        "'$(x 1025)', 'k', 'x', 't', NULL"
    refused 'there is no queue "nowhere"' "'nowhere', 'k', 'x', 't', NULL"
    refused 'there is no queue "BAD"' "'BAD', 'k', 'x', 't', NULL"
    refused 'type is NULL, must have 1 to 1024 characters' "'bad', 'k', 'x', NULL, NULL"
    refused 'type is empty, must have 1 to 1024 characters' "'bad', 'k', 'x', '', NULL"
    refused 'type "a?" has byte 0x0a at 1, must be printable ASCII' "'bad', 'k', 'x', 'a
', NULL"
    refused "type \"$twelve\" is too long, must have at most 1024 characters" \
        "'bad', 'k', 'x', '$(x 1025)', NULL"
    refused 'payload is NULL, must have a value' "'bad', 'k', $null_payload, 't', NULL"
    refused 'payload has 65537 bytes, must have at most 65536' "'bad', 'k', '$(x 65537)', 't', NULL"
    refused "key \"$twelve\" is too long, must have at most 1024 bytes" \
        "'bad', '$(x 1025)', 'x', 't', NULL"
    refused 'headers are no JSON object of texts: no object at byte 0' "'bad', 'k', 'x', 't', '[1]'"
    refused 'header name is empty, must have 1 to 256 characters' \
        "'bad', 'k', 'x', 't', '{\"\": \"x\"}'"
    refused 'header name "??" has byte 0xc3 at 0, must be printable ASCII' \
        "'bad', 'k', 'x', 't', '{\"é\": \"x\"}'"
    refused "header name \"$twelve\" is too long, must have at most 256 characters" \
        "'bad', 'k', 'x', 't', '{\"$(x 257)\": \"x\"}'"
    refused 'header "a" is NULL, must have a value' "'bad', 'k', 'x', 't', '{\"a\": null}'"
    refused 'headers up to "a" are too large, names and values must have at most 16384 bytes together' \
        "'bad', 'k', 'x', 't', '{\"a\": \"$(x 16384)\"}'"
    refused 'header_count is 65, must be at most 64' "'bad', 'k', 'x', 't', '{$pairs}'"
    refused 'header "a" is there twice, must be once' \
        "'bad', 'k', 'x', 't', '{\"a\": \"1\", \"b\": \"2\", \"a\": \"3\"}'"
    if [ "$engine" != postgresql ]; then
        refused 'headers are no JSON object of texts' "'bad', 'k', 'x', 't', '{\"a\": '"
        refused 'zero byte' "'bad', $(key_of 610062), 'x', 't', NULL"
    fi
    drained bad
    prints "$bad_count" eval 'jq -r .payload "$scratch/lines" | grep -c before'
    prints "$bad_count" eval 'jq -r .payload "$scratch/lines" | grep -c after'
    prints $((2 * bad_count)) eval 'wc -l <"$scratch/lines"'
    prints "$bad_count" sql_script 'SELECT count(*) FROM bad_shop;'
}

takes_what_is_just_allowed() {
    local name
    name=$(x 254)-$(x 768)y
    queue "$name"
    enqueue "$name" "$(x 65536)" "$(x 1024)" "$(x 1024)" "'{\"$(x 256)\": \"$(x 16128)\"}'"
    drained "$name"
    jq -e '(.payload | length) == 65536 and (.key | length) == 1024 and (.type | length) == 1024
        and (.headers[] | length) == 16128' "$scratch/lines" >/dev/null
}

keeps_the_limit_of_payloads() {
    queue large
    ends 0 migrate --payload-max 10
    fails_naming 'payload has 11 bytes, must have at most 10' enqueue large 12345678901
    ends 0 migrate --payload-max 16777216
    enqueue large "$(x 100000)"
    refuses 2 '16777216' migrate --payload-max 16777217
    ends 0 migrate --payload-max 65536
    drained large
    prints 100000 jq '.payload | length' "$scratch/lines"
}

keeps_the_limit_of_a_queue() {
    queue limited --backlog-max 3
    drained limited # the subscription
    sql_script "SELECT weir_enqueue('limited', 'k', '1', 'message', NULL);" \
        "SELECT weir_enqueue('limited', 'k', '2', 'message', NULL);" \
        "SELECT weir_enqueue('limited', 'k', '3', 'message', NULL);"
    until_refused limited
    says_the_limit 3
    drained limited
    [[ "$(payloads)" = '1 2 3'* ]]
    until_true enqueue limited 5
    queue single --backlog-max 1
    drained single
    sql_script "SELECT weir_enqueue('single', 'k', '1', 'message', NULL);"
    until_refused single
    says_the_limit 1
}

# until_refused QUEUE: each message by a session of its own, since a number may be some seconds old.
until_refused() {
    until_true refuses_one_more "$1"
}
refuses_one_more() {
    ! enqueue "$1" more >/dev/null 2>&1 && grep -q 'its limit is' "$scratch/err"
}
says_the_limit() {
    grep -Eq "queue \"[a-z]+\" has [0-9]+ messages? waiting, its limit is $1" "$scratch/err"
}

# Nobody has subscribed: what is kept counts, what is dropped does not.
keeps_the_limit_without_subscriptions() {
    queue unread --backlog-max 3
    until_refused unread
    says_the_limit 3
    queue dropped --unread drop --backlog-max 1
    enqueue dropped 1
    enqueue dropped 2
}

refuses_another_cluster() {
    queue committed
    sql "$WEIR_DB" "UPDATE weir_meta SET value = 'x' || value WHERE name = 'identity'"
    fails_naming 'the database was restored from another cluster' enqueue committed lost
    sql "$WEIR_DB" "UPDATE weir_meta SET value = substr(value, 2) WHERE name = 'identity'"
    enqueue committed found
    drained committed
    prints found payloads
}

# ---- the extension --------------------------------------------------------------------------

is_an_extension_and_no_more() {
    prints sqlite3_weir_init eval 'nm -D --defined-only "$extension.so" | cut -d " " -f 3'
    fails_naming '' eval 'readelf -d "$extension.so" | grep -E "NEEDED.*(sqlite|pq|mariadb)"'
}

# By Debian's: others may be built without extensions.
works_in_python() {
    queue python
    /usr/bin/python3 - "${WEIR_DB#sqlite:}" "$extension" >"$scratch/out" <<'END'
import json
import sqlite3
import sys

path, extension = sys.argv[1:]
db = sqlite3.connect(path)
db.enable_load_extension(True)
db.load_extension(extension)
db.execute("CREATE TABLE python_shop (id INTEGER PRIMARY KEY, name TEXT)")


def place(name, payload):
    with db:  # commits, or rolls back when something is raised
        db.execute("INSERT INTO python_shop (name) VALUES (?)", (name,))
        db.execute(
            "SELECT weir_enqueue('python', ?, ?, 'order.placed', ?)",
            (name, payload, json.dumps({"from": "Python"})),
        )
        if name == "nobody":
            raise ValueError(name)


place("anna", "text")
place("Zoë", b"a\0b\xff")
try:
    place("nobody", "lost")
except ValueError as error:
    print("undone", error)
try:
    db.execute("SELECT weir_enqueue('nowhere', 'k', 'x')")
except sqlite3.OperationalError as error:
    print(error)
db.close()
END
    says 'undone nobody' 'there is no queue "nowhere"'
    drained python
    prints '["anna","text",null,"Python"]
["Zoë",null,"YQBi/w==","Python"]' jq -c '[.key, .payload, .payload_base64, .headers.from]' \
        "$scratch/lines"
}

uses_another_prefix() {
    "$weir" migrate --quiet --prefix app
    "$weir" queue add there --partitions 1 --quiet --prefix app
    fails_naming 'there is no queue "there"' enqueue there x
    sql_script "SELECT weir_prefix('app');" "SELECT weir_enqueue('there', 'k', 'x');"
    prints x eval '"$weir" relay --queue there --drain --quiet --prefix app --to stdout: |
        jq -r .payload'
    fails_naming 'prefix must begin with an ASCII letter' sql_script "SELECT weir_prefix('1');"
    fails_naming 'prefix is empty' sql_script 'SELECT weir_prefix(NULL);'
    fails_naming 'no such table: main.none_meta' \
        sql_script "SELECT weir_prefix('none');" "SELECT weir_enqueue('there', 'k', 'x');"
}

takes_three_arguments_to_five() {
    queue arguments
    sql_script "SELECT weir_enqueue('arguments', 'k', 1);" \
        "SELECT weir_enqueue('arguments', 'k', 2, 'two');" \
        "SELECT weir_enqueue('arguments', 'k', 3, 'three', '{\"a\": \"b\"}');"
    drained arguments
    prints '["1","message",{}]
["2","two",{}]
["3","three",{"a":"b"}]' jq -c '[.payload, .type, .headers]' "$scratch/lines"
    fails_naming '3 to 5 arguments' sql_script "SELECT weir_enqueue('arguments', 'k');"
    fails_naming '3 to 5 arguments' \
        sql_script "SELECT weir_enqueue('arguments', 'k', 'x', 't', NULL, 1);"
}

keeps_the_last_row_id() {
    queue rowid
    shop rowid_shop
    prints 77 eval "sql_script \"INSERT INTO rowid_shop VALUES (77, 'a');\" \
        \"SELECT weir_enqueue('rowid', 'k', 'x');\" 'SELECT last_insert_rowid();' | tail -n 1"
}

is_refused_to_strange_triggers() {
    queue placed
    shop trigger_shop
    make_trigger
    fails_naming 'unsafe use of weir_enqueue()' \
        sql_script 'PRAGMA trusted_schema = OFF;' "INSERT INTO trigger_shop VALUES (1, 'a');"
    sql_script "INSERT INTO trigger_shop VALUES (2, 'b');"
    drained placed
    prints b jq -r .key "$scratch/lines"
}

# PostgreSQL finds the function by the types of the arguments: whatever way the headers are given, they
# arrive, and of those that are not jsonb none is lost.
sees_all_headers_on_postgresql() {
    local twice="'{\"a\": \"1\", \"a\": \"2\"}'" text='header "a" is there twice' payload headers
    queue forms
    for payload in "'x'" "'x'::text" "'x'::bytea" "'{}'::jsonb" "'{}'::json"; do
        for headers in "'t', $twice" "'t', $twice::text" "'t', $twice::varchar" "headers => $twice" \
            "headers => $twice::text"; do
            fails_naming "$text" sql_script "SELECT weir_enqueue('forms', 'k', $payload, $headers);"
        done
    done
    printf '%s\n' '1 message -' '2 t -' '3 t -' '4 t -' '5 t -' '6 t 1' '7 t 1' '8 t 1' '9 message 1' \
        '10 message 1' '11 t 1' >"$scratch/want"
    sql_script "SELECT weir_enqueue('forms', 'k', '1');" \
        "SELECT weir_enqueue('forms', 'k', '2', 't');" \
        "SELECT weir_enqueue('forms', 'k', '3', 't'::varchar);" \
        "SELECT weir_enqueue('forms', 'k', '4', 't'::name);" \
        "SELECT weir_enqueue('forms', 'k', '5', 't', NULL);" \
        "SELECT weir_enqueue('forms', 'k', '6', 't', '{\"a\": 1}');" \
        "SELECT weir_enqueue('forms', 'k', '7', 't', '{\"a\": 1}'::jsonb);" \
        "SELECT weir_enqueue('forms', 'k', '8', 't', jsonb_build_object('a', 1));" \
        "SELECT weir_enqueue('forms', 'k', '9', headers => '{\"a\": 1}');" \
        "SELECT weir_enqueue('forms', 'k', '10', headers => '{\"a\": 1}'::jsonb);" \
        "PREPARE p AS SELECT weir_enqueue(\$1, \$2, \$3, \$4, \$5);" \
        "EXECUTE p ('forms', 'k', '11', 't', '{\"a\": 1}');"
    drained forms
    jq -r '[.payload, .type, .headers.a // "-"] | join(" ")' "$scratch/lines" |
        diff - "$scratch/want"
}

# ---- rights ---------------------------------------------------------------------------------

as_guest() {
    sql "${WEIR_DB/weir:cork-and-lead/guest:reed-and-rush}" "$1"
}

needs_the_right_to_execute_and_no_other() {
    local call="SELECT weir_enqueue('guests', 'k', 'x', 'message', NULL)" function=weir_enqueue
    queue guests --backlog-max 100
    drained guests
    [ "$engine" = mariadb ] || fails_naming denied as_guest "$call"
    [ "$engine" = mariadb ] || function='weir_enqueue(text, text, text, text, jsonb)'
    sql "$WEIR_DB" "GRANT EXECUTE ON FUNCTION $function TO guest"
    as_guest "$call" >/dev/null
    drained guests
    prints x payloads
    fails_naming denied as_guest 'SELECT * FROM weir_log'
    fails_naming denied as_guest 'DELETE FROM weir_queue'
    fails_naming denied as_guest "SELECT weir_enqueue_headers('{\"a\": \"b\"}')"
}

# What a caller calls like our tables is not taken for them.
is_not_led_astray() {
    queue astray
    sql_script 'CREATE TEMPORARY TABLE weir_queue (id integer, name text, partitions integer,
            backlog_max bigint);' \
        'CREATE TEMPORARY TABLE weir_meta (name text, value text);' \
        "SET search_path = pg_temp;" \
        "SELECT public.weir_enqueue('astray', 'k', 'x', 'message', NULL);"
    drained astray
    prints x payloads
}

# MariaDB makes no function that is not said to be deterministic while it keeps a binary log, unless
# it is told to trust who makes it.
names_the_setting_of_a_binary_log() {
    WEIR_DB=$(own_mariadb binary --log-bin --server-id=1 --binlog-format=MIXED)
    export WEIR_DB
    ends 0 migrate
    says ': schema 0 -> ' 'no weir_enqueue() for producers in SQL' \
        'log_bin_trust_function_creators = 1'
    ends 0 queue add plain --partitions 1
    ends 0 enqueue plain hello
    ends 0 migrate --json
    json '.from == .to and (.no_functions | contains("log_bin_trust_function_creators"))'
    "$weir" doctor >"$scratch/out" || true
    says 'log_bin_trust_function_creators'
    sql "$WEIR_DB" 'SET GLOBAL log_bin_trust_function_creators = 1'
    ends 0 migrate
    says 'nothing to do'
    ! grep -q 'for producers in SQL' "$scratch/out"
    works_while_others_write
}

# With a binary log of this kind what a function reads is locked: nobody must run into that.
works_while_others_write() {
    queue logged
    exec 3> >(client --unbuffered >"$scratch/open" 2>&1)
    echo "BEGIN; SELECT weir_enqueue('logged', 'k', 'open', 'message', NULL);" >&3
    until_true grep -q . "$scratch/open"
    enqueue logged closed
    drained logged
    prints closed payloads
    sql "$WEIR_DB" 'SET lock_wait_timeout = 1, innodb_lock_wait_timeout = 1;
        UPDATE weir_queue SET removed_id = removed_id + 1'
    ends 0 queue pause logged
    ends 0 queue resume logged
    echo 'COMMIT;' >&3
    exec 3>&-
    until_true test "$(waiting logged)" -eq 1
    drained logged
    prints open payloads
}

for engine in $engines; do
    null_payload=NULL
    [ "$engine" != postgresql ] || null_payload=NULL::text
    use_engine "$engine"
    it "delivers what is committed on $engine, and nothing else" delivers_what_is_committed
    it "tells the id that sinks print on $engine" tells_the_id
    it "keeps the order with the library's messages on $engine" keeps_the_order
    it "stores as the library does on $engine" stores_as_the_library_does
    it "takes other values of headers on $engine" takes_other_values_of_headers
    it "spreads messages without a key on $engine" spreads_without_a_key
    it "gives keys the partitions of the vectors on $engine" follows_the_vectors
    it "works in a trigger on $engine" works_in_a_trigger
    it "refuses what the library refuses on $engine" refuses_what_the_library_refuses
    it "takes what is just allowed on $engine" takes_what_is_just_allowed
    it "keeps the limit of payloads on $engine" keeps_the_limit_of_payloads
    it "keeps the limit of a queue on $engine" keeps_the_limit_of_a_queue
    it "keeps the limit of a queue without subscriptions on $engine" \
        keeps_the_limit_without_subscriptions
done
engine=sqlite
WEIR_DB=sqlite:$scratch/alone.db
export WEIR_DB
"$weir" migrate --quiet
it 'has nothing of SQLite in the extension, and shows its entry only' is_an_extension_and_no_more
it 'works in Python, with what comes with it' works_in_python
it 'uses the tables of another prefix' uses_another_prefix
it 'takes three arguments to five' takes_three_arguments_to_five
it "keeps the application's last row id" keeps_the_last_row_id
it 'is refused to triggers where the schema is not trusted' is_refused_to_strange_triggers
for engine in postgresql mariadb; do
    WEIR_DB=$(new_database "$engine" rights)
    export WEIR_DB
    "$weir" migrate --quiet
    it "needs the right to execute and no other on $engine" needs_the_right_to_execute_and_no_other
done
engine=postgresql
WEIR_DB=$(postgresql_url astray)
export WEIR_DB
"$weir" migrate --quiet
it 'sees all headers, whatever their type, on PostgreSQL' sees_all_headers_on_postgresql
it 'is not led astray by temporary tables' is_not_led_astray
it 'refuses a database that was restored from another cluster' refuses_another_cluster
engine=mariadb
it 'names the setting that a binary log asks for' names_the_setting_of_a_binary_log

finish
