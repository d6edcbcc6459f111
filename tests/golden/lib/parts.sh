# shellcheck shell=bash
# parts.sh - the parts of the golden files. To be sourced by script/golden.
#
# `make_PART FOLDER` makes one, in FOLDER. `root` is the repository, `scratch` a folder that is removed
# at the end.

# shellcheck disable=SC2154 # of script/golden
lib=$root/tests/golden/lib
build=$root/build/release
databases=(sqlite postgresql mariadb)
libraries=(-lsqlite3 -lpq -lmariadb -lssl -lcrypto -lm -pthread)

# server.sh sets a trap of its own only when it has no run; it removes scratch too.
. "$root/tests/kit/server.sh"
. "$root/tests/kit/cli.sh"
. "$lib/transcript.sh"

# ---- help ------------------------------------------------------------------------------------

# explain WORD...: the help of a command, then that of its members, as its own list has them.
explain() {
    local member
    printf '$ weir %s--help\n' "${*:+$* }"
    "$weir" "$@" --help
    echo
    for member in $("$weir" "$@" --help | sed -n '/^commands:/,/^$/s/^  \([a-z]\+\).*/\1/p'); do
        explain "$@" "$member"
    done
}

# One file per command of the program.
make_help() {
    local command folder=$1/help
    mkdir "$folder"
    "$weir" --help >"$folder/weir.txt"
    for command in $("$weir" --help | sed -n '/^commands:/,/^$/s/^  \([a-z]\+\).*/\1/p'); do
        explain "$command" >"$folder/$command.txt"
    done
    "$weir" help --man >"$folder/weir.1"
    "$weir" help --bash >"$folder/weir.bash"
}

# ---- what is in the build --------------------------------------------------------------------

make_exports() {
    local library
    for library in libweir.so extension/weir.so; do
        echo "# $library"
        nm -D --defined-only "$build/$library" | awk '{ print $2, $3 }' | sort
    done >"$1/exports.txt"
}

# Without comments; a declaration, or a member of one, on a line of its own, whatever its layout.
make_headers() {
    local header
    for header in "$root"/include/weir/*.h; do
        echo "# weir/${header##*/}"
        gcc -fpreprocessed -dD -E -P "$header" | awk '
            function flush() {
                gsub(/[ \t]+/, " ", text)
                gsub(/; /, ";\n", text)
                gsub(/\{ /, "{\n", text)
                gsub(/, WEIR_/, ",\nWEIR_", text)
                gsub(/ \}/, "\n}", text)
                sub(/WEIR_BEGIN_DECLS /, "WEIR_BEGIN_DECLS\n", text)
                print text
                text = ""
            }
            /^#/ || continued { flush(); print; continued = /\\$/; next }
            { text = text " " $0 }
            END { flush() }' | sed -e 's/^ *//' -e 's/ *$//' -e '/^$/d'
    done >"$1/headers.txt"
}

make_events() {
    find "$root/src" -name '*.c' -exec python3 "$lib/events.py" {} + >"$1/events.txt"
}

# tool NAME: a program of ours, linked with the static library.
tool() {
    gcc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -I"$root/include" -I"$root/src" "$lib/$1.c" \
        "$build/libweir.a" "${libraries[@]}" -o "$scratch/$1"
}

make_metrics() {
    tool metrics
    "$scratch/metrics" "sqlite:$scratch/metrics.db" >"$1/metrics.txt"
}

# ---- sql -------------------------------------------------------------------------------------

