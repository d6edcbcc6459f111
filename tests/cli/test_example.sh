#!/usr/bin/env bash
# The README's first program compiles, does what the README says, and is the one in examples/.
# The other examples compile too, print what is said here, and stay short.
. "$(dirname "$0")/../kit/tap.sh"
. "$(dirname "$0")/../kit/server.sh"

weir=${WEIR:-$root/build/release/weir}
library=$(dirname "$weir")/libweir.a

compiles() {
    gcc -std=c11 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror \
        -I"$root/include" "$root/examples/$1.c" "$library" -lsqlite3 -lpq -lmariadb \
        -lssl -lcrypto -pthread -lm -o "$scratch/$1"
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

# example NAME CLAIM TEXT [LINES]: compiles, and prints the text.
example() {
    it "$1 compiles without warnings" compiles "$1"
    it "$1 $2" prints "$3" "$scratch/$1"
    it "$1 stays under ${4:-120} lines" is_short "$1" "${4:-120}"
}

# The same example on a server, for those that are given a URL.
prints_the_same() {
    local said url
    said=$("$scratch/$2")
    url=$("$1_url" "$2")
    prints "$said" "$scratch/$2" "$url"
}

it 'the first example compiles without warnings' compiles outbox
it 'it prints what the README says' prints_what_the_readme_says
it 'it is the program in the README' is_the_one_in_the_readme
it 'it stays under 100 lines' is_short outbox 100
example first 'stops with nothing unfinished' 'attempt 1: sent, 2 to go
attempt 3: sent, 1 to go
attempt 4: sent, 0 to go
0 workers unfinished'
example transactional 'books each payment once' 'balance: 12345'
example retry_reject 'gives up after three attempts' 'attempt 1: no answer
attempt 2: no answer
attempt 3: no answer
dead letter: Alice: no answer in 3 attempts'
example dead_letters 'ends with none' 'number 3: Carol has no address
number 2: Bob has no address
number 1: Alice has no address
Alice gets the letter by hand
discarded 2, removed 3, remaining 0'
example batch_queues 'delivers both queues' '8 orders, 3 notifications'
example custom_prefix 'has tables of its own' 'chat: hello
log: mini_chat_outbox_log
others: 0'
example execution_worker 'tries again what has failed' 'Hello, Alice!
  attempt 0: done
tea
  attempt 0: the kettle is cold
  attempt 1: done'
example retrying_job 'tries until it gets through, or knows that it never will' \
    'Alice, attempt 0: the letter box is full
Alice, attempt 1: the letter box is full
Alice, attempt 2: delivered
Nobody, attempt 0: nobody of that name lives here'
example approval 'waits for a word, and takes no forged one' 'a forged token: permission denied
the boss said yes' 140
example quorum 'goes on with three of five and cancels the others' 'write: completed
write: cancelled
write: completed
write: cancelled
write: completed
commit: completed' 140
for name in execution_worker retrying_job approval quorum; do
    it "$name does the same on PostgreSQL" prints_the_same postgresql "$name"
done
for name in retry_reject dead_letters batch_queues; do
    it "$name does the same on PostgreSQL" prints_the_same postgresql "$name"
    it "$name does the same on MariaDB" prints_the_same mariadb "$name"
done
it 'links in the documents lead to files' links_lead_somewhere

finish
