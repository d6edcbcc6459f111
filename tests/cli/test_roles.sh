#!/usr/bin/env bash
# `weir migrate --roles`: four roles, each of which can do its work and nothing else.
. "$(dirname "$0")/../kit/tap.sh"
. "$(dirname "$0")/../kit/server.sh"
. "$(dirname "$0")/../kit/cli.sh"

# as ROLE [ARG...]: the database for a user who has this role and nothing else.
as() {
    echo "${WEIR_DB/weir:cork-and-lead/joe_$1:pass-$1}"
}

# make_user NAME PASSWORD: who may log in, and nothing else.
make_user() {
    if [ "$engine" = postgresql ]; then
        sql "$WEIR_DB" "CREATE ROLE $1 LOGIN PASSWORD '$2'"
    else
        sql "$WEIR_DB" "CREATE USER $1 IDENTIFIED BY '$2'"
    fi
}

# give ROLE: to a user of its own.
give() {
    make_user "joe_$1" "pass-$1"
    sql "$WEIR_DB" "GRANT weir_$1 TO joe_$1"
    [ "$engine" = postgresql ] || sql "$WEIR_DB" "SET DEFAULT ROLE weir_$1 FOR joe_$1"
}

# denied ROLE: each line of the input is a statement that this role may not run.
denied() {
    local statement url count=0
    url=$(as "$1")
    while read -r statement; do
        [ -n "$statement" ] || continue
        if sql "$url" "$statement" >"$scratch/denied" 2>&1; then
            echo "$1 may run: $statement"
            return 1
        fi
        grep -qE 'permission denied|must be owner|command denied|Access denied|access denied' \
            "$scratch/denied" || { echo "$statement:"; cat "$scratch/denied"; return 1; }
        count=$((count + 1))
    done
    [ "$count" -gt 5 ]
}

# refused ROLE COMMAND...: the program ends with 1, naming a right.
refused() {
    local role=$1
    shift
    refuses 1 denied "$@" --db "$(as "$role")"
}

# ---- making ----------------------------------------------------------------------------------

shows_what_it_would_run() {
    ends 0 migrate --roles --dry-run
    says 'CREATE ROLE' 'weir_owner;' 'TO weir_runtime;' 'TO weir_producer;' 'TO weir_viewer;'
    ! sql "$WEIR_DB" 'GRANT weir_viewer TO guest' 2>/dev/null # there is none yet
    ends 0 migrate --roles --dry-run --json
    json '.sql | contains("weir_producer")'
    ends 0 migrate --roles --dry-run --prefix none
    says "look at 'weir migrate --roles --dry-run' again"
}

makes_them_once() {
    ends 0 migrate --roles
    says 'schema ' 'roles: 4 made, ' ', 0 revokes'
    ends 0 migrate --roles
    says 'roles: nothing to do'
    ends 0 migrate --roles --json
    json '.roles == {"made": 0, "granted": 0, "revoked": 0, "blind": false}'
    ends 0 migrate --roles --dry-run
    says '-- roles: nothing to do'
}

# What --dry-run prints does the same, by the engine's own client.
prints_sql_that_works() {
    "$weir" migrate --prefix printed --quiet
    "$weir" migrate --prefix printed --roles --dry-run >"$scratch/sql"
    if [ "$engine" = mariadb ]; then
        mariadb_client "$WEIR_DB" <"$scratch/sql"
    else
        "$server_bin/psql" -d "$WEIR_DB" -v ON_ERROR_STOP=1 -qX -f "$scratch/sql"
    fi
    ends 0 migrate --prefix printed --roles
    says 'roles: nothing to do'
}

# Tables of a longer prefix are not ours.
keeps_prefixes_apart() {
    ends 0 migrate --prefix weir_two --roles
    says 'roles: 4 made, '
    ends 0 migrate --roles
    says 'roles: nothing to do'
    sql "$(as viewer)" 'SELECT count(*) FROM weir_queue' >/dev/null
    ! sql "$(as viewer)" 'SELECT count(*) FROM weir_two_queue' 2>/dev/null
}

# It may log in before and after; its password is the same.
leaves_a_role_as_it_is() {
    sql "$WEIR_DB" "CREATE ROLE there_runtime LOGIN PASSWORD 'kept' CONNECTION LIMIT 7"
    ends 0 migrate --prefix there --roles
    says 'roles: 3 made, '
    prints 't|7' sql "$WEIR_DB" \
        "SELECT rolcanlogin, rolconnlimit FROM pg_roles WHERE rolname = 'there_runtime'"
    sql "${WEIR_DB/weir:cork-and-lead/there_runtime:kept}" 'SELECT count(*) FROM there_lease' \
        >/dev/null
}

