# shellcheck shell=bash
# server.sh - the run's PostgreSQL server for tests in shell. To be sourced after tap.sh.
#
#   url=$(postgresql_url orders)     a new, empty database; starts the server if need be
#
# It is the server that tests in C share (server.c): the folder of the run, WEIR_RUN_DIR, holds
# the same files, and whoever comes first starts it. script/test ends it. A test that is started
# by hand has a run of its own, which ends with it.

if [ -z "${WEIR_RUN_DIR:-}" ]; then
    server_parent=${TMPDIR:-/tmp}
    [ ! -w /dev/shm ] || server_parent=/dev/shm
    WEIR_RUN_DIR=$(mktemp -d "$server_parent/weir-XXXXXX")
    export WEIR_RUN_DIR
    chmod 711 "$WEIR_RUN_DIR" # the server runs as somebody else
    trap end_own_run EXIT
fi

# shellcheck disable=SC2317 # called by the trap
end_own_run() {
    local pid i
    if [ -e "$WEIR_RUN_DIR/postgresql.pid" ]; then
        read -r pid _ <"$WEIR_RUN_DIR/postgresql.pid"
        kill -s QUIT "$pid" 2>/dev/null || true
        for ((i = 0; i < 200; i++)); do
            kill -0 "$pid" 2>/dev/null || break
            sleep 0.05
        done
    fi
    # shellcheck disable=SC2154 # of tap.sh
    rm -rf "$WEIR_RUN_DIR" "$scratch"
}

# The newest version that is installed.
server_bin=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -n 1)

# as_server COMMAND...: as the user that the server runs as.
as_server() {
    if [ "$(id -u)" -eq 0 ]; then
        runuser -u postgres -- "$@"
    else
        "$@"
    fi
}

server_folder() {
    install -d -m 711 "$1"
    [ "$(id -u)" -ne 0 ] || chown postgres: "$1"
}

# Under the lock. What was only half made is thrown away.
make_template() {
    local made=$WEIR_RUN_DIR/postgresql.making
    [ ! -e "$WEIR_RUN_DIR/postgresql.template" ] || return 0
    rm -rf "$made"
    server_folder "$made"
    echo cork-and-lead | as_server tee "$made/secret" >/dev/null
    as_server "$server_bin/initdb" --pgdata="$made/data" --username=weir \
        --pwfile="$made/secret" --auth=md5 --locale=C --encoding=UTF8 --no-sync >/dev/null
    mv "$made" "$WEIR_RUN_DIR/postgresql.template"
}

# The settings of server.c. The server must outlive this program and hold none of its files.
start_postgresql() {
    local folder=$WEIR_RUN_DIR/postgresql.shared port pid i
    server_folder "$folder"
    as_server cp -R --preserve=mode "$WEIR_RUN_DIR/postgresql.template/." "$folder"
    port=$((20000 + RANDOM % 12000))
    # shellcheck disable=SC2016 # expanded by the shell inside
    pid=$(as_server setsid sh -c '"$@" </dev/null >>"$0" 2>&1 9>&- & echo $!' "$folder/log" \
        "$server_bin/postgres" -D "$folder/data" -k "$folder" --port=$port \
        --listen_addresses=127.0.0.1 --shared_buffers=32MB --max_connections=100 \
        --deadlock_timeout=100ms --dynamic_shared_memory_type=mmap --timezone=UTC)
    echo "$pid QUIT" >"$WEIR_RUN_DIR/postgresql.pid"
    for ((i = 0; i < 600; i++)); do
        if ask_postgresql "$port" postgres 'SELECT 1' >/dev/null 2>&1; then
            ask_postgresql "$port" postgres \
                "CREATE ROLE guest LOGIN PASSWORD 'reed-and-rush'"
            echo "$port $pid" >"$WEIR_RUN_DIR/postgresql.port"
            return 0
        fi
        kill -0 "$pid" || return 1 # the port was taken, perhaps
        sleep 0.1
    done
    return 1
}

# ask_postgresql PORT DATABASE SQL: as the user who may do everything.
ask_postgresql() {
    PGPASSWORD=cork-and-lead "$server_bin/psql" -h 127.0.0.1 -p "$1" -U weir -d "$2" \
        -v ON_ERROR_STOP=1 -qAtX -c "$3"
}

server_port() {
    local port i
    (
        flock 9
        if [ ! -e "$WEIR_RUN_DIR/postgresql.port" ]; then
            make_template
            for ((i = 0; i < 5; i++)); do
                ! start_postgresql || exit 0
            done
            cat "$WEIR_RUN_DIR/postgresql.shared/log" >&2
            exit 1
        fi
    ) 9>"$WEIR_RUN_DIR/postgresql.lock"
    read -r port _ <"$WEIR_RUN_DIR/postgresql.port"
    echo "$port"
}

# postgresql_url NAME: of a new database. Names are this program's own.
postgresql_url() {
    local port database=s_$$_$1
    port=$(server_port)
    ask_postgresql "$port" postgres "CREATE DATABASE $database"
    echo "postgresql://weir:cork-and-lead@127.0.0.1:$port/$database"
}

# sql URL STATEMENT: on a database made by postgresql_url.
sql() {
    "$server_bin/psql" -d "$1" -v ON_ERROR_STOP=1 -qAtX -c "$2"
}
