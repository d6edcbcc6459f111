#!/usr/bin/env bash
# Nothing unfinished, nobody's home folder and no old word is left in the tree.
. "$(dirname "$0")/../kit/tap.sh"

words=$root/script/check/words

git init -q "$scratch"
cp "$root"/tests/checks/bad/words/*.c "$scratch"
mkdir "$scratch/src"
mv "$scratch"/{metaphor,point,statement,text}.c "$scratch/src"
mkdir "$scratch/src/base"
cp "$root"/tests/checks/bad/words/people.md "$scratch/src/base/README.md"

# One line of the sample FILE must be refused, and no other.
names_one_line() {
    [ "$("$words" "$scratch" | grep -c "$1:")" -eq 1 ]
}

it 'the tree holds no such word' "$words" "$root"
it 'unfinished work is named' fails_naming 'unfinished.c:1:' "$words" "$scratch"
it 'a path of a machine is named' fails_naming 'homely.c:1:' "$words" "$scratch"
it 'an old word in an identifier is named, with the new one' \
    fails_naming 'src/metaphor.c:4: weir_roster_count: instead of roster use partition_table' \
    "$words" "$scratch"
it 'strings, comments and names of tests are left alone' names_one_line src/metaphor.c
it 'an old word in the name of a fault point is named' \
    fails_naming 'src/point.c:5: "roster.full": instead of roster use partition_table' \
    "$words" "$scratch"
it 'other fault points are left alone' names_one_line src/point.c
it 'an old word in the name of a statement is named' \
    fails_naming 'src/statement.c:1: "bury process": instead of bury' "$words" "$scratch"
it 'the text of a statement is left alone' names_one_line src/statement.c
it 'people as actors in a string are named' \
    fails_naming 'src/text.c:3: "somebody" in a string' "$words" "$scratch"
it 'other strings, and comments of files that are not listed, are left alone' \
    names_one_line src/text.c
it 'people as actors are named' fails_naming 'src/base/README.md:3: "nobody"' "$words" "$scratch"
it 'code in a page is left alone' names_one_line src/base/README.md
finish
