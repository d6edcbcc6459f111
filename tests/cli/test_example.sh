#!/usr/bin/env bash
# The README's first program compiles, does what the README says, and is the one in examples/;
# so does the one of the runtime.
. "$(dirname "$0")/../lib/tap.sh"

weir=${WEIR:-$root/build/release/weir}
library=$(dirname "$weir")/libweir.a

compiles() {
    gcc -std=c11 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror \
        -I"$root/include" "$root/examples/$1.c" "$library" -lsqlite3 -lpq -lmariadb \
        -pthread -lm -o "$scratch/$1"
}

prints_what_the_readme_says() {
    local said
    said=$(sed -n '/^It prints:$/,/^To build/p' "$root/README.md" |
        sed -n '/^```$/,/^```$/{/^```$/!p}')
    [ -n "$said" ]
    prints "$said" "$scratch/outbox"
}

is_the_one_in_the_readme() {
    sed -n '/^```c$/,/^```$/{/^```/!p}' "$root/README.md" | diff - "$root/examples/outbox.c"
}

is_short() {
    [ "$(wc -l <"$root/examples/$1.c")" -lt "$2" ]
}

# Every file of the repository that a document links to is there.
links_lead_somewhere() {
    local document link bad=0
    for document in README.md CONTRIBUTING.md CHANGELOG.md docs/architecture.md; do
        while read -r link; do
            [ -e "$root/$(dirname "$document")/$link" ] || { echo "$document: $link"; bad=1; }
        done < <(grep -oE '\]\([^)#]+' "$root/$document" | cut -c 3- | grep -v '^https\?:')
    done
    return "$bad"
}

it 'the first example compiles without warnings' compiles outbox
it 'it prints what the README says' prints_what_the_readme_says
it 'it is the program in the README' is_the_one_in_the_readme
it 'it stays under 100 lines' is_short outbox 100
it 'the example of transactional handlers compiles without warnings' compiles transactional
it 'it books each payment once' prints 'balance: 123' "$scratch/transactional"
it 'it stays under 120 lines' is_short transactional 120
it 'the example of the runtime compiles without warnings' compiles first
it 'it stops with nothing unfinished' \
    prints 'attempt 1: sent, 2 to go
attempt 3: sent, 1 to go
attempt 4: sent, 0 to go
0 workers unfinished' "$scratch/first"
it 'the example of dead letters compiles without warnings' compiles dead_letters
it 'it requeues what was rejected' \
    prints 'letter 1: to Alice
letter 3: to Carol
dead letter: letters/default, number 2: Bob has no address
letter 4: to Bob, at last' "$scratch/dead_letters"
it 'links in the documents lead to files' links_lead_somewhere

finish
