#!/usr/bin/env bash
# `weir relay` that is killed, stopped and mistreated while messages come. What must hold is in
# crash/relay_audit.awk.
. "$(dirname "$0")/../kit/tap.sh"
. "$(dirname "$0")/../kit/server.sh"
. "$(dirname "$0")/../kit/cli.sh"

partitions=8
producers=2
kills=15          # at least, of each engine
kills_in_flight=3 # at least, of these, that left something written and not acknowledged
kills_max=80
stops_max=40      # to find such a moment
stops=5
pairs=5
relays=()         # that run side by side
lease=1s
seed=${WEIR_SEED:-$((RANDOM * 32768 + RANDOM))}
echo "# WEIR_SEED=$seed repeats the times of the kills"
RANDOM=$seed

# ---- the file ------------------------------------------------------------------------------

# A producer: `weir enqueue --lines`, a burst every moment, until $scratch/enough is there. What it
# has enqueued is in $scratch/sent.N.
produce() {
    local number=0
    until [ -e "$scratch/enough" ]; do
        seq $((number + 1)) $((number + 60)) | sed "s/.*\(.\)\$/{\"k\":\"\1\",\"p\":\"$1 &\"}/"
        number=$((number + 60))
        sleep 0.05
    done | "$weir" enqueue "$queue" --lines --batch 50 --key-field k --payload-field p --json |
        jq -r "\"$1 \\(.count)\"" >"$scratch/sent.$1"
}

# However a case ends, nothing it has started stays.
end_all() {
    touch "$scratch/enough"
    [ -z "${relay:-}" ] || kill -s KILL "$relay" 2>/dev/null || true
    kill -s KILL "${relays[@]}" 2>/dev/null || true
    wait
}

# start [OPTION...]: a relay to the file, in small batches, so that there are many to be killed in.
# What a killed one held is free when its lease is over.
start() {
    "$weir" relay --queue "$queue" --to "file:$file" --batch 5 --lease "$lease" "$@" \
        >"$scratch/relay.out" 2>"$scratch/relay.err" &
    relay=$!
    lines_before=$(wc -l <"$file")
}

grows_by() {
    [ "$(wc -l <"$file")" -ge $((lines_before + $1)) ]
}

# mark KIND: how far file and acknowledgements are, by partition.
mark() {
    local lines
    lines=$(wc -l <"$file")
    "$weir" status "$queue" --json --all |
        jq -r ".partitions[] | \"$lines $1 \\(.partition) \\(.seq)\""
}

# note KIND: the same for the audit, after a relay has ended. While none runs, both stand.
note() {
    mark "$1" >"$scratch/mark"
    cat "$scratch/mark" >>"$scratch/marks"
}

# in_flight FILE: after this mark something comes again. A line that is not whole does not count.
in_flight() {
    local acked
    acked=$(awk '{ sum += $4 } END { print sum }' "$1")
    [ "$acked" -lt "$(jq -rR 'fromjson? | "\(.partition) \(.seq)"' "$file" | sort -u | wc -l)" ]
}

# Stop the relay at moments until it has written what is not acknowledged, and leave it stopped. A fast
# machine acknowledges so soon that a kill at a random time finds this once in forty.
stop_in_flight() {
    local i
    for ((i = 0; i < stops_max; i++)); do
        until_true grows_by $((i + 1))
        kill -s STOP $relay
        mark kill >"$scratch/glance"
        ! in_flight "$scratch/glance" || return 0
        kill -s CONT $relay
    done
}

# The file as the audit wants it; fails for a line that is not whole.
read_lines() {
    jq -r '"\(.partition) \(.seq) \(.id) \(.epoch) \(.payload)"' "$file"
}

audit() {
    awk -v partitions=$partitions -f "$root/tests/crash/relay_audit.awk" "$scratch/sent" \
        "${2:-$scratch/marks}" "${1:-$scratch/lines}"
}

# Kill one after the other at random: some while they start, most while they write.
kill_many() {
    local count=0 flights=0 flight
    while [ "$count" -lt $kills ] || [ "$flights" -lt $kills_in_flight ]; do
        [ "$count" -lt $kills_max ] || { echo "only $flights kills found something"; return 1; }
        start
        [ $((RANDOM % 4)) -eq 0 ] || until_true grows_by 1
        sleep "0.$(printf '%03d' $((RANDOM % 200)))"
        [ "$flights" -ge $kills_in_flight ] || stop_in_flight
        kill -s KILL $relay
        wait $relay || true
        note kill
        count=$((count + 1))
        flight=0
        [ "$flights" -ge $kills_in_flight ] || ! in_flight "$scratch/mark" || flight=1
        flights=$((flights + flight))
    done
}

