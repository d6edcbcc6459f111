#!/usr/bin/env bash
# `weir relay`: what arrives where, how it ends, and what it says on the way.
. "$(dirname "$0")/../kit/tap.sh"
. "$(dirname "$0")/../kit/server.sh"
. "$(dirname "$0")/../kit/cli.sh"

# queue NAME [FROM TO]: a new one of 4 partitions, with these numbers in it.
queue() {
    "$weir" queue add "$1" --partitions 4 --quiet
    [ $# -eq 1 ] || fill "$@"
}

# fill NAME FROM TO: a number each, the key is its last digit.
fill() {
    seq "$2" "$3" | sed 's/.*\(.\)$/{"k":"\1","n":"&"}/' |
        "$weir" enqueue "$1" --lines --key-field k --payload-field n --quiet
}

# start NAME ARG...: a relay in the background; its output is in $scratch/NAME and NAME.err, its
# process id in NAME.pid. Both files begin empty: the background shell empties them late.
start() {
    local name=$1
    shift
    : >"$scratch/$name"
    : >"$scratch/$name.err"
    "$weir" relay "$@" >"$scratch/$name" 2>"$scratch/$name.err" &
    echo $! >"$scratch/$name.pid"
}

signal() {
    kill -s "$2" "$(<"$scratch/$1.pid")"
}

# ended NAME CODE: wait for it.
ended() {
    local result=0
    wait "$(<"$scratch/$1.pid")" || result=$?
    [ "$result" -eq "$2" ] || { echo "exit code $result"; cat "$scratch/$1.err"; return 1; }
}

# warns NAME TEXT: it has said that by now.
warns() {
    grep -qF -- "$2" "$scratch/$1.err"
}

# has FILE COUNT: so many lines.
has() {
    [ "$(wc -l <"$1")" -eq "$2" ]
}

has_some() {
    [ -s "$1" ]
}

# holds FILE FROM TO: each number once, and in each partition they ascend, as do the seqs.
holds() {
    jq -r '.payload' "$1" | sort -n | cmp - <(seq "$2" "$3")
    jq -s -e 'group_by(.partition) |
        all(. as $p | [range(1; length)] | all($p[.].seq == $p[. - 1].seq + 1))' "$1" >/dev/null ||
        { echo 'seqs have gaps, or another order'; return 1; }
    jq -s -e 'group_by(.partition) | all(. as $p | [range(1; length)] |
        all(($p[.].payload | tonumber) > ($p[. - 1].payload | tonumber)))' "$1" >/dev/null ||
        { echo 'out of order'; return 1; }
}

# ---- what arrives --------------------------------------------------------------------------

prints_lines() {
    queue out 1 500
    ends 0 relay --queue out --to stdout: --drain
    holds "$scratch/out" 1 500
    has "$scratch/err" 1
    grep -qE '^500 messages in [0-9.]+ s, [0-9]+/s; nothing is left$' "$scratch/err"
    jq -e '(keys_unsorted == ["queue", "partition", "seq", "id", "key", "type", "headers",
        "attempts", "epoch", "created_at", "payload"]) and .queue == "out"' "$scratch/out" >/dev/null
}

appends_to_a_file() {
    queue filed 1 300
    ends 0 relay --queue filed --to "file:$scratch/filed-$engine" --drain --quiet
    fill filed 301 400
    ends 0 relay --queue filed --to "file:$scratch/filed-$engine" --drain --quiet
    holds "$scratch/filed-$engine" 1 400
    [ ! -s "$scratch/out" ] && [ ! -s "$scratch/err" ]
}

prints_json() {
    queue json 1 20
    ends 0 relay --queue json --as a --to "file:$scratch/json-$engine" --drain --json
    json '.queues == ["json"] and .as == "a" and (.sink | startswith("file:")) and .count == 20 and
        .rejected == 0 and .seconds >= 0 and .ended == "drained" and .unfinished == 0'
    [ ! -s "$scratch/err" ] || { cat "$scratch/err"; return 1; }
}