makes_roles_without_login() {
    prints 0 sql "$WEIR_DB" "SELECT count(*) FROM pg_roles WHERE rolname LIKE 'weir\\_%'
        AND (rolcanlogin OR rolsuper OR rolcreaterole OR rolcreatedb OR rolbypassrls)"
}

# Who may not make roles is told what it takes, and who should do it.
says_what_is_missing() {
    make_user jane pass-jane
    if [ "$engine" = postgresql ]; then
        sql "$WEIR_DB" 'GRANT CREATE ON SCHEMA public TO jane'
        right=CREATEROLE
    else
        sql "$WEIR_DB" "GRANT ALL ON \`${WEIR_DB##*/}\`.* TO jane WITH GRANT OPTION"
        right='CREATE USER'
    fi
    refuses 1 "$right: have an administrator run what 'weir migrate --roles --dry-run' prints" \
        migrate --roles --prefix janes --db "${WEIR_DB/weir:cork-and-lead/jane:pass-jane}"
}

# ---- keeping ---------------------------------------------------------------------------------

revokes_what_is_too_much() {
    sql "$WEIR_DB" 'GRANT SELECT ON weir_log TO weir_viewer'
    sql "$WEIR_DB" 'GRANT UPDATE ON weir_queue TO weir_producer'
    sql "$WEIR_DB" 'GRANT INSERT (name) ON weir_queue TO weir_viewer'
    sql "$(as viewer)" 'SELECT payload FROM weir_log' >/dev/null
    ends 0 migrate --roles --json
    json '.roles.revoked == 3'
    ! sql "$(as viewer)" 'SELECT payload FROM weir_log' 2>/dev/null
    sql "$(as viewer)" 'SELECT id, pid FROM weir_log' >/dev/null
    ends 0 migrate --roles
    says 'roles: nothing to do'
}

revokes_what_everybody_may() {
    sql "$WEIR_DB" 'GRANT SELECT ON weir_dead_letter TO PUBLIC'
    sql "$(as producer)" 'SELECT payload FROM weir_dead_letter' >/dev/null
    ends 0 migrate --roles --json
    json '.roles.revoked == 1'
    ! sql "$(as producer)" 'SELECT payload FROM weir_dead_letter' 2>/dev/null
}

revokes_rights_on_the_whole_database() {
    sql "$WEIR_DB" "GRANT SELECT ON \`${WEIR_DB##*/}\`.* TO weir_producer"
    sql "$(as producer)" 'SELECT payload FROM weir_incoming' >/dev/null
    ends 0 migrate --roles --json
    json '.roles.revoked == 1'
    ! sql "$(as producer)" 'SELECT payload FROM weir_incoming' 2>/dev/null
}

# A right that was taken away, and a table that a later version would have made.
grants_what_is_missing() {
    sql "$WEIR_DB" 'REVOKE UPDATE ON weir_lease FROM weir_runtime'
    sql "$(as owner)" 'CREATE TABLE weir_later (id INTEGER, payload INTEGER)'
    ! sql "$(as runtime)" 'INSERT INTO weir_later VALUES (1, 2)' 2>/dev/null
    ends 0 migrate --roles --db "$(as owner)"
    sql "$(as runtime)" 'UPDATE weir_lease SET epoch = epoch'
    sql "$(as runtime)" 'INSERT INTO weir_later VALUES (1, 2)'
    sql "$(as viewer)" 'SELECT id FROM weir_later' >/dev/null
    ! sql "$(as viewer)" 'SELECT payload FROM weir_later' 2>/dev/null
    sql "$(as owner)" 'DROP TABLE weir_later'
    ends 0 migrate --roles
    says 'roles: nothing to do'
}

