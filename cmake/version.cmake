# The version is written down once, in include/weir/version.h.

# Set `out` to MAJOR.MINOR.PATCH as the header says it.
function(weir_read_version out)
    set(header ${CMAKE_CURRENT_SOURCE_DIR}/include/weir/version.h)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
    file(READ ${header} text)
    set(numbers "")
    foreach(part MAJOR MINOR PATCH)
        if(NOT text MATCHES "#define[ \t]+WEIR_VERSION_${part}[ \t]+([0-9]+)")
            message(FATAL_ERROR "${header} does not define WEIR_VERSION_${part}")
        endif()
        list(APPEND numbers ${CMAKE_MATCH_1})
    endforeach()
    list(JOIN numbers "." version)
    set(${out} ${version} PARENT_SCOPE)
endfunction()