# Standard output is for the messages.
prints_json_beside_messages() {
    queue beside 1 20
    ends 0 relay --queue beside --to stdout: --drain --json
    holds "$scratch/out" 1 20
    has "$scratch/err" 1
    jq -e '.sink == "stdout:" and .count == 20 and .ended == "drained"' "$scratch/err" >/dev/null
}

ends_at_once_when_nothing_is_there() {
    queue empty
    ends 0 relay --queue empty --to stdout: --drain
    [ ! -s "$scratch/out" ]
    grep -q '^0 messages in ' "$scratch/err"
}

# The payload of each message decides.
maps_exit_codes() {
    queue codes
    printf '%s\n' 0 65 75 0 | "$weir" enqueue codes --lines --key same --quiet
    cat >"$scratch/judge" <<'END'
payload=$(jq -r .payload)
echo "$payload $WEIR_ATTEMPTS" >>"$1"
[ "$payload" -ne 75 ] || [ "$WEIR_ATTEMPTS" -gt 0 ] || exit 75
[ "$payload" -ne 65 ] || { echo 'no such street' >&2; exit 65; }
END
    ends 0 relay --queue codes --to "exec:sh $scratch/judge $scratch/judged-$engine" --drain --json
    json '.count == 4 and .rejected == 1'
    printf '0 0\n65 0\n75 0\n75 1\n0 0\n' | cmp - "$scratch/judged-$engine"
    [ "$("$weir" queue list --json | jq '.queues[] | select(.name == "codes").dead_letters')" -eq 1 ]
}

speaks_with_a_program() {
    queue spoken 1 200
    cat >"$scratch/scribe" <<'END'
while read -r line; do printf '%s\n' "$line" >>"$1"; echo ok; done
END
    ends 0 relay --queue spoken --to "exec-stream:sh $scratch/scribe $scratch/spoken-$engine" \
        --drain --handlers 1
    holds "$scratch/spoken-$engine" 1 200
}

# Bytes that are no text, to a file and to a process.
carries_bytes() {
    queue bytes
    head -c 3000 /dev/urandom >"$scratch/bytes"
    "$weir" enqueue bytes --file "$scratch/bytes" --quiet
    ends 0 relay --queue bytes --to stdout: --drain
    jq -r .payload_base64 "$scratch/out" | base64 -d | cmp - "$scratch/bytes"
    "$weir" enqueue bytes --file "$scratch/bytes" --quiet
    ends 0 relay --queue bytes --drain \
        --to "exec:jq -r .payload_base64 | base64 -d >$scratch/bytes-$engine"
    cmp "$scratch/bytes-$engine" "$scratch/bytes"
}

takes_several_queues() {
    queue one 1 50
    queue two 51 100
    ends 0 relay --queue one --queue two --to stdout: --drain
    holds <(jq -c 'select(.queue == "one")' "$scratch/out") 1 50
    holds <(jq -c 'select(.queue == "two")' "$scratch/out") 51 100
    grep -q '^100 messages in ' "$scratch/err"
}

starts_now() {
    queue late 1 50
    ends 0 relay --queue late --as fresh --from now --to stdout: --drain
    [ ! -s "$scratch/out" ]
    fill late 51 60
    ends 0 relay --queue late --as fresh --to stdout: --drain
    jq -r .payload "$scratch/out" | sort -n | cmp - <(seq 51 60)
}

# ---- several of them -----------------------------------------------------------------------

# Fill until both have got something.
shares_under_one_name() {
    local number=0
    queue shared
    start share-a --queue shared --to stdout:
    start share-b --queue shared --to stdout:
    until [ -s "$scratch/share-a" ] && [ -s "$scratch/share-b" ]; do
        [ "$number" -lt 100000 ] || { echo 'one of them gets nothing'; return 1; }
        fill shared $((number + 1)) $((number + 100))
        number=$((number + 100))
    done
    ends 0 relay --queue shared --to stdout: --drain
    mv "$scratch/out" "$scratch/share-c"
    signal share-a TERM
    signal share-b TERM
    ended share-a 0
    ended share-b 0
    cat "$scratch"/share-[abc] | jq -r .payload | sort -n | cmp - <(seq 1 "$number")
}