# It has the owner's rights; who may enqueue may call it, and no other function of ours.
lets_producers_call_the_function() {
    local call="SELECT fn_enqueue('orders', 'k', 'x', 'message', NULL)"
    if [ "$engine" = postgresql ]; then
        sql "$WEIR_DB" "CREATE FUNCTION fn_secret() RETURNS integer LANGUAGE sql AS 'SELECT 1'"
    else
        sql "$WEIR_DB" "CREATE FUNCTION fn_secret() RETURNS INT RETURN 1"
    fi
    ends 0 migrate --prefix fn --roles
    ends 0 queue add orders --partitions 1 --prefix fn
    sql "$WEIR_DB" 'GRANT fn_producer TO joe_producer'
    if [ "$engine" = mariadb ]; then sql "$WEIR_DB" 'GRANT fn_producer TO weir_producer'; fi
    sql "$(as producer)" "$call" >/dev/null
    ends 0 relay --queue orders --to stdout: --drain --prefix fn
    says '"payload":"x"'
    ! sql "$(as producer)" 'SELECT fn_secret()' 2>/dev/null
    ! sql "$(as viewer)" "$call" 2>/dev/null
    sql "$WEIR_DB" "REVOKE fn_producer FROM joe_producer"
    if [ "$engine" = mariadb ]; then sql "$WEIR_DB" 'REVOKE fn_producer FROM weir_producer'; fi
    ends 0 migrate --prefix fn --roles
    says 'roles: nothing to do'
}

# ---- what each may do ------------------------------------------------------------------------

lets_the_owner_migrate() {
    ends 0 migrate --db "$(as owner)"
    says 'nothing to do'
    sql "$(as owner)" 'ALTER TABLE weir_member ADD COLUMN extra INTEGER'
    sql "$(as owner)" 'ALTER TABLE weir_member DROP COLUMN extra'
}

lets_the_runtime_deliver() {
    local url
    url=$(as runtime)
    ends 0 queue add work --partitions 2 --db "$url"
    ends 0 enqueue work first --db "$url"
    ends 0 relay --queue work --to "file:$scratch/work.$engine" --drain --db "$url"
    [ "$(jq -r .payload "$scratch/work.$engine")" = first ]
    ends 0 enqueue work bad --db "$url"
    ends 0 relay --queue work --to 'exec:exit 65' --as other --drain --db "$url"
    ends 0 dlq list --queue work --json --db "$url"
    json '.dead_letters | length > 0'
    ends 0 dlq requeue --queue work --all --yes --db "$url"
    ends 0 relay --queue work --to "file:$scratch/work.$engine" --drain --db "$url"
    ends 0 dlq cleanup --queue work --yes --db "$url"
    ends 0 queue pause work --db "$url"
    ends 0 queue resume work --db "$url"
    ends 0 status --db "$url"
    ends 0 queue remove work --force --yes --db "$url"
}

lets_the_producer_enqueue() {
    local url
    url=$(as producer)
    "$weir" queue add orders --partitions 2 --quiet
    ends 0 enqueue orders --key a --header x=y one --db "$url"
    printf '%s\n' two three | "$weir" enqueue orders --lines --quiet --db "$url"
    [ "$(waiting orders)" -eq 3 ]
}

lets_the_viewer_look() {
    local url
    url=$(as viewer)
    "$weir" queue add seen --partitions 2 --quiet
    "$weir" enqueue seen secret --quiet
    "$weir" relay --queue seen --to 'exec:exit 65' --drain --quiet
    "$weir" enqueue seen secret --quiet
    ends 0 status --db "$url"
    says seen
    ends 0 status seen --all --json --db "$url"
    json '.queues[0].waiting == 1 and .queues[0].dead_letters == 1'
    ends 0 queue list --db "$url"
    says seen
    ends 0 dlq list --queue seen --db "$url"
    says 'exit code 65'
    ends 0 dlq list --queue seen --json --db "$url"
    json '.dead_letters | length == 1 and (.[0] | has("payload_size") or has("headers") | not)'
    refused viewer dlq show "$(jq '.dead_letters[0].id' "$scratch/out")"
}

# What an execution waits for and where answers come in, but nothing of tokens and payloads.
lets_the_viewer_see_why_an_execution_waits() {
    local url id
    url=$(as viewer)
    id=$("$weir" submit --lane seen --kind job)
    "$weir" execution suspend "$("$weir" execution claim --lane seen -q)" --until ok@desk -q >/dev/null
    ends 0 execution get "$id" --db "$url"
    says 'waits for     ok@desk'
    ends 0 execution waitpoints "$id" --json --db "$url"
    json '.waitpoints[0] | .key == "desk" and .state == "active" and .fingerprint == ""'
    refused viewer execution signals "$id"
    refused viewer execution approve "$id" desk
    refused viewer execution resume "$id"
    refused viewer key rotate k2
    refused viewer budget create mine --hard cents=1
}

