#!/usr/bin/env bash
# The variables that processes of `relay --to exec:` and `work` get are those of docs/cli.md.
. "$(dirname "$0")/../kit/tap.sh"
. "$(dirname "$0")/../kit/cli.sh"

unset "${!WEIR_@}" # of whoever runs the tests: processes inherit them
db=sqlite:$scratch/main.db
dump="env | grep -o '^WEIR_[A-Z_]*' | LC_ALL=C sort >$scratch/given"

# documented TITLE: the variables in the table of docs/cli.md whose first column has this title.
documented() {
    awk -v title="| $1 | |" '$0 == title { inside = 1; next } !/^\|/ { inside = 0 }
        inside { split($0, cells, "|"); print cells[2] }' "$root/docs/cli.md" |
        grep -o 'WEIR_[A-Z_]*' | sort
}

tells_what_the_page_says_about_a_message() {
    "$weir" queue add orders --partitions 1 --quiet --db "$db"
    ends 0 enqueue orders --key k x --db "$db"
    ends 0 relay --queue orders --drain --to "exec:$dump" --db "$db"
    documented "Variable of \`exec:\`" | diff - "$scratch/given"
}

tells_what_the_page_says_about_an_execution() {
    ends 0 submit --lane L --kind K --input x --db "$db"
    ends 0 work --lane L --exec "$dump" --drain --db "$db"
    documented "Variable of \`work\`" | diff - "$scratch/given"
}

# named COMMAND...: the variables that its help names.
named() {
    "$weir" help "$@" | grep -o 'WEIR_[A-Z_]*' | sort -u
}

names_them_in_its_help() {
    documented "Variable of \`exec:\`" | diff - <(named relay | grep -v '^WEIR_DB$\|^WEIR_PREFIX$')
    documented "Variable of \`work\`" | diff - <(named work)
}

# The table was found, or nothing would be compared with nothing.
knows_the_variables() {
    [ "$(documented "Variable of \`exec:\`" | wc -l)" -ge 8 ]
    [ "$(documented "Variable of \`work\`" | wc -l)" -ge 11 ]
}

"$weir" migrate --quiet --db "$db"
it 'the page has both tables' knows_the_variables
it 'a process of exec: gets the variables of the page' tells_what_the_page_says_about_a_message
it 'a process of weir work gets the variables of the page' tells_what_the_page_says_about_an_execution
it 'the help names the variables of the page' names_them_in_its_help

finish