# Both names are there before the messages: one that comes later gets what is still kept.
gets_everything_under_each_name() {
    queue named
    start name-a --queue named --as a --to stdout:
    start name-b --queue named --as b --to stdout:
    subscribed() {
        [ "$("$weir" status named --json | jq '.queues[0].subscriptions')" -eq 2 ]
    }
    until_true subscribed
    fill named 1 200
    until_true has "$scratch/name-a" 200
    until_true has "$scratch/name-b" 200
    signal name-a TERM
    signal name-b TERM
    ended name-a 0
    ended name-b 0
    holds "$scratch/name-a" 1 200
    holds "$scratch/name-b" 1 200
}

# ---- the end -------------------------------------------------------------------------------

# stops_by SIGNAL: in good order, and nothing comes again.
stops_by() {
    local name=by-$1-$engine # or what another engine's has said is read
    queue "$name" 1 50
    start "$name" --queue "$name" --to stdout:
    until_true has "$scratch/$name" 50
    signal "$name" "$1"
    ended "$name" 0
    has "$scratch/$name.err" 1
    grep -q '^50 messages in .*; stopped$' "$scratch/$name.err"
    fill "$name" 51 60
    ends 0 relay --queue "$name" --to stdout: --drain
    jq -r .payload "$scratch/out" | sort -n | cmp - <(seq 51 60)
}

# Two processes at work when it is stopped: they end by themselves, and count.
gives_a_grace() {
    queue graced 1 10
    cat >"$scratch/slow" <<'END'
number=$(jq -r .payload)
echo "$number" >>"$1.begun"
while [ ! -e "$1.go" ]; do sleep 0.05; done
echo "$number" >>"$1.done"
END
    start graced --queue graced --handlers 2 --grace 60s --to "exec:sh $scratch/slow $scratch/g-$engine"
    until_true has "$scratch/g-$engine.begun" 2
    signal graced TERM
    touch "$scratch/g-$engine.go"
    ended graced 0
    sort "$scratch/g-$engine.begun" | cmp - <(sort "$scratch/g-$engine.done")
    ends 0 relay --queue graced --to "exec:sh $scratch/slow $scratch/g-$engine" --drain
    sort -n "$scratch/g-$engine.done" | cmp - <(seq 1 10)
}

kills_after_the_grace() {
    queue stuck 1 1
    start stuck --queue stuck --grace 100ms --to "exec:touch $scratch/stuck-$engine; exec sleep 1000"
    until_true [ -e "$scratch/stuck-$engine" ]
    signal stuck TERM
    ended stuck 0
    grep -q '^0 messages in .*; stopped$' "$scratch/stuck.err"
}

# The leases are free at once: nobody waits for them to run out.
releases_its_leases() {
    queue released 1 20
    ends 0 relay --queue released --to stdout: --drain --lease 1h --quiet
    ends 0 status released --json --all
    json '.processes == [] and (.partitions | all(.owner == "" and .waiting == 0))'
}

ends_at_once_by_a_second_signal() {
    queue twice 1 1
    start twice --queue twice --grace 1h --to "exec:touch $scratch/twice.runs; exec sleep 1000"
    until_true [ -e "$scratch/twice.runs" ]
    signal twice TERM
    until_true stops_listening "$(<"$scratch/twice.pid")"
    signal twice TERM
    ended twice 143
}

# Has it taken SIGTERM (bit 14) for an order to stop? Then it is no longer caught.
stops_listening() {
    [ $(((0x$(sed -n 's/^SigCgt:\t//p' "/proc/$1/status") >> 14) & 1)) -eq 0 ]
}

