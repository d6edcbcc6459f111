#!/usr/bin/env bash
# One description of a row: its type is that of the member, and the reference page is made of it.
. "$(dirname "$0")/../kit/tap.sh"

weir=$root/build/release/weir

page_is_generated() {
    "$weir" help fields | diff "$root/docs/fields.md" - >&2
}

# compile_field TYPE: a field of this type for a member that is an int32_t.
compile_field() {
    sed "s/I64/$1/" "$root/tests/checks/bad/fields/wrong_type.c" >"$scratch/field.c"
    gcc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Werror -I "$root/src" -I "$root/include" \
        -c "$scratch/field.c" -o "$scratch/field.o" 2>&1
}

# Records without a sentence have no JSON: they are a table, or lines of another view.
all_are_listed() {
    local record
    perl -0777 -ne 'while (/^const struct weir_record (\w+) =\s*WEIR_RECORD\(([^;]*)\);/gm) {
            my $name = $1;
            print "$name\n" if $2 !~ /""$/;
        }' "$root"/src/view/*_records.c >"$scratch/records"
    [ "$(wc -l <"$scratch/records")" -gt 40 ] || return 1
    while read -r record; do
        grep -q "&$record\b" "$root/src/view/records.c" || { echo "$record is not listed"; return 1; }
    done <"$scratch/records"
}

it 'docs/fields.md is what weir help fields prints' page_is_generated
it 'every record of src/view is on the page' all_are_listed
it 'a field with the type of its member compiles' compile_field I32
it 'a field of another type is refused by the compiler' \
    fails_naming 'another type than its field' compile_field I64
finish