# ---- what each may not do --------------------------------------------------------------------

producer_can_do_nothing_else() {
    refused producer queue add other --partitions 1
    refused producer queue pause orders
    refused producer queue remove orders --force --yes
    refused producer dlq list
    refused producer relay --queue orders --to stdout: --drain
    refused producer migrate --prefix producers
    if [ "$engine" = postgresql ]; then
        denied producer <<'END'
SELECT payload FROM weir_log
SELECT * FROM weir_log
SELECT message_key FROM weir_log
SELECT payload FROM weir_log_0
COPY weir_log TO STDOUT
SELECT count(*) FROM weir_aside
SELECT count(*) FROM weir_dead_letter
SELECT count(*) FROM weir_lease
SELECT count(*) FROM weir_ack
SELECT count(*) FROM weir_subscription
INSERT INTO weir_log (id, pid, uid, type, payload) VALUES (1, 64, '', 't', '')
INSERT INTO weir_log (xid, pid, uid, type, payload) VALUES ('1', 64, '', 't', '')
INSERT INTO weir_log (created_us, pid, uid, type, payload) VALUES (1, 64, '', 't', '')
INSERT INTO weir_log_0 (pid, uid, type, payload) VALUES (64, '', 't', '')
UPDATE weir_log SET payload = ''
DELETE FROM weir_log
TRUNCATE weir_log
TRUNCATE weir_log_0
BEGIN; LOCK TABLE weir_log IN ACCESS EXCLUSIVE MODE
BEGIN; LOCK TABLE weir_log_0 IN ACCESS EXCLUSIVE MODE
SELECT setval('weir_log_id', 1)
SELECT setval('weir_asleep', 1)
SELECT last_value FROM weir_log_id
SELECT nextval('weir_ack_id')
INSERT INTO weir_ack (subscription, pid, version, epoch, incarnation, cut, last_id, seq) VALUES (1, 64, 9, 9, '', 9, 9, 9)
INSERT INTO weir_cut VALUES (9, 9, '9', '9:9:', 9, 9)
UPDATE weir_lease SET owner = 1
UPDATE weir_queue SET paused = true
INSERT INTO weir_queue (name, partitions, created_us) VALUES ('mine', 1, 0)
DELETE FROM weir_queue
UPDATE weir_meta SET value = ''
UPDATE weir_schema SET readable_by = 9
CREATE TABLE weir_mine (id integer)
CREATE INDEX ON weir_log (pid)
CREATE TRIGGER mine BEFORE INSERT ON weir_log FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()
ALTER TABLE weir_log ALTER COLUMN payload DROP NOT NULL
DROP TABLE weir_log
SET ROLE weir_runtime
END
    else
        denied producer <<'END'
SELECT payload FROM weir_incoming
SELECT id FROM weir_incoming
SELECT payload FROM weir_log
SELECT count(*) FROM weir_aside
SELECT count(*) FROM weir_dead_letter
SELECT count(*) FROM weir_lease
SELECT count(*) FROM weir_ack
SELECT count(*) FROM weir_counter
SELECT count(*) FROM weir_subscription
INSERT INTO weir_log (id, source_id, pid, created_us, uid, type, payload) VALUES (1, 1, 64, 0, '', 't', '')
UPDATE weir_incoming SET payload = ''
DELETE FROM weir_incoming
TRUNCATE weir_incoming
REPLACE INTO weir_incoming (era, id, pid, created_us, uid, type, payload) VALUES (1, 1, 64, 0, '', 't', '')
LOCK TABLES weir_incoming WRITE
SELECT NEXT VALUE FOR weir_era_now
SELECT SETVAL(weir_era_now, 9)
INSERT INTO weir_era VALUES (9)
INSERT INTO weir_ack (subscription, pid, version, epoch, incarnation, cut, last_id, seq) VALUES (1, 64, 9, 9, '', 9, 9, 9)
UPDATE weir_lease SET owner = 1
UPDATE weir_counter SET value = 0
UPDATE weir_queue SET paused = TRUE
INSERT INTO weir_queue (name, partitions, created_us) VALUES ('mine', 1, 0)
DELETE FROM weir_queue
UPDATE weir_meta SET value = ''
UPDATE weir_schema SET readable_by = 9
CREATE TABLE weir_mine (id INTEGER)
CREATE INDEX mine ON weir_incoming (pid)
CREATE TRIGGER mine BEFORE INSERT ON weir_incoming FOR EACH ROW SET @x = 1
ALTER SEQUENCE weir_incoming_id RESTART 1
ALTER TABLE weir_incoming DROP COLUMN payload
DROP TABLE weir_incoming
GRANT INSERT ON weir_incoming TO guest
END
    fi
}

