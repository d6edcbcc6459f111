# shellcheck shell=bash
# server.sh - the run's PostgreSQL and MariaDB servers for tests in shell. To be sourced after
# tap.sh.
#
#   url=$(postgresql_url orders)     a new, empty database; starts the server if need be
#   url=$(mariadb_url orders)
#   sql "$url" 'SELECT 1'            on either
#
# With WEIR_POOLER=1 a PgBouncer in transaction mode stands in front of PostgreSQL, as for tests in
# C (pooler.c): URLs lead through it and say `pooler=transaction`.
#
# They are the servers that tests in C share (server.c): the folder of the run, WEIR_RUN_DIR, holds
# the same files, and whoever comes first starts one. script/test ends them. A test that is started
# by hand has a run of its own, which ends with it.

if [ -z "${WEIR_RUN_DIR:-}" ]; then
    server_parent=${TMPDIR:-/tmp}
    [ ! -w /dev/shm ] || server_parent=/dev/shm
    WEIR_RUN_DIR=$(mktemp -d "$server_parent/weir-XXXXXX")
    export WEIR_RUN_DIR
    chmod 711 "$WEIR_RUN_DIR" # the servers run as somebody else
    trap end_own_run EXIT
fi

# shellcheck disable=SC2317 # called by the trap
end_own_run() {
    local file
    for file in "$WEIR_RUN_DIR"/*.pid; do
        [ ! -e "$file" ] || end_server "$file"
    done
    # shellcheck disable=SC2154 # of tap.sh
    rm -rf "$WEIR_RUN_DIR" "$scratch"
}

# end_server FILE: the one whose process and signal are in it. Nobody else shall do it again.
end_server() {
    local pid signal i
    read -r pid signal <"$1"
    rm "$1"
    kill -s "$signal" "$pid" 2>/dev/null || true
    for ((i = 0; i < 200; i++)); do
        grep -q '^State:[[:space:]]*[^Z]' "/proc/$pid/status" 2>/dev/null || break
        sleep 0.05
    done
}

# The newest version that is installed.
server_bin=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -n 1)

# server_user ENGINE: the user that it runs as, if we are root.
server_user() {
    if [ "$1" = mariadb ]; then echo mysql; else echo postgres; fi
}

# as_server ENGINE COMMAND...: as that user.
as_server() {
    local engine=$1
    shift
    if [ "$(id -u)" -eq 0 ]; then
        runuser -u "$(server_user "$engine")" -- "$@"
    else
        "$@"
    fi
}

server_folder() {
    install -d -m 711 "$2"
    [ "$(id -u)" -ne 0 ] || chown "$(server_user "$1"):" "$2"
}

make_postgresql_data() {
    echo cork-and-lead | as_server postgresql tee "$1/secret" >/dev/null
    as_server postgresql "$server_bin/initdb" --pgdata="$1/data" --username=weir \
        --pwfile="$1/secret" --auth=md5 --locale=C --encoding=UTF8 --no-sync >/dev/null
}

# The users are made at every start. One without a name would stand in front of ours.
make_mariadb_data() {
    as_server mariadb mariadb-install-db --no-defaults --datadir="$1/data" \
        --auth-root-authentication-method=normal --skip-test-db --innodb-log-file-size=4M \
        --tmpdir="$1" >/dev/null
    as_server mariadb tee "$1/users.sql" >/dev/null <<'END'
DELETE FROM mysql.global_priv WHERE user = '';
FLUSH PRIVILEGES;
CREATE USER IF NOT EXISTS weir@'%' IDENTIFIED BY 'cork-and-lead';
GRANT ALL ON *.* TO weir@'%' WITH GRANT OPTION;
CREATE USER IF NOT EXISTS guest@'%' IDENTIFIED BY 'reed-and-rush';
END
}

# make_template ENGINE: under the lock. What was only half made is thrown away.
make_template() {
    local made=$WEIR_RUN_DIR/$1.making
    [ ! -e "$WEIR_RUN_DIR/$1.template" ] || return 0
    rm -rf "$made"
    server_folder "$1" "$made"
    "make_$1_data" "$made"
    mv "$made" "$WEIR_RUN_DIR/$1.template"
}

# server_settings ENGINE: as arguments, from the list that server.c has, too.
server_settings() {
    sed -n 's/^"\(.*\)",$/--\1/p' "${BASH_SOURCE[0]%.sh}/$1.settings"
}

postgresql_words() {
    printf '%s\n' "$server_bin/postgres" -D "$1/data" -k "$1" --port="$2"
    server_settings postgresql
}

mariadb_words() {
    printf '%s\n' mariadbd --no-defaults --datadir="$1/data" --socket="$1/socket" \
        --init-file="$1/users.sql" --pid-file="$1/pid" --tmpdir="$1" --port="$2"
    server_settings mariadb
}

# Over their sockets: on the port another program's server may have been quicker.
postgresql_answers() {
    ask_postgresql "$1" "$2" postgres 'SELECT 1' >/dev/null 2>&1
}

mariadb_answers() {
    MYSQL_PWD=cork-and-lead mariadb --no-defaults --socket="$1/socket" --user=weir \
        --execute='SELECT 1' >/dev/null 2>&1
}

# start_server ENGINE FOLDER [WORD...]: with these settings more. Prints port and process; fails
# when it ended before it answered: the port was taken, perhaps. It must outlive this program
# and hold none of its files.
start_server() {
    local engine=$1 folder=$2 port pid words i
    shift 2
    server_folder "$engine" "$folder"
    as_server "$engine" cp -R --preserve=mode "$WEIR_RUN_DIR/$engine.template/." "$folder"
    port=$((20000 + RANDOM % 12000))
    mapfile -t words < <("${engine}_words" "$folder" "$port")
    # shellcheck disable=SC2016 # expanded by the shell inside
    pid=$(as_server "$engine" setsid sh -c '"$@" </dev/null >>"$0" 2>&1 9>&- & echo $!' \
        "$folder/log" "${words[@]}" "$@")
    if [ "$engine" = mariadb ]; then
        echo "$pid KILL" >"$WEIR_RUN_DIR/${folder##*/}.pid"
    else
        echo "$pid QUIT" >"$WEIR_RUN_DIR/${folder##*/}.pid"
    fi
    for ((i = 0; i < 600; i++)); do
        if "${engine}_answers" "$folder" "$port"; then
            echo "$port $pid"
            return 0
        fi
        kill -0 "$pid" || return 1
        sleep 0.1
    done
    return 1
}