ends_with_its_reader() {
    local result=0
    queue piped 1 1000
    "$weir" relay --queue piped --to stdout: 2>"$scratch/piped.err" |
        head -n 3 >"$scratch/piped" || result=$?
    [ "$result" -eq 1 ]
    has "$scratch/piped" 3
    warns piped 'its reader has gone'
}

# Nothing comes that could be written to it.
ends_with_its_reader_when_idle() {
    queue silent
    mkfifo "$scratch/silent.pipe"
    "$weir" relay --queue silent --to stdout: >"$scratch/silent.pipe" 2>"$scratch/silent.err" &
    echo $! >"$scratch/silent.pid"
    head -c 0 "$scratch/silent.pipe"
    ended silent 1
    warns silent 'its reader has gone'
}

ends_with_its_queue() {
    queue doomed 1 5
    start doomed --queue doomed --to stdout:
    until_true has "$scratch/doomed" 5
    "$weir" queue remove doomed --force --yes --quiet
    ended doomed 1
    warns doomed 'there is no queue "doomed"'
}

# ---- what fails meanwhile ------------------------------------------------------------------

tells_once_what_fails() {
    queue failing 1 1
    cat >"$scratch/grumble" <<'END'
echo x >>"$1.tries"
[ ! -e "$1.fixed" ] || exit 0
echo 'out of ink' >&2
exit 75
END
    start failing --queue failing --to "exec:sh $scratch/grumble $scratch/f"
    until_true test_lines_at_least "$scratch/f.tries" 3
    has "$scratch/failing.err" 1
    warns failing 'weir relay: failing: out of ink; trying again'
    touch "$scratch/f.fixed"
    until_true warns failing 'weir relay: failing: works again'
    signal failing TERM
    ended failing 0
    has "$scratch/failing.err" 3
}

test_lines_at_least() {
    [ -e "$1" ] && [ "$(wc -l <"$1")" -ge "$2" ]
}

waits_for_room() {
    queue full 1 1
    "$weir" relay --queue full --to stdout: >/dev/full 2>"$scratch/full.err" &
    echo $! >"$scratch/full.pid"
    until_true warns full 'full: standard output: No space left on device; trying again'
    signal full TERM
    ended full 0
}

# empty QUEUE: all of it was acknowledged.
empty() {
    [ "$(waiting "$1")" -eq 0 ]
}

# A limit on the size of its files stands for a full disk: the log of the database ends beyond it.
tells_of_acks_that_find_no_room() {
    queue stored
    start stored --queue stored --to exec:true --json
    fill stored 1 1
    until_true empty stored
    prlimit --pid "$(<"$scratch/stored.pid")" --fsize=131072:
    head -c 8000 /dev/zero | tr '\0' x >"$scratch/stored.text"
    for ((i = 0; i < 40; i++)); do
        jq -cn --rawfile text "$scratch/stored.text" '{p: $text}'
    done >"$scratch/stored.lines"
    # From a file, so in one transaction: a pipe that pauses would send a part that still finds room.
    "$weir" enqueue stored --lines --payload-field p --quiet <"$scratch/stored.lines"
    until_true warns stored 'stored: acknowledge: '
    [ "$(waiting stored)" -eq 40 ] || return 1
    prlimit --pid "$(<"$scratch/stored.pid")" --fsize=unlimited:
    until_true warns stored 'stored: works again'
    until_true empty stored
    signal stored TERM
    ended stored 0
    jq -e '.count == 41' "$scratch/stored" || { cat "$scratch/stored"; return 1; }
}

