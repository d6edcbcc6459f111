# How every C file of this repository is compiled.

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)

# Warnings are errors unless somebody with a newer compiler says otherwise.
if(NOT DEFINED CMAKE_COMPILE_WARNING_AS_ERROR)
    set(CMAKE_COMPILE_WARNING_AS_ERROR ON)
endif()

add_compile_definitions(_GNU_SOURCE)
add_compile_options(
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion
    -Wstrict-prototypes -Wmissing-prototypes
    -Wcast-qual -Wvla -Wformat=2 -Wundef -Wwrite-strings)

# Messages name files from the root of the repository, wherever it was built.
add_compile_options(-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)

# The lock annotations mean something to clang only.
if(CMAKE_C_COMPILER_ID MATCHES "Clang")
    add_compile_options(-Wthread-safety)
endif()

if(WEIR_POINTS)
    add_compile_definitions(WEIR_POINTS=1)
endif()
