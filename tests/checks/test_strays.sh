#!/usr/bin/env bash
# Build products stay in build/, which git ignores.
. "$(dirname "$0")/../kit/tap.sh"

strays=$root/script/check/strays

# The samples are made here: committed ones would be strays themselves.
git init -q "$scratch"
mkdir "$scratch/build"
touch "$scratch/tracked.o" "$scratch/libuntracked.so.0" "$scratch/build/notes.txt"
cp /bin/true "$scratch/innocent"
git -C "$scratch" add tracked.o

it 'the tree holds no build product' "$strays" "$root"
it 'a tracked object file is named' fails_naming 'tracked.o:' "$strays" "$scratch"
it 'an untracked library is named' fails_naming 'libuntracked.so.0:' "$strays" "$scratch"
it 'an unignored build folder is named' fails_naming 'build/notes.txt:' "$strays" "$scratch"
it 'a program is recognised whatever its name' \
    fails_naming 'innocent:' "$strays" "$scratch"
finish