# Without those of sources that are gone, which a build folder keeps.
objects() {
    local object source
    find "$build"/CMakeFiles/{weir_objects,weir_cli,weir_extension}.dir -name '*.o' |
        while read -r object; do
            source=${object#*.dir/}
            [ ! -e "$root/${source%.o}" ] || echo "$object"
        done
}

# The program, the library and the extension in one file whose pointers are final.
make_sql() {
    local engine folder=$1/sql all=$scratch/statements
    mkdir "$folder"
    tool expand
    # shellcheck disable=SC2046 # words
    gcc -no-pie -o "$scratch/whole" $(objects) "${libraries[@]}"
    env -u DEBUGINFOD_URLS gdb -nx -batch -x "$lib/statements.py" "$scratch/whole" >"$all"
    find_missing <"$all"
    for engine in "${databases[@]}"; do
        python3 "$lib/texts.py" records "$engine" <"$all" | "$scratch/expand" "$engine" |
            sort -zu | tr -d '\0' >"$folder/$engine.txt"
        [ -s "$folder/$engine.txt" ]
    done
    # shellcheck disable=SC2046 # words
    python3 "$lib/texts.py" literals $(objects) <"$all" >"$folder/literals.txt"
}

# Every constant of the source was found in the build.
find_missing() {
    local missing
    # shellcheck disable=SC2046 # words
    missing=$(cd "$root" && python3 "$lib/texts.py" missing $(find src -name '*.[ch]'))
    [ -z "$missing" ] || { printf 'not found in the build:\n%s\n' "$missing"; return 1; }
}

# ---- schema ----------------------------------------------------------------------------------

# The tables of both families, and roles where there are any. Roles belong to the server, so the prefix
# is this run's own; the file has `weir` in its place.
make_schema() {
    local engine folder=$1/schema
    mkdir "$folder"
    for engine in "${databases[@]}"; do
        dump_engine "$engine" "$folder/$engine.sql" &
    done
    wait_for_all
}

dump_engine() {
    local url prefix
    prefix=$(own_prefix s) # the transcripts, made at the same time, make roles too
    url=$(new_database "$1" schema)
    if [ "$1" = sqlite ]; then
        "$weir" migrate --quiet --db "$url" --prefix "$prefix"
    else
        "$weir" migrate --quiet --roles --db "$url" --prefix "$prefix"
    fi
    "dump_$1" "$url" "$prefix" | sed "s/$prefix/weir/g" >"$2"
    [ -s "$2" ]
}

dump_sqlite() {
    sqlite3 "${1#sqlite:}" \
        "SELECT sql || ';' FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type, name"
    echo "-- numbers"
    sqlite3 "${1#sqlite:}" "SELECT number, readable_by, name FROM $2_schema ORDER BY number"
    echo "-- meta"
    sqlite3 "${1#sqlite:}" "SELECT name FROM $2_meta ORDER BY name"
}

# Without what tells of versions and sessions.
dump_postgresql() {
    "$server_bin/pg_dump" --schema-only --no-owner -d "$1" |
        sed -E -e '/^(SET|SELECT pg_catalog\.set_config|--|\\(un)?restrict)/d' | cat -s
    echo "-- numbers"
    sql "$1" "SELECT number, readable_by, name FROM $2_schema ORDER BY number"
    echo "-- meta"
    sql "$1" "SELECT name FROM $2_meta ORDER BY name"
}

# Tables, sequences and views, then functions and triggers, then what the roles may do.
dump_mariadb() {
    local url=$1 name kind
    sql "$url" "SELECT table_type, table_name FROM information_schema.tables
        WHERE table_schema = DATABASE() ORDER BY table_name" | while IFS='|' read -r kind name; do
        [ "$kind" = VIEW ] || [ "$kind" = SEQUENCE ] || kind=TABLE
        mariadb_client "$url" --execute="SHOW CREATE $kind $name" </dev/null | cut -f 2-
    done | sed -E 's/ AUTO_INCREMENT=[0-9]+//'
    sql "$url" "SELECT routine_type, routine_name FROM information_schema.routines
        WHERE routine_schema = DATABASE() ORDER BY routine_name" | while IFS='|' read -r kind name; do
        mariadb_client "$url" --execute="SHOW CREATE $kind $name" </dev/null | cut -f 3
    done | sed -E 's/DEFINER=[^ ]+ //'
    sql "$url" "SELECT trigger_name, action_timing, event_manipulation, event_object_table,
        action_statement FROM information_schema.triggers
        WHERE trigger_schema = DATABASE() ORDER BY trigger_name"
    echo "-- numbers"
    sql "$url" "SELECT number, readable_by, name FROM $2_schema ORDER BY number"
    echo "-- meta"
    sql "$url" "SELECT name FROM $2_meta ORDER BY name"
    echo "-- grants"
    for name in owner runtime producer viewer; do
        sql "$url" "SHOW GRANTS FOR $2_$name"
    done | python3 "$lib/grants.py" "${url##*/}"
}

# ---- cli -------------------------------------------------------------------------------------

# Each engine plays every scenario that is for it, in a database of its own.
make_cli() {
    local engine
    mkdir "$1/cli"
    for engine in "${databases[@]}"; do
        play_engine "$engine" "$1/cli/$engine" &
    done
    wait_for_all
    all_played "$1/cli"
}

wait_for_all() {
    local job bad=0
    for job in $(jobs -p); do wait "$job" || bad=1; done
    return $bad
}

# ---- versions --------------------------------------------------------------------------------

# What dumps and transcripts depend on besides ourselves: "engine version" lines.
print_versions() {
    echo "sqlite $(sqlite3 --version | grep -oE '^[0-9]+\.[0-9]+')"
    echo "postgresql $("$server_bin/postgres" --version | grep -oE '[0-9]+' | head -n 1)"
    echo "mariadb $(mariadbd --version | grep -oE '[0-9]+\.[0-9]+' | head -n 1)"
}

# leave_out_engines PART FOLDER...: what cannot be compared here, and say so.
# shellcheck disable=SC2154 # of script/golden
leave_out_engines() {
    local part=$1 line folder
    shift
    [ "$part" = cli ] || [ "$part" = schema ] || return 0
    print_versions | while read -r line; do
        ! grep -qxF "$line" "$files/versions.txt" || continue
        echo "script/golden: $part of ${line%% *} is not compared: this is $line," \
            "the files were made with $(grep "^${line%% *} " "$files/versions.txt")" >&2
        for folder in "$@"; do rm -rf "$folder/${line%% *}" "$folder/${line%% *}.sql"; done
    done
}

# ---- tests -----------------------------------------------------------------------------------

# Those in C as script/check/mapping knows them, those in shell as "folder/test_x.sh: claim".
print_tests() {
    "$root/script/check/mapping" --list "$root" | sort -u
    (cd "$root/tests" && grep -rnoE --include='test_*.sh' "^ *it ('[^']*'|\"[^\"]*\")" . |
        sed -E "s/^\.\///; s/:[0-9]+: *it ['\"](.*)['\"]\$/: \1/" | grep -v '^checks/bad/' | sort)
}