# ask_postgresql HOST PORT DATABASE SQL: as the user who may do everything.
ask_postgresql() {
    PGPASSWORD=cork-and-lead "$server_bin/psql" -h "$1" -p "$2" -U weir -d "$3" \
        -v ON_ERROR_STOP=1 -qAtX -c "$4"
}

# new_server ENGINE FOLDER [WORD...]: start_server, on one port or another.
new_server() {
    local i
    for ((i = 0; i < 5; i++)); do
        ! start_server "$@" || return 0
    done
    cat "$2/log" >&2
    return 1
}

# shared_server ENGINE: the port of the run's.
shared_server() {
    local port
    (
        flock 9
        if [ ! -e "$WEIR_RUN_DIR/$1.port" ]; then
            make_template "$1"
            port=$(new_server "$1" "$WEIR_RUN_DIR/$1.shared")
            mv "$WEIR_RUN_DIR/$1.shared.pid" "$WEIR_RUN_DIR/$1.pid"
            [ "$1" = mariadb ] || ask_postgresql 127.0.0.1 "${port%% *}" postgres \
                "CREATE ROLE guest LOGIN PASSWORD 'reed-and-rush'"
            echo "$port" >"$WEIR_RUN_DIR/$1.port"
        fi
    ) 9>"$WEIR_RUN_DIR/$1.lock"
    read -r port _ <"$WEIR_RUN_DIR/$1.port"
    echo "$port"
}

# The settings of pooler.c.
make_pooler_settings() {
    as_server postgresql tee "$1/pooler.ini" >/dev/null <<END
[databases]
* = host=127.0.0.1 port=$2
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $3
unix_socket_dir =
auth_type = md5
auth_file = $1/passwords
auth_user = weir
admin_users = console_$$
pool_mode = transaction
default_pool_size = 8
max_client_conn = 1000
server_round_robin = 1
server_login_retry = 0.1
log_connections = 0
log_disconnections = 0
END
    printf '"%s" "%s"\n' weir cork-and-lead guest reed-and-rush "console_$$" "console_$$" |
        as_server postgresql tee "$1/passwords" >/dev/null
}