# Under the same load, in good order: each ends with 0, with nothing left behind. Leases are long: who
# loses one, since the machine stood still, cannot acknowledge what it has written.
stop_many() {
    local i result lease=30s
    for ((i = 0; i < stops; i++)); do
        start --json --grace 30s
        until_true grows_by 50
        kill -s TERM $relay
        result=0
        wait $relay || result=$?
        [ $result -eq 0 ] || { echo "exit code $result"; cat "$scratch/relay.err"; return 1; }
        jq -e '.ended == "stopped" and .unfinished == 0' "$scratch/relay.out" >/dev/null
        note stop
    done
}

# end PID: in good order.
end() {
    local result=0
    kill -s TERM "$1"
    wait "$1" || result=$?
    [ $result -eq 0 ] || { echo "exit code $result"; cat "$scratch/relay.err"; return 1; }
}

# Two of one name write to the one file; one of them is killed and replaced, again and again. So
# there is no mark but the last.
kill_among_others() {
    local i first
    start
    for ((i = 0; i < pairs; i++)); do
        first=$relay
        start
        until_true grows_by 50
        sleep "0.$(printf '%03d' $((RANDOM % 200)))"
        kill -s KILL "$first"
        wait "$first" || true
    done
    until_true grows_by 50
    kill -s TERM "$relay"
    wait "$relay" || true # with leases as short as these it may have lost one
}

# Three of one name, each ended and replaced while messages come. Leases are long here, too.
restart_in_turn() {
    local i lease=30s
    for ((i = 0; i < 3; i++)); do
        start
        relays[i]=$relay
    done
    until_true grows_by 50
    for ((i = 0; i < 6; i++)); do
        end "${relays[i % 3]}"
        start
        relays[i % 3]=$relay
        until_true grows_by 50
    done
    for ((i = 0; i < 3; i++)); do end "${relays[i]}"; done
    relays=()
}

restarts_without_repeats() {
    survives restart_in_turn
    audit | tail -n 1 | grep -q ' 0 came again, 0 takeovers'
}

# survives COMMAND...: in the end all is there, in order. What follows looks at what is left.
survives() {
    local producer
    trap end_all EXIT
    "$weir" queue add "$queue" --partitions $partitions --quiet
    "$weir" relay --queue "$queue" --to "file:$file" --drain --quiet # makes file and subscription
    for ((producer = 1; producer <= producers; producer++)); do produce $producer & done
    for step in "$@"; do $step; done
    touch "$scratch/enough"
    until_true all_have_sent
    "$weir" relay --queue "$queue" --to "file:$file" --drain --quiet
    note stop
    cat "$scratch"/sent.[0-9]* >"$scratch/sent"
    read_lines >"$scratch/lines"
    audit
}

all_have_sent() {
    [ "$(cat "$scratch"/sent.[0-9]* | wc -l)" -eq $producers ]
}

# prepare QUEUE: for the next survives().
prepare() {
    queue=$1
    file=$scratch/$1-$engine.jsonl
    rm -f "$scratch"/enough "$scratch"/marks "$scratch"/sent* "$scratch"/lines
}

# The audit's last line: figures.
tells() {
    [ ! -e "$scratch/lines" ] || audit | tail -n 1 | sed 's/^/# /' || true
}

# ---- the audit itself ----------------------------------------------------------------------

# notices TEXT AWK: it does, when the lines were changed like this.
notices() {
    local result=0
    awk "$2" "$scratch/lines" >"$scratch/bad"
    ! cmp -s "$scratch/lines" "$scratch/bad" || { echo 'nothing was changed'; return 1; }
    audit "$scratch/bad" >"$scratch/complaints" || result=$?
    [ $result -eq 1 ] && grep -q -- "$1" "$scratch/complaints" ||
        { echo 'it did not:'; cat "$scratch/complaints"; return 1; }
}

