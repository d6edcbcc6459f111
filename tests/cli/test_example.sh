#!/usr/bin/env bash
# The README's first program compiles, does what the README says, and is the one in examples/.
. "$(dirname "$0")/../lib/tap.sh"

weir=${WEIR:-$root/build/release/weir}
library=$(dirname "$weir")/libweir.a

compiles() {
    gcc -std=c11 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror \
        -I"$root/include" "$root/examples/first.c" "$library" -pthread -lm \
        -o "$scratch/first"
}

prints_what_the_readme_says() {
    local said
    said=$(sed -n '/^It prints:$/,/^To build/p' "$root/README.md" |
        sed -n '/^```$/,/^```$/{/^```$/!p}')
    [ -n "$said" ]
    prints "$said" "$scratch/first"
}

is_the_one_in_the_readme() {
    sed -n '/^```c$/,/^```$/{/^```/!p}' "$root/README.md" | diff - "$root/examples/first.c"
}

is_short() {
    [ "$(wc -l <"$root/examples/first.c")" -lt 80 ]
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

it 'the first example compiles without warnings' compiles
it 'it prints what the README says' prints_what_the_readme_says
it 'it is the program in the README' is_the_one_in_the_readme
it 'it stays under 80 lines' is_short
it 'links in the documents lead to files' links_lead_somewhere

finish
