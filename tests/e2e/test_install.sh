#!/usr/bin/env bash
# What is installed can be used from C, C++ and CMake by somebody without our sources.
. "$(dirname "$0")/../kit/tap.sh"

prefix=$scratch/prefix
consumer=$root/tests/e2e/consumer
version=$(sed -nE 's/^#define WEIR_VERSION_(MAJOR|MINOR|PATCH) +([0-9]+).*/\2/p' \
    "$root/include/weir/version.h" | paste -sd .)

export PKG_CONFIG_PATH=$prefix/lib/pkgconfig

install_weir() {
    cmake --install "$root/build/release" --prefix "$prefix"
}

with_installed_library() {
    LD_LIBRARY_PATH=$prefix/lib "$@"
}

# The flags are words, so they are not quoted.
# shellcheck disable=SC2046
{
    compile_shared() {
        gcc -std=c11 -Wall -Wextra -Werror $(pkg-config --cflags weir) \
            "$consumer/version.c" -o "$scratch/shared_c" $(pkg-config --libs weir)
    }
    compile_static() {
        gcc -std=c11 -static $(pkg-config --static --cflags weir) \
            "$consumer/version.c" -o "$scratch/static_c" $(pkg-config --static --libs weir)
    }
    # The linker warns about archives that would load other libraries; that is no failure.
    compile_static_partition() {
        gcc -std=c11 -static $(pkg-config --static --cflags weir) \
            "$consumer/partition.c" -o "$scratch/static_partition" \
            $(pkg-config --static --libs weir)
    }
    compile_cpp() {
        g++ -std=c++17 -Wall -Wextra -Werror $(pkg-config --cflags weir) \
            "$consumer/version.cpp" -o "$scratch/shared_cpp" $(pkg-config --libs weir)
    }
}

build_cmake_project() {
    cmake -G Ninja -S "$consumer" -B "$scratch/project" -DCMAKE_PREFIX_PATH="$prefix" \
        -Wno-dev
    cmake --build "$scratch/project"
}

# Neither the sources nor the build folder may be needed, so none may be mentioned.
mentions_no_source_path() {
    ! grep -rIF -e "$root" "$prefix"
}

program_prints_version() {
    "$prefix/bin/weir" --version | grep -F "$version"
}

# Loaded by its name without the ending, as docs/producers.md says.
extension_loads() {
    prints app sqlite3 -cmd ".load $prefix/lib/weir/weir" :memory: "SELECT weir_prefix('app')"
}

it 'the release build installs' install_weir
it 'the extension for SQLite loads' extension_loads
it 'pkg-config knows the version' prints "$version" pkg-config --modversion weir
it 'no installed text mentions the source tree' mentions_no_source_path

it 'a C program compiles against the shared library' compile_shared
it 'and prints the version' \
    prints "$version" with_installed_library "$scratch/shared_c"
it 'a C program links statically' compile_static
it 'and prints the version without the library at hand' prints "$version" "$scratch/static_c"
it 'a C program that needs what weir needs links statically' compile_static_partition
it 'and prints the partition of a key' prints 41 "$scratch/static_partition"
it 'a C++17 program compiles' compile_cpp
it 'and prints the version from C++' \
    prints "$version" with_installed_library "$scratch/shared_cpp"

it 'a CMake project finds the package' build_cmake_project
for program in shared_c static_c shared_cpp; do
    it "its program $program prints the version" prints "$version" "$scratch/project/$program"
done

it 'its program static_partition prints the partition of a key' \
    prints 41 "$scratch/project/static_partition"

if [ -d "$root/src/cli" ]; then
    it 'the installed program prints its version' program_prints_version
    it 'its manual page is installed' grep -q '^.TH WEIR 1' "$prefix/share/man/man1/weir.1"
    it 'its completion is installed' \
        bash -n "$prefix/share/bash-completion/completions/weir"
fi
finish