runtime_cannot_change_the_schema() {
    refused runtime migrate --prefix runtimes
    if [ "$engine" = postgresql ]; then
        denied runtime <<'END'
CREATE TABLE weir_mine (id integer)
CREATE INDEX ON weir_log (pid)
ALTER TABLE weir_queue ADD COLUMN mine integer
ALTER SEQUENCE weir_log_id RESTART 1
DROP TABLE weir_lease
UPDATE weir_schema SET readable_by = 9
INSERT INTO weir_schema VALUES (9, 9, 'mine', now())
DELETE FROM weir_schema
UPDATE weir_meta SET value = ''
UPDATE weir_log SET payload = ''
DELETE FROM weir_log
TRUNCATE weir_log
UPDATE weir_ack SET seq = 0
DELETE FROM weir_ack
UPDATE weir_cut SET hi = 0
INSERT INTO weir_log_0 (pid, uid, type, payload) VALUES (64, '', 't', '')
TRUNCATE weir_lease
SELECT setval('weir_log_id', 1)
SELECT setval('weir_ack_id', 1)
CREATE TRIGGER mine BEFORE INSERT ON weir_log FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()
SET ROLE weir_owner
CREATE ROLE mine
END
    else
        denied runtime <<'END'
CREATE TABLE weir_mine (id INTEGER)
CREATE INDEX mine ON weir_log (pid)
ALTER TABLE weir_queue ADD COLUMN mine INTEGER
ALTER SEQUENCE weir_incoming_id RESTART 1
DROP TABLE weir_lease
TRUNCATE weir_log
UPDATE weir_schema SET readable_by = 9
INSERT INTO weir_schema VALUES (9, 9, 'mine', now())
DELETE FROM weir_schema
UPDATE weir_meta SET value = ''
CREATE TRIGGER mine BEFORE INSERT ON weir_log FOR EACH ROW SET @x = 1
CREATE FUNCTION weir_mine() RETURNS INT RETURN 1
GRANT SELECT ON weir_log TO guest
CREATE ROLE mine
END
    fi
}

viewer_sees_no_payload_and_writes_nothing() {
    refused viewer enqueue seen x
    refused viewer queue add other --partitions 1
    refused viewer queue pause seen
    refused viewer relay --queue seen --to stdout: --drain
    refused viewer dlq discard --queue seen --all --yes
    refused viewer migrate --prefix viewers
    if [ "$engine" = postgresql ]; then
        printf '%s\n' 'SELECT payload FROM weir_log_0' 'COPY weir_log TO STDOUT' \
            "SELECT nextval('weir_log_id')" "SELECT setval('weir_log_id', 1)" \
            "SELECT setval('weir_asleep', 1)" 'TRUNCATE weir_log_0' 'TRUNCATE weir_cut' \
            'SELECT weir_log FROM weir_log' 'SET ROLE weir_runtime'
    else
        printf '%s\n' 'SELECT payload FROM weir_incoming' 'SELECT NEXT VALUE FOR weir_incoming_id' \
            'SELECT SETVAL(weir_incoming_id, 9)' 'UPDATE weir_counter SET value = 0' \
            'TRUNCATE weir_log' "INSERT INTO weir_era VALUES (9)"
    fi >"$scratch/own"
    denied viewer <<END
SELECT payload FROM weir_log
SELECT headers FROM weir_log
SELECT * FROM weir_log
SELECT id FROM weir_log ORDER BY payload
SELECT id FROM weir_log WHERE length(payload) > 3
SELECT payload FROM weir_aside
SELECT payload FROM weir_dead_letter
SELECT headers FROM weir_dead_letter
SELECT * FROM weir_dead_letter
INSERT INTO weir_log (pid, uid, type, payload) VALUES (64, '', 't', '')
UPDATE weir_log SET pid = 1
DELETE FROM weir_log
UPDATE weir_lease SET owner = 1
UPDATE weir_queue SET paused = true
DELETE FROM weir_dead_letter
UPDATE weir_dead_letter SET status = 'resolved'
DELETE FROM weir_schema
CREATE TABLE weir_mine (id integer)
DROP TABLE weir_log
$(cat "$scratch/own")
END
}

