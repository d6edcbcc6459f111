#!/usr/bin/env bash
# `weir flow create, add, edge, show, list` and `cancel`: executions that wait for each
# other, as those see them who plan them and those who ask why something does not move.
. "$(dirname "$0")/../kit/tap.sh"
. "$(dirname "$0")/../kit/server.sh"
. "$(dirname "$0")/../kit/cli.sh"

export LC_ALL=C

# create [OPTION...]: prints the id of a flow.
create() {
    "$weir" flow create --kind order "$@"
}

# add FLOW [OPTION...]: prints ids; members are on standard input unless they are given.
add() {
    local flow=$1
    shift
    [ $# -gt 0 ] || set -- --from -
    "$weir" flow add "$flow" --quiet "$@"
}

# steps NAME...: a member of each name, in a lane of its own.
steps() {
    local name
    for name in "$@"; do
        printf '{"name": "%s", "lane": "%s", "kind": "%s"}\n' "$name" "$name" "$name"
    done
}

# edges "A B"...: an edge from A to B.
edges() {
    local edge
    for edge in "$@"; do
        printf '{"from": "%s", "to": "%s"}\n' "${edge% *}" "${edge#* }"
    done
}

claim() {
    "$weir" execution claim --quiet --lease 1h --lane "$1"
}

complete() {
    local lane
    for lane in "$@"; do "$weir" execution complete --quiet "$(claim "$lane")"; done
}

show() {
    ends 0 flow show "$@"
}

# stands FLOW: how much is in it.
stands() {
    "$weir" flow show "$1" --json | jq -c '[.revision, .member_count, .edge_count]'
}

# leaves FLOW CODE TEXT ARG...: it ends with CODE and TEXT, and the flow is as $stood.
leaves() {
    local flow=$1 code=$2 text=$3
    shift 3
    ends "$code" flow "$@" <"$scratch/in"
    grep -qF -- "$text" "$scratch/err" || { echo "no \"$text\":"; cat "$scratch/err"; return 1; }
    [ ! -s "$scratch/out" ]
    [ "$(stands "$flow")" = "$stood" ]
}

# ---- create, list ----------------------------------------------------------------------------

creates_one() {
    local id=01234567-89ab-cdef-0123-456789abcdef
    ends 0 flow create --kind order
    grep -qE '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' "$scratch/out"
    [ "$(create --id $id --namespace shop)" = $id ]
    [ "$(create --id $id --namespace shop)" = $id ]
    refuses 1 'another kind or namespace' flow create --kind other --id $id
    refuses 2 '--kind KIND is needed' flow create
    refuses 2 'must be a uuid' flow create --kind order --id x
    show $id
    says 'state         open' 'namespace     shop' "no members; add them with 'weir flow add'"
    ends 0 flow create --kind order --json
    json '.flow | length == 36'
}

lists_in_pages() {
    local i mark
    for i in 1 2 3; do create --namespace paged; done >"$scratch/ids"
    ends 0 flow list --namespace paged --limit 2
    mark=$(sed -n 's/^there are more: --after //p' "$scratch/out")
    "$weir" flow list --namespace paged --limit 2 --quiet >"$scratch/pages"
    "$weir" flow list --namespace paged --limit 2 --after "$mark" --quiet >>"$scratch/pages"
    diff <(tac "$scratch/ids") "$scratch/pages"
    ends 0 flow list --namespace paged --json
    json '(.flows | length) == 3 and .after == null and .flows[0].state == "open"'
    ends 0 flow list --namespace nobody
    says "no flows; make one with 'weir flow create"
}

# ---- add -------------------------------------------------------------------------------------

adds_a_graph_by_names() {
    local flow
    flow=$(create)
    {
        steps n1 n2
        echo '{"name": "n3", "lane": "n3", "kind": "n3", "after": ["n1", "n2"], "join": "any",
            "priority": 7, "tags": {"shop.plan": "gold"}, "capabilities": ["gpu"], "input": {"a": 1},
            "retries": 2, "delay": "1h", "cancel_remaining": true}' | tr -d '\n'
    } >"$scratch/in"
    ends 0 flow add "$flow" --from "$scratch/in"
    [ "$(awk '{print $2}' "$scratch/out" | tr '\n' ' ')" = 'n1 n2 n3 ' ]
    show "$flow" --json
    json '.revision == 1 and .member_count == 3 and .edge_count == 2 and
        ([.members[] | .kind + " " + .state] == ["n1 waiting", "n2 waiting", "n3 waiting_children"])
        and .members[2].priority == 7 and .members[2].capabilities == "gpu" and
        (.joins | length == 1 and .[0].join == "any" and .[0].cancel_remaining)'
}