# Marks as they would be if acknowledged before written, after a kill or after a stop.
notices_early_acks() {
    awk -v kind="$1" '$2 == kind { $4 = $4 + 100000 } { print }' "$scratch/marks" >"$scratch/bad"
    ! audit "$scratch/lines" "$scratch/bad" >"$scratch/complaints"
    grep -q 'is acknowledged up to 1[0-9]*, but the file ends at' "$scratch/complaints"
}

# ---- processes -----------------------------------------------------------------------------

# At the first attempt a signal, a hang and a retry; and a reject. What hangs has three seconds.
survives_bad_processes() {
    local who=$scratch/processes-$engine
    "$weir" queue add mischief --partitions 4 --quiet
    for kind in signal hang retry reject fine signal hang retry reject fine; do echo $kind; done |
        "$weir" enqueue mischief --lines --quiet
    mkdir "$who"
    cat >"$who/act" <<'END'
kind=$(jq -r .payload)
echo "$kind $WEIR_SEQ $WEIR_PARTITION $WEIR_ATTEMPTS" >>"$1/calls"
[ "$kind" != reject ] || exit 65
[ "$WEIR_ATTEMPTS" -gt 0 ] || case $kind in
    signal) kill -s SEGV $$ ;;
    hang) tail -f "$1/calls" >/dev/null ;;
    retry) exit 75 ;;
esac
echo "$kind" >>"$1/done"
END
    ends 0 relay --queue mischief --to "exec:sh $who/act $who" --lease 4s --drain --json
    json '.count == 10 and .rejected == 2'
    printf '%s\n' fine fine hang hang retry retry signal signal | cmp - <(sort "$who/done")
    [ "$(sort "$who/calls" | uniq -d | wc -l)" -eq 0 ]
    until_true nobody_works_on "$who"
}

# No process has that word in its command line; one that is dead has none.
nobody_works_on() {
    ! grep -qF -- "$1" /proc/[0-9]*/cmdline 2>/dev/null
}

# children PID: how many, zombies too.
children() {
    cat "/proc/$1"/task/*/children 2>/dev/null | wc -w
}

descriptors() {
    find "/proc/$1/fd" -mindepth 1 | wc -l
}

delivered() {
    [ "$("$weir" status many --json --all | jq '[.partitions[].seq] | add')" -eq "$1" ]
}

# Ten thousand processes. Connections to the database are opened when they are needed, so a few
# descriptors more are none that leak.
leaks_nothing() {
    local before after
    trap end_all EXIT
    "$weir" queue add many --partitions 8 --quiet
    "$weir" relay --queue many --to exec:true --from beginning >/dev/null 2>"$scratch/relay.err" &
    relay=$!
    seq 1 500 | "$weir" enqueue many --lines --quiet
    until_true delivered 500
    before=$(descriptors $relay)
    seq 501 10000 | "$weir" enqueue many --lines --quiet
    until_true delivered 10000
    after=$(descriptors $relay)
    [ "$(children $relay)" -eq 0 ] || { echo "children: $(children $relay)"; return 1; }
    [ "$after" -le $((before + 8)) ] || { echo "descriptors: $before, then $after"; return 1; }
    kill -s TERM $relay
    wait $relay
}

for engine in $engines; do
    use_engine "$engine"
    prepare shared
    it "loses nothing when one of two that share is killed on $engine" survives kill_among_others
    tells
    prepare rolling
    it "repeats nothing when three are restarted in turn on $engine" restarts_without_repeats
    tells
    prepare alone
    it "loses nothing however often it is killed or stopped on $engine" survives kill_many stop_many
    tells
    it "survives processes that crash, hang, retry and reject on $engine" survives_bad_processes
    it "leaks nothing over ten thousand processes on $engine" leaks_nothing
done

# The last file again, spoilt.
middle='NR == 500'
it 'the audit notices a line that is missing' notices 'has seq' "$middle { next } { print }"
it 'the audit notices a line that comes twice' notices 'has seq' "{ print } $middle { print }"
it 'the audit notices two lines that are swapped' notices 'has seq' \
    "$middle { p = \$1; held = \$0; next } { print } \$1 == p && held { print held; held = \"\" }"
it 'the audit notices a message at the end that is missing' notices 'has sent' \
    '{ if (NR > 1) print before; before = $0 }'
it 'the audit notices another message under the same number' notices 'has number\|another message' \
    "$middle { \$6 = 1 } { print }"
it 'the audit notices acks before writes at a kill' notices_early_acks kill
it 'the audit notices acks before writes at a stop' notices_early_acks stop

finish