# On PostgreSQL a function tells the number. On MariaDB, where no process delivers, the limit is counted
# by who enqueues; the viewer's rights are enough for that.
lets_a_producer_count_what_waits() {
    "$weir" queue add limited --partitions 1 --backlog-max 2 --quiet
    if [ "$engine" = postgresql ]; then
        ends 0 enqueue limited x --db "$(as producer)"
        return
    fi
    refused producer enqueue limited x
    sql "$WEIR_DB" 'GRANT weir_viewer TO joe_producer'
    sql "$WEIR_DB" 'GRANT weir_viewer TO weir_producer'
    ends 0 enqueue limited x --db "$(as producer)"
    sql "$WEIR_DB" 'REVOKE weir_viewer FROM joe_producer'
    sql "$WEIR_DB" 'REVOKE weir_viewer FROM weir_producer'
}

# ---- doctor ----------------------------------------------------------------------------------

doctor_finds_nothing() {
    ends 0 doctor --json
    json '.findings[] | select(.check == "roles") | .verdict == "ok"'
}

doctor_names_what_is_too_much() {
    sql "$WEIR_DB" 'GRANT SELECT ON weir_log TO weir_producer'
    sql "$WEIR_DB" 'GRANT DELETE ON weir_queue TO weir_viewer'
    ends 0 doctor --json
    json '[.findings[] | select(.check == "roles") | .verdict] == ["warning", "warning"]'
    ends 0 doctor
    says 'weir_producer has too much: REVOKE SELECT ON' 'weir_viewer has too much: REVOKE DELETE ON' \
        "run 'weir migrate --roles'"
    ends 0 migrate --roles
    doctor_finds_nothing
}

doctor_tells_what_a_role_is_for() {
    ends 0 doctor --db "$(as producer)"
    says 'this user may only enqueue'
    ends 0 doctor --db "$(as viewer)"
    says 'this user may only read'
    ends 0 doctor --db "$(as runtime)"
    says 'this user may enqueue and deliver'
}

for engine in postgresql mariadb; do
    use_engine "$engine"
    it "shows what it would run on $engine" shows_what_it_would_run
    it "makes the roles once on $engine" makes_them_once
    for role in owner runtime producer viewer; do give $role; done
    it "lets the owner migrate on $engine" lets_the_owner_migrate
    it "lets the runtime deliver on $engine" lets_the_runtime_deliver
    it "lets the producer enqueue on $engine" lets_the_producer_enqueue
    it "lets a producer count what waits, as a viewer, on $engine" lets_a_producer_count_what_waits
    it "lets the viewer look on $engine" lets_the_viewer_look
    it "does not let the runtime change the schema on $engine" runtime_cannot_change_the_schema
    it "lets the producer do nothing else on $engine" producer_can_do_nothing_else
    it "shows the viewer no payload and lets it write nothing on $engine" \
        viewer_sees_no_payload_and_writes_nothing
    it "revokes what is too much on $engine" revokes_what_is_too_much
    it "grants what is missing, as the owner, on $engine" grants_what_is_missing
    it "lets producers call the function on $engine" lets_producers_call_the_function
    it "the doctor finds nothing on $engine" doctor_finds_nothing
    it "the doctor names what is too much on $engine" doctor_names_what_is_too_much
    it "the doctor tells what a role is for on $engine" doctor_tells_what_a_role_is_for
    it "keeps prefixes apart on $engine" keeps_prefixes_apart
    it "prints SQL that works on $engine" prints_sql_that_works
    it "says what is missing to make roles on $engine" says_what_is_missing
    if [ "$engine" = postgresql ]; then
        it "lets the viewer see why an execution waits on $engine" \
            lets_the_viewer_see_why_an_execution_waits
        it 'revokes what everybody may on postgresql' revokes_what_everybody_may
        it 'makes roles without login on postgresql' makes_roles_without_login
        it 'leaves a role that is there as it is on postgresql' leaves_a_role_as_it_is
    else
        it 'revokes rights on the whole database on mariadb' revokes_rights_on_the_whole_database
    fi
done
it 'refuses a file, which has modes' \
    refuses 2 'SQLite has no roles' migrate --roles --db "sqlite:$scratch/a.db"
it 'makes no file on the way' [ ! -e "$scratch/a.db" ]

finish