# What nobody could deliver is not done, although nothing is left.
tells_of_what_was_given_up() {
    "$weir" queue add "given-$engine" --partitions 1 --attempts-max 2 --quiet
    "$weir" enqueue "given-$engine" x --quiet
    ends 3 relay --queue "given-$engine" --to exec:false --drain --json
    json '.ended == "drained" and .count == 1 and .rejected == 1 and .given_up == 1'
    grep -qF '1 message failed as often as attempts-max allows and is a dead letter now' \
        "$scratch/err" || { cat "$scratch/err"; return 1; }
    [ "$("$weir" dlq list --queue "given-$engine" --json | jq '.dead_letters | length')" -eq 1 ]
}

# By the folder of its socket, which is not there at first.
waits_for_the_database() {
    local port=${WEIR_DB##*:} folder database=${WEIR_DB##*/}
    port=${port%%/*}
    folder=$(ask_postgresql 127.0.0.1 "$port" postgres 'SHOW unix_socket_directories')
    queue away 1 5
    start away --db "postgresql://weir:cork-and-lead@$(jq -rn --arg f "$scratch/s" '$f | @uri'):$port/$database" \
        --queue away --to "file:$scratch/away.jsonl" --drain
    until_true warns away 'database: connect to '
    ln -s "$folder" "$scratch/s"
    ended away 0
    holds "$scratch/away.jsonl" 1 5
}

# As it does later.
stops_while_it_waits() {
    start waits --db postgresql://nobody@127.0.0.1:1/x --queue x --to stdout:
    until_true warns waits '; trying again'
    signal waits TERM
    ended waits 0
}

tells_of_a_pause() {
    queue paused 1 5
    "$weir" queue pause paused --quiet
    start paused --queue paused --to stdout: --drain
    until_true warns paused "queue 'paused' is paused; 'weir queue resume paused' lets it flow"
    "$weir" queue resume paused --quiet
    ended paused 0
    has "$scratch/paused" 5
}

# ---- what is refused, and changes nothing --------------------------------------------------

# has_no_subscription QUEUE
has_no_subscription() {
    ends 0 status "$1" --json
    json '.queues[0].subscriptions == 0'
}

changes_nothing_when_refused() {
    queue kept 1 5
    refuses 1 "there is no queue 'keqt'" relay --queue keqt --to "file:$scratch/unmade"
    refuses 1 "there is no queue 'nowhere'" relay --queue kept --queue nowhere --to stdout:
    refuses 1 "sink \"file:$scratch/none/x\": open: No such file" \
        relay --queue kept --to "file:$scratch/none/x"
    refuses 1 "sink \"file:$scratch\": open: Is a directory" relay --queue kept --to "file:$scratch"
    refuses 2 'sink "file:/dev/null": not a regular file' relay --queue kept --to file:/dev/null
    refuses 2 'subscription name' relay --queue kept --as '*' --to "file:$scratch/unmade"
    [ ! -e "$scratch/unmade" ]
    has_no_subscription kept
}

# A program whose handler serves the subscription "default" of the queue "letters".
make_handler() {
    gcc -std=c11 -I"$root/include" -x c - -x none "$root/build/release/libweir.a" -lsqlite3 -lpq \
        -lmariadb -pthread -lm -o "$scratch/handler" <<'END'
#include <weir/weir.h>

static enum weir_outcome take(struct weir_context *context, void *state,
                              const struct weir_message *message, struct weir_reason *reason)
{
    return WEIR_DONE;
}

int main(int argc, char **argv)
{
    struct weir_db_options where;
    struct weir_outbox_options options;
    struct weir_handler_options handler;
    enum weir_status status;

    weir_db_options_init(&where);
    where.url = argv[1];
    weir_outbox_options_init(&options);
    weir_handler_options_init(&handler);
    handler.queue = "letters";
    handler.on_message = take;
    status = weir_db_create(&where, &options.db, NULL);
    struct weir_outbox *outbox = NULL;
    if (status == WEIR_OK)
        status = weir_outbox_create(&options, &outbox, NULL);
    if (status == WEIR_OK)
        status = weir_outbox_add_handler(outbox, &handler, NULL);
    weir_outbox_destroy(outbox);
    weir_db_destroy(options.db);
    return status != WEIR_OK;
}
END
}

refuses_the_name_of_a_handler() {
    queue letters 1 5
    [ -e "$scratch/handler" ] || make_handler
    "$scratch/handler" "$WEIR_DB"
    refuses 1 'subscription "default" is served by handlers, not by a sink; another --as NAME' \
        relay --queue letters --to "file:$scratch/letters-$engine"
    [ ! -e "$scratch/letters-$engine" ]
}

wants_tables() {
    local where
    where=$(new_database "$engine" bare)
    refuses 1 "run 'weir migrate'" relay --db "$where" --queue x --to stdout:
}

for engine in $engines; do
    use_engine "$engine"
    it "prints lines on $engine" prints_lines
    it "appends to a file on $engine" appends_to_a_file
    it "prints JSON on $engine" prints_json
    it "prints JSON beside messages on $engine" prints_json_beside_messages
    it "ends at once when nothing is there on $engine" ends_at_once_when_nothing_is_there
    it "maps the exit codes of processes on $engine" maps_exit_codes
    it "speaks with a program that lives on on $engine" speaks_with_a_program
    it "carries any bytes on $engine" carries_bytes
    it "takes several queues on $engine" takes_several_queues
    it "starts now if told so on $engine" starts_now
    it "shares under one name on $engine" shares_under_one_name
    it "gets everything under each name on $engine" gets_everything_under_each_name
    it "stops by SIGTERM on $engine" stops_by TERM
    it "gives what runs a grace on $engine" gives_a_grace
    it "kills what runs after the grace on $engine" kills_after_the_grace
    it "releases its leases on $engine" releases_its_leases
    it "ends with its queue on $engine" ends_with_its_queue
    it "tells of a pause on $engine" tells_of_a_pause
    it "changes nothing when it is refused on $engine" changes_nothing_when_refused
    it "refuses the name of a handler on $engine" refuses_the_name_of_a_handler
    it "wants tables on $engine" wants_tables
    it "tells of what was given up, by a code of its own, on $engine" tells_of_what_was_given_up
    [ "$engine" = postgresql ] || continue
    it 'waits for a database that is away at the start' waits_for_the_database
done

WEIR_DB=sqlite:$scratch/main.db
it 'stops by SIGINT' stops_by INT
it 'ends at once by a second signal' ends_at_once_by_a_second_signal
it 'ends with its reader' ends_with_its_reader
it 'ends with its reader also when nothing comes' ends_with_its_reader_when_idle
it 'tells once what fails, and that it works again' tells_once_what_fails
it 'waits for room' waits_for_room
it 'tells at once of acknowledgements that find no room' tells_of_acks_that_find_no_room
it 'stops while it waits for the database' stops_while_it_waits

# ---- a terminal ----------------------------------------------------------------------------

# On a screen of its own, until the relay has ended. What was on it meanwhile is in
# $scratch/screens, one look after the other; what is on it at the end in $scratch/screen.
on_a_screen() {
    local socket=$scratch/tmux
    tmux -S "$socket" -f /dev/null new-session -d -x 80 -y 24 "$1; touch $scratch/over; cat"
    : >"$scratch/screens"
    until_true screen_is_over "$socket"
    tmux -S "$socket" capture-pane -p >"$scratch/screen"
    tmux -S "$socket" kill-server
}

screen_is_over() {
    tmux -S "$1" capture-pane -p >>"$scratch/screens"
    [ -e "$scratch/over" ]
}

shows_progress() {
    queue shown 1 400
    on_a_screen "$weir relay --db $WEIR_DB --queue shown --to 'exec:sleep 0.02' --drain"
    grep -qE '^[0-9]+ messages, [0-9]+/s, [0-9]+ %, [0-9]+ s left$' "$scratch/screens" ||
        { sort -u "$scratch/screens"; return 1; }
    grep -v '^$' "$scratch/screen" >"$scratch/left"
    has "$scratch/left" 1
    grep -qE '^400 messages in [0-9.]+ s, [0-9]+/s; nothing is left$' "$scratch/left"
}

if tmux -S "$scratch/probe" -f /dev/null new-session -d true 2>/dev/null; then
    it 'shows progress on a terminal, and wipes it away' shows_progress
else
    echo '# tmux does not run here: one case less'
fi

queue misuse
# The database, and what a relay writes.
makes_private_files() {
    local out=$scratch/private

    umask 000
    "$weir" --db "sqlite:$out.db" migrate --quiet
    "$weir" --db "sqlite:$out.open.db?permissions=0664" migrate --quiet
    "$weir" --db "sqlite:$out.db" queue add orders --partitions 1 --quiet
    "$weir" --db "sqlite:$out.db" relay --queue orders --to "file:$out.a" --drain --quiet
    "$weir" --db "sqlite:$out.db" relay --queue orders --to "file:$out.b" --drain --quiet \
        --permissions 0640
    [ "$(stat -c %a "$out.db" "$out.db-weir" "$out.open.db" "$out.a" "$out.b" | xargs)" = \
        '600 600 664 600 640' ]
}

it 'wants a queue' refuses 2 'which queue? --queue QUEUE is needed' relay --to stdout:
it 'wants a sink' refuses 2 'where to? --to SINK is needed' relay --queue misuse
it 'names the nearest sink' refuses 2 'did you mean "file:PATH"?' relay --queue misuse --to fiel:x
it 'names the nearest queue' refuses 1 "did you mean 'misuse'?" relay --queue missue --to stdout:
it 'names the nearest option' refuses 2 "did you mean '--drain'?" relay --queue misuse --drian
it 'names the remedy for a missing queue' refuses 1 "weir queue add x --partitions N" \
    relay --queue x --to stdout:
it 'names the remedy for a missing file' refuses 1 "run 'weir migrate'" \
    relay --db "sqlite:$scratch/nowhere.db" --queue x --to stdout:
it 'refuses a queue twice' refuses 2 "--queue 'misuse' is given twice" \
    relay --queue misuse --queue misuse --to stdout:
it 'refuses operands' refuses 2 "unexpected argument 'x'" relay --queue misuse --to stdout: x
it 'refuses a command that is empty' refuses 2 'a command must follow the colon' \
    relay --queue misuse --to exec:
it 'refuses bad permissions' refuses 2 "--permissions is '0400', must be octal from 0600 to 0666" \
    relay --queue misuse --to stdout: --permissions 0400
it 'makes files for their owner alone, or as asked' makes_private_files
it 'refuses a bad batch' refuses 2 "--batch is '10001', must be a whole number from 1 to 10000" \
    relay --queue misuse --to stdout: --batch 10001
it 'refuses a bad number of handlers' refuses 2 "--handlers is '0'" \
    relay --queue misuse --to stdout: --handlers 0
it 'refuses a lease without unit' refuses 2 "--lease is '30', must be a duration from 100 ms to 1 h" \
    relay --queue misuse --to stdout: --lease 30
it 'refuses a lease that is too short' refuses 2 "--lease is '99ms'" \
    relay --queue misuse --to stdout: --lease 99ms
it 'refuses a bad grace' refuses 2 "--grace is '2h', must be a duration from 0 to 1 h" \
    relay --queue misuse --to stdout: --grace 2h
it 'refuses a bad beginning' refuses 2 "--from is 'end', must be beginning or now" \
    relay --queue misuse --to stdout: --from end

has_somewhere_to_write() {
    local result=0
    "$weir" relay --queue misuse --to stdout: --drain >&- 2>"$scratch/err" || result=$?
    [ "$result" -eq 1 ]
    grep -q 'standard output: Bad file descriptor' "$scratch/err"
}
it 'refuses a standard output that is closed' has_somewhere_to_write
it 'has made no subscription by all that' has_no_subscription misuse

finish