adds_one_object_over_lines() {
    local flow
    flow=$(create)
    jq -n '{members: [{name: "a", lane: "o1", kind: "a", input: "text"}, {name: "b", lane: "o2", kind: "b"}],
        edges: [{from: "a", to: "b", pass_data: true}], joins: [{to: "b", join: "quorum:1"}]}' >"$scratch/in"
    [ "$(wc -l <"$scratch/in")" -gt 5 ]
    ends 0 flow add "$flow" --from - --json <"$scratch/in"
    json '.revision == 1 and [.members[].name] == ["a", "b"]'
    ends 0 execution claim --lane o1 --json
    json '.claims[0].input == "text"'
    "$weir" execution complete -q "$(jq -r '.claims[0].token' "$scratch/out")" --result passed
    ends 0 execution claim --lane o2 --json
    json '.claims[0].input == "passed"'
}

gives_a_join_all_results_by_name() {
    local flow
    flow=$(create)
    {
        steps j1 j2
        echo '{"name": "sum", "lane": "j3", "kind": "add", "after": ["j1", "j2"], "pass_data": true, "input": {"own": 1}}'
    } | add "$flow" >"$scratch/ids"
    show "$flow"
    says 'sum (add)'
    show "$flow" --json
    json '[.members[].name] == ["j1", "j2", "sum"]'
    ends 0 execution get "$(sed -n 3p "$scratch/ids")"
    grep -qE '^name +sum$' "$scratch/out"
    for lane in j1 j2; do
        ends 0 execution claim --lane $lane --json
        json ".claims[0].name == \"$lane\""
        "$weir" execution complete -q "$(jq -r '.claims[0].token' "$scratch/out")" --result "{\"is\": \"$lane\"}"
    done
    ends 0 work --lane j3 --drain --exec 'echo "$WEIR_NAME"; cat'
    [ "$("$weir" execution result "$(sed -n 3p "$scratch/ids")")" = 'sum
{"input": {"own": 1}, "results": {"j1": {"is": "j1"}, "j2": {"is": "j2"}}}' ]
}

refuses_a_name_that_another_member_has() {
    local flow
    flow=$(create)
    add "$flow" --lane q --kind q --name pack
    stood=$(stands "$flow")
    leaves "$flow" 1 'another member of the flow has the name "pack"' add "$flow" --lane q --kind q --name pack
    leaves "$flow" 2 'has a comma' add "$flow" --lane q --kind q --name a,b
}

adds_one_by_options() {
    local flow first second
    flow=$(create)
    first=$(add "$flow" --lane p1 --kind first)
    second=$(add "$flow" --lane p2 --kind second --input hello --after "$first" --revision 1)
    [ "$("$weir" execution get -q "$second")" = waiting_children ]
    complete p1
    ends 0 execution claim --lane p2 --json
    json ".claims[0] | .id == \"$second\" and .input == \"hello\""
}

# With a key for each member a call whose answer was lost is made again.
adds_once_for_one_key() {
    local flow
    flow=$(create)
    {
        echo '{"name": "a", "lane": "y1", "kind": "a", "key": "'"$flow"'/a"}'
        echo '{"name": "b", "lane": "y2", "kind": "b", "key": "'"$flow"'/b", "after": "a", "join": "any"}'
    } >"$scratch/in"
    add "$flow" <"$scratch/in" >"$scratch/first"
    add "$flow" <"$scratch/in" | diff - "$scratch/first"
    [ "$(stands "$flow")" = '[1,2,1]' ]
    stood='[1,2,1]'
    sed -i 's/"kind": "b"/"kind": "c"/' "$scratch/in"
    leaves "$flow" 1 'used before for something else' add "$flow" --from -
}

adds_edges() {
    local flow ids
    flow=$(create)
    steps e1 e2 e3 | add "$flow" >"$scratch/ids"
    mapfile -t ids <"$scratch/ids"
    ends 0 flow edge "$flow" "${ids[0]}" "${ids[1]}" "${ids[2]}" --json
    json '.revision == 2'
    ends 0 flow edge "$flow" "${ids[1]}" "${ids[2]}"
    [ ! -s "$scratch/out" ]
    show "$flow" --json
    json '.edge_count == 3 and .joins[1].total == 2'
    refuses 2 'FROM and TO are needed' flow edge "$flow" "${ids[0]}"
    refuses 2 'must be a partition and a uuid' flow edge "$flow" "${ids[0]}" e2
}

# ---- what is refused -------------------------------------------------------------------------

refuses_what_the_engine_refuses() {
    local flow other ids stranger
    flow=$(create)
    steps r1 r2 | add "$flow" >"$scratch/ids"
    mapfile -t ids <"$scratch/ids"
    other=$(create)
    stranger=$(steps r3 | add "$other")
    : >"$scratch/in"
    "$weir" flow edge "$flow" "${ids[0]}" "${ids[1]}"
    stood=$(stands "$flow")

    leaves "$flow" 1 'lead in a circle' edge "$flow" "${ids[1]}" "${ids[0]}"
    leaves "$flow" 2 'leads to where it comes from' edge "$flow" "${ids[0]}" "${ids[0]}"
    leaves "$flow" 1 "edges are between members" edge "$flow" "$stranger" "${ids[1]}"
    leaves "$flow" 1 "not 7: read it again, 'weir flow show'" \
        edge "$flow" "${ids[0]}" "${ids[1]}" --revision 7
    leaves "$flow" 1 'fixed with its first edge; nothing was added' \
        edge "$flow" "${ids[0]}" "${ids[1]}" --join any
    leaves "$flow" 1 'the partition of its id' \
        add "$flow" --lane r --kind r --id '300-00000000-0000-0000-0000-000000000001' --partitions 1000
    complete r1
    claim r2 >/dev/null
    steps late >"$scratch/in"
    edges "late ${ids[1]}" >>"$scratch/in"
    leaves "$flow" 1 'has begun' add "$flow" --from -
    "$weir" flow cancel -q "$flow" --members none
    steps more >"$scratch/in"
    leaves "$flow" 1 'it takes no more members' add "$flow" --from -
    refuses 1 "'weir flow list' lists all" flow show 00000000-0000-0000-0000-000000000000
    ends 1 flow add 00000000-0000-0000-0000-000000000000 --lane a --kind a
    grep -qF "'weir flow list' lists all" "$scratch/err"
}

names_who_is_in_a_circle() {
    local flow
    flow=$(create)
    stood='[0,0,0]'
    { steps c1 c2 c3; edges 'c1 c2' 'c2 c3' 'c3 c2'; } >"$scratch/in"
    leaves "$flow" 1 'lead in a circle, by execution ' add "$flow" --from -
    grep -qE 'by execution [0-9]+-[0-9a-f]{8}-' "$scratch/err"
    grep -qE '\("c[23]"\); nothing was added' "$scratch/err"
}

refuses_bad_plans() {
    local flow
    flow=$(create)
    stood='[0,0,0]'
    refuse_line() { # TEXT: line 2 of the input is refused with it
        leaves "$flow" 2 "$1" add "$flow" --from -
        grep -qF 'that was line 2; nothing was added' "$scratch/err"
    }
    line() {
        { steps good; printf '%s\n' "$1"; } >"$scratch/in"
    }
    line '{"name": "x", "lane": "x", "knid": "x"}' && refuse_line "unknown field 'knid', did you mean 'kind'?"
    line '{"name": "x", "lane": "x"}' && refuse_line 'kind KIND is needed'
    line '{"name": "good", "lane": "x", "kind": "x"}' && refuse_line "two members are called 'good'"
    line '{"name": "{x", "lane": "x", "kind": "x"}' && refuse_line "not begin with '{'"
    line '{"name": "1-00000000-0000-0000-0000-000000000000", "lane": "x", "kind": "x"}' && refuse_line 'is an id of an execution'
    line '{"lane": "x", "kind": "x", "priority": 9001}' && refuse_line 'from 0 to 9000'
    line '{"lane": "x", "kind": "x", "after": "good", "join": "quorum:0"}' && refuse_line 'with a K from 1 to'
    line '{"lane": "x", "kind": "x", "after": "good", "join": "most"}' && refuse_line "a join is 'most'"
    line '{"lane": "x", "kind": "x", "tags": ["a"]}' && refuse_line 'tags is '
    line '{"lane": "x", "kind": "x", "budgets": "b"}' && refuse_line 'must be a list'
    line '{"lane": "x", "kind": "x", "pass_data": 1}' && refuse_line 'must be true or false'
    line '{"from": "good"}' && refuse_line "an edge has no 'to'"
    line '{"lane": "x", ' && refuse_line 'no JSON object'
    line 'words' && refuse_line 'no JSON object'
    { steps good; edges 'good nobody'; } >"$scratch/in"
    leaves "$flow" 2 "no member is called 'nobody'" add "$flow" --from -
    grep -qF 'that was line 2; nothing was added' "$scratch/err"
    leaves "$flow" 2 'the other options are of one' add "$flow" --from - --lane x
    leaves "$flow" 2 'a FLOW is needed' add --lane x --kind x
    leaves "$flow" 2 'is an execution and no flow' add '1-00000000-0000-0000-0000-000000000000' --from -
}

# ---- show ------------------------------------------------------------------------------------

draws_the_graph() {
    local flow
    flow=$(create)
    { steps d1 d2 d3 d4; edges 'd1 d2' 'd1 d3' 'd2 d4' 'd3 d4'; } | add "$flow" >/dev/null
    complete d1
    claim d2 >/dev/null
    show "$flow"
    sed -n '/^$/,$p' "$scratch/out" | cut -c 1-8 | diff - <(printf '%s\n' \
        '' '*    1 d' '+-+' '@ |  2 d' '| o  3 d' '+-+' 'o    4 d')
    TERM=xterm LC_ALL=C.UTF-8 "$weir" flow show "$flow" >"$scratch/out"
    says '●    1 d1  completed' '├─╮' '◉ │  2 d2  active' '├─╯'
    ends 0 flow show "$flow" --quiet
    [ "$(cat "$scratch/out")" = running ]
}

says_why() {
    local flow
    flow=$(create)
    "$weir" budget create "why.$engine" --hard cents=5 --period 1h --quiet
    {
        steps w1 w2 w3
        echo '{"name": "late", "lane": "late", "kind": "late", "delay": "2h"}'
        echo "{\"name\": \"poor\", \"lane\": \"poor\", \"kind\": \"poor\", \"budgets\": [\"why.$engine\"]}"
        echo '{"name": "join", "lane": "join", "kind": "join", "after": ["w1", "w2", "w3"]}'
        echo '{"name": "two", "lane": "two", "kind": "two", "after": ["w2", "w3"], "join": "quorum:2"}'
    } | add "$flow" >/dev/null
    complete w1
    "$weir" execution suspend --quiet "$(claim w3)" --until approved@review --timeout 2h --on-timeout cancel \
        --reason approval >/dev/null
    "$weir" budget report "why.$engine" cents=5 --quiet
    [ -z "$(claim poor)" ]
    show "$flow"
    says 'waiting: no worker has claimed it yet' 'delayed: begins in 1 h 59 min' \
        "rate_limited: budget 'why.$engine' is used up: 5 of 5 cents; reset in 59 min" \
        'suspended: approval, until approved@review; timeout in 1 h 59 min: cancel' \
        'waiting_children: 1 of 3, needs 3; missing: 2 w2 (waiting), 3 w3 (suspended)' \
        'waiting_children: 0 of 2, needs 2; missing: 2 w2 (waiting), 3 w3 (suspended)'
    show "$flow" --json
    json '[.members[] | select(.kind == "join") | .why] == ["1 of 3, needs 3; missing: w2 (waiting), w3 (suspended)"]'
}

shows_the_flow_around_an_execution() {
    local flow id
    flow=$(create)
    id=$(steps around | add "$flow")
    show "$id"
    says "flow          $flow" '1 around'
    show "$flow" --ids
    says "$id"
    ends 0 execution get "$id"
    says "flow          $flow"
    ends 0 execution get "$id" --json
    json ".flow == \"$flow\""
    ends 0 execution list --flow "$flow" --quiet
    [ "$(cat "$scratch/out")" = "$id" ]
    id=$("$weir" submit --lane alone --kind alone)
    refuses 1 'is in no flow' flow show "$id"
    refuses 1 'there is no such execution' flow show '1-00000000-0000-0000-0000-000000000000'
}

folds_large_layers() {
    local flow
    flow=$(create)
    {
        steps f1 f2
        for i in {1..40}; do
            echo "{\"name\": \"m$i\", \"lane\": \"many\", \"kind\": \"many\", \"after\": \"f1\"}"
            echo "{\"from\": \"m$i\", \"to\": \"f2\"}"
        done
    } | add "$flow" >/dev/null
    complete f1 many many
    show "$flow"
    says '#   2 40 x many  38 waiting, 2 completed: 4 is waiting: no worker' \
        '2 of 40, needs 40; missing: 4 m3 (waiting), 5 m4 (waiting), 6 m5 (waiting) and 35 more' \
        '--fold 0 shows all members'
    [ "$(grep -c many "$scratch/out")" -eq 1 ]
    show "$flow" --fold 0
    [ "$(grep -c '(many) ' "$scratch/out")" -eq 40 ]
    ends 0 flow show "$flow" --json
    json '.members | length == 42'
}

# Whatever is drawn: no line is wider than the terminal.
fits_the_terminal() {
    local flow columns locale
    flow=$(create)
    {
        steps t1 t2 t3 a_kind_with_a_name_that_is_much_too_long_for_any_column t5 t6 t7 t8
        for i in {1..3}; do for j in 5 6 7 8; do edges "t$i t$j"; done; done
        edges 't5 a_kind_with_a_name_that_is_much_too_long_for_any_column' 't8 t6'
    } | add "$flow" >/dev/null
    for columns in 40 80; do
        for locale in C C.UTF-8; do
            on_a_terminal "$columns" "LC_ALL=$locale NO_COLOR=1 '$weir' flow show $flow --ids"
            says '1 t1'
            sed 's/\r$//' "$scratch/out" | LC_ALL=C.UTF-8 awk -v most="$columns" \
                'length($0) > most { print FILENAME ": " $0; bad = 1 } END { exit bad }' ||
                { echo "at $columns columns, $locale"; return 1; }
        done
    done
    "$weir" execution complete -q "$(claim t1)"
    on_a_terminal 80 "'$weir' flow show $flow"
    grep -qF $'\033[32mcompleted' "$scratch/out"
}

watches_until_it_ends() {
    local flow pid
    flow=$(create)
    steps watched | add "$flow" >/dev/null
    "$weir" flow show "$flow" --watch 100ms >"$scratch/watched" &
    pid=$!
    until_true grep -q 'no worker has claimed it yet' "$scratch/watched"
    complete watched
    wait "$pid"
    grep -q 'state         completed' "$scratch/watched"
}

# ---- cancel ----------------------------------------------------------------------------------

cancels() {
    local flow members left
    for members in all pending none; do
        flow=$(create)
        { steps k1 k2; edges 'k1 k2'; } | add "$flow" >/dev/null
        claim k1 >"$scratch/token"
        ends 0 flow cancel "$flow" --members $members --reason "not $members"
        case $members in all) left=2 ;; pending) left=1 ;; none) left=0 ;; esac
        says "flow $flow cancelled; members cancelled: $left"
        show "$flow"
        says "state         cancelled: not $members"
        ends 0 flow cancel "$flow" --json
        json '.members_cancelled >= 0 and .state == "cancelled"'
        "$weir" execution cancel -q $("$weir" execution list --flow "$flow" --state active --state waiting -q) \
            2>/dev/null || true
    done
    flow=$(create)
    steps k3 | add "$flow" >/dev/null
    complete k3
    refuses 1 "is completed and is left as it is" flow cancel "$flow"
    refuses 2 "must be all, pending or none" flow cancel "$flow" --members some
    refuses 2 'is an execution and no flow' flow cancel '1-00000000-0000-0000-0000-000000000000'
    refuses 2 "unexpected argument '$flow'" flow cancel "$flow" "$flow"
    refuses 2 'no FLOW given' flow cancel --members all
    refuses 2 'must be a partition and a uuid' execution cancel "$flow"
}