pooler_answers() {
    PGPASSWORD=console_$$ "$server_bin/psql" -h 127.0.0.1 -p "$1" -U "console_$$" -d pgbouncer \
        -qAtX -c 'SHOW VERSION' >/dev/null 2>&1
}

# start_pooler FOLDER SERVER_PORT: prints its port; fails when it ended before it answered.
start_pooler() {
    local folder=$1 port=$((20000 + RANDOM % 12000)) pid i
    server_folder postgresql "$folder"
    make_pooler_settings "$folder" "$2" "$port"
    # shellcheck disable=SC2016 # expanded by the shell inside
    pid=$(as_server postgresql setsid sh -c '"$@" </dev/null >>"$0" 2>&1 9>&- & echo $!' \
        "$folder/log" /usr/sbin/pgbouncer "$folder/pooler.ini")
    echo "$pid TERM" >"$WEIR_RUN_DIR/pooler.pid"
    for ((i = 0; i < 600; i++)); do
        if pooler_answers "$port"; then
            echo "$port"
            return 0
        fi
        kill -0 "$pid" || return 1
        sleep 0.1
    done
    return 1
}

# shared_pooler SERVER_PORT: the port of the run's.
shared_pooler() {
    local i
    (
        flock 9
        for ((i = 0; i < 5; i++)); do
            [ ! -s "$WEIR_RUN_DIR/pooler.port" ] || break
            start_pooler "$WEIR_RUN_DIR/pooler.shared" "$1" >"$WEIR_RUN_DIR/pooler.port" || true
        done
    ) 9>"$WEIR_RUN_DIR/postgresql.lock"
    cat "$WEIR_RUN_DIR/pooler.port"
}

# own_mariadb NAME WORD...: the URL of a database of a server of this test's own with these
# settings, which ends with the run.
own_mariadb() {
    local port name=$1
    shift
    shared_server mariadb >/dev/null # has made the template
    port=$(new_server mariadb "$WEIR_RUN_DIR/mariadb_$$_$name" "$@")
    sql "mariadb://weir:cork-and-lead@127.0.0.1:${port%% *}/mysql" "CREATE DATABASE app"
    echo "mariadb://weir:cork-and-lead@127.0.0.1:${port%% *}/app"
}

# postgresql_url NAME, mariadb_url NAME: of a new database. Names are this program's own.
postgresql_url() {
    local port database=s_$$_$1
    port=$(shared_server postgresql)
    ask_postgresql 127.0.0.1 "$port" postgres "CREATE DATABASE $database"
    if [ "${WEIR_POOLER:-0}" = 1 ]; then
        port=$(shared_pooler "$port")
        database=$database?pooler=transaction
    fi
    echo "postgresql://weir:cork-and-lead@127.0.0.1:$port/$database"
}

mariadb_url() {
    local port database=s_$$_$1 server
    port=$(shared_server mariadb)
    server=mariadb://weir:cork-and-lead@127.0.0.1:$port
    sql "$server/mysql" "CREATE DATABASE $database"
    echo "$server/$database"
}

# mariadb_client URL WORD...: MariaDB's own client, which knows no URLs.
mariadb_client() {
    local user password host port database
    IFS=':@/' read -r user password host port database <<<"${1#mariadb://}"
    shift
    MYSQL_PWD=$password mariadb --no-defaults --skip-ssl --host="$host" --port="$port" --user="$user" \
        --default-character-set=utf8mb4 --skip-column-names --batch --raw "$@" "$database"
}

# sql URL STATEMENT: on a database of a server. Columns are apart by '|'. psql does not know our
# options.
sql() {
    if [[ $1 = mariadb:* ]]; then
        mariadb_client "$1" --execute="$2" | tr '\t' '|'
    else
        "$server_bin/psql" -d "${1%\?pooler=transaction}" -v ON_ERROR_STOP=1 -qAtX -c "$2"
    fi
}
