#!/usr/bin/env bash
# `weir migrate --restored`: a database that was restored elsewhere neither takes messages nor
# delivers any until somebody says that it may.
. "$(dirname "$0")/../kit/tap.sh"
. "$(dirname "$0")/../kit/server.sh"
. "$(dirname "$0")/../kit/cli.sh"

# A database with three messages that nobody has had and one that `default` has, and the place
# where its dump was restored.
original=$(postgresql_url original)
export WEIR_DB=$original
"$weir" migrate --quiet
"$weir" queue add orders --partitions 1 --quiet
"$weir" enqueue orders first --quiet
"$weir" relay --queue orders --to "file:$scratch/original" --drain --quiet
printf '%s\n' second third fourth | "$weir" enqueue orders --lines --quiet
restored=$(postgresql_url restored)
"$server_bin/pg_dump" -d "$original" --format=custom --file="$scratch/dump"
"$server_bin/pg_restore" -d "$restored" --exit-on-error "$scratch/dump"

remedy='run "weir migrate --restored --yes" if it is to deliver'

# ask SQL: of the database in use.
ask() {
    if [[ $WEIR_DB = sqlite:* ]]; then
        sqlite3 "${WEIR_DB#sqlite:}" "$1"
    else
        sql "$WEIR_DB" "$1"
    fi
}

# log_rows: of the restored database.
log_rows() {
    sql "$restored" 'SELECT count(*) FROM weir_log'
}

refuses_to_enqueue() {
    refuses 1 "$remedy" enqueue orders fifth
    [ "$(log_rows)" = 4 ]
}

refuses_to_relay() {
    refuses 1 "$remedy" relay --queue orders --to "file:$scratch/none" --drain
    [ ! -s "$scratch/none" ]
}

doctor_explains() {
    ends 1 doctor
    says 'restored from another cluster' 'weir migrate --restored' 'pg_upgrade'
}

says_what_it_would_do() {
    ends 0 migrate --restored --dry-run
    says 'would deliver: 4 messages of 5 queues' 'positions of 1 subscription'
    ends 0 migrate --restored --dry-run --json
    json '.needed and (.restored | not) and .messages == 4 and .subscriptions == 1'
    [ "$(log_rows)" = 4 ]
}

wants_an_answer() {
    refuses 1 'say --yes to confirm' migrate --restored </dev/null
    [ "$(log_rows)" = 4 ]
}

asks_on_a_terminal() {
    echo n | on_a_terminal 200 "'$weir' migrate --restored" || true
    says 'Let it deliver: 4 messages of 5 queues' '[y/N]' 'nothing was done'
    [ "$(log_rows)" = 4 ]
}

delivers_when_told() {
    ends 0 migrate --restored --yes --json
    json '.needed and .restored and .messages == 4 and .subscriptions == 1'
    ends 0 enqueue orders fifth --quiet
    ends 0 relay --queue orders --to "file:$scratch/copy" --drain --quiet
    [ "$(jq -r '[.seq, .payload] | join(" ")' "$scratch/copy" | paste -sd,)" = \
        '2 second,3 third,4 fourth,5 fifth' ]
}

has_nothing_to_do_twice() {
    ends 0 migrate --restored --yes
    says 'the tables were made in this database, nothing to do'
    ends 0 migrate --restored --yes --json
    json '(.needed | not) and (.restored | not)'
}

is_not_needed() {
    ends 0 enqueue orders hello --quiet
    ends 0 migrate --restored --yes
    says 'nothing is bound to a server, nothing to do'
    [ "$(waiting orders)" = 1 ]
}

# A call of the original was under way when the copy was made.
forgets_marks() {
    ask 'UPDATE weir_ack SET trying = -1' >/dev/null
    ends 0 migrate --restored --dry-run
    [ "$(ask 'SELECT DISTINCT trying FROM weir_ack')" = -1 ]
    ends 0 migrate --restored --yes
    [ "$(ask 'SELECT DISTINCT trying FROM weir_ack')" = 0 ]
}

refuses_yes_alone() {
    refuses 2 '--yes answers what only --restored asks' migrate --yes
}

# As after a dump whose snapshot was taken before the last copy, and whose locks after the emptying.
holed=$(postgresql_url holed)
"$server_bin/pg_restore" -d "$holed" --exit-on-error "$scratch/dump"
sql "$holed" "SELECT setval('weir_emptied', 3)" >/dev/null
sql "$holed" 'DELETE FROM weir_ack' >/dev/null
hole='the dump has a hole'

refuses_a_hole() {
    WEIR_DB=$holed refuses 1 "$hole" migrate --restored --yes &&
        WEIR_DB=$holed refuses 1 'weir migrate --restored --with-holes' migrate --restored --dry-run
}

doctor_names_the_hole() {
    WEIR_DB=$holed ends 1 doctor
    says 'restored from a dump with a hole' 'copies 1 to 3' '--with-holes'
}

goes_on_with_holes() {
    WEIR_DB=$holed ends 0 migrate --restored --with-holes --yes
    says 'the dump has a hole' 'which is not known' '1 positions are missing'
    WEIR_DB=$holed ends 0 doctor
    WEIR_DB=$holed ends 0 relay --queue orders --to "file:$scratch/holed" --drain --quiet
    [ "$(grep -c . "$scratch/holed")" = 4 ]
}

# Restored over itself: the tables were made there.
refuses_to_deliver_with_a_hole() {
    sql "$holed" "SELECT setval('weir_emptied', 900)" >/dev/null
    WEIR_DB=$holed refuses 1 "$hole" relay --queue orders --to "file:$scratch/holed" --drain
}

refuses_holes_alone() {
    refuses 2 'with-holes is for --restored' migrate --with-holes
}

export WEIR_DB=$restored
it 'refuses to enqueue into a restored database' refuses_to_enqueue
it 'refuses to relay from it' refuses_to_relay
it 'doctor explains it' doctor_explains
it 'says what it would do' says_what_it_would_do
it 'does nothing where nobody can be asked' wants_an_answer
it 'asks on a terminal' asks_on_a_terminal
it 'delivers when it is told that it may' delivers_when_told
it 'has nothing to do a second time' has_nothing_to_do_twice
it 'forgets marks of calls on postgresql' forgets_marks
it 'refuses a dump with a hole' refuses_a_hole
it 'doctor names the hole' doctor_names_the_hole
it 'goes on with holes when it is told to' goes_on_with_holes
it 'refuses to deliver from a dump with a hole' refuses_to_deliver_with_a_hole
it 'refuses --yes without a question' refuses_yes_alone
it 'refuses --with-holes without --restored' refuses_holes_alone
for engine in sqlite mariadb; do
    use_engine "$engine"
    "$weir" queue add orders --partitions 1 --quiet
    it "is not needed on $engine" is_not_needed
    "$weir" relay --queue orders --to "file:$scratch/$engine" --drain --quiet
    it "forgets marks of calls on $engine" forgets_marks
done

finish