# ---- roles -----------------------------------------------------------------------------------

# as ROLE: the database for a user who has this role and nothing else.
as() {
    echo "${WEIR_DB/weir:cork-and-lead/flow_$1:pass-$1}"
}

# Who may only submit plans a flow; who may only look sees it, and why it waits.
is_for_producers_and_viewers() {
    local flow role
    local -x WEIR_PREFIX=graph # roles are the server's: another program's begin with weir
    "$weir" migrate --roles --quiet
    for role in producer viewer; do
        sql "$WEIR_DB" "CREATE ROLE flow_$role LOGIN PASSWORD 'pass-$role'"
        sql "$WEIR_DB" "GRANT graph_$role TO flow_$role"
    done
    flow=$("$weir" flow create --kind order --namespace roles --db "$(as producer)")
    { steps x1 x2; edges 'x1 x2'; } >"$scratch/in"
    ends 0 flow add "$flow" --from - --db "$(as producer)" <"$scratch/in"
    "$weir" execution suspend --quiet "$(claim x1)" --until approved@review >/dev/null
    ends 0 flow show "$flow" --db "$(as viewer)"
    says 'suspended: signal, until approved@review' '0 of 1, needs 1; missing: 1 x1 (suspended)'
    ends 0 flow list --namespace roles --db "$(as viewer)"
    says "$flow"
    refuses 1 'permission denied' flow show "$flow" --db "$(as producer)"
    refuses 1 'permission denied' flow create --kind order --db "$(as viewer)"
    ends 0 flow show "$flow" --json
    json '[.members[].namespace] == ["roles", "roles"]'
}

for engine in ${WEIR_ENGINES:-sqlite postgresql}; do
    [ "$engine" != mariadb ] || continue
    use_engine "$engine"
    it "creates a flow and prints its id, on $engine" creates_one
    it "lists flows in pages, on $engine" lists_in_pages
    it "adds a graph whose members have names, on $engine" adds_a_graph_by_names
    it "adds what is one object over several lines, on $engine" adds_one_object_over_lines
    it "adds one by options, on $engine" adds_one_by_options
    it "gives a join all results by name, on $engine" gives_a_join_all_results_by_name
    it "refuses a name that another member has, on $engine" refuses_a_name_that_another_member_has
    it "adds once for one key, on $engine" adds_once_for_one_key
    it "adds edges, on $engine" adds_edges
    it "says what is refused and what to do, and adds nothing, on $engine" refuses_what_the_engine_refuses
    it "names who is in a circle, on $engine" names_who_is_in_a_circle
    it "draws the graph, on $engine" draws_the_graph
    it "says for each that waits why it does, on $engine" says_why
    it "shows the flow around an execution, on $engine" shows_the_flow_around_an_execution
    it "folds layers that are large, on $engine" folds_large_layers
    it "watches until the flow ends, on $engine" watches_until_it_ends
    it "cancels flows, with or without their members, on $engine" cancels
    [ "$engine" != postgresql ] ||
        it 'lets producers plan a flow, and viewers see why it waits' is_for_producers_and_viewers
done
use_engine sqlite
it 'says in which line a plan is wrong, and adds nothing' refuses_bad_plans
it 'draws no line that is wider than the terminal' fits_the_terminal

finish
