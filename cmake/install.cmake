# `cmake --install build/release --prefix DIR`: headers, both libraries, the extension for SQLite,
# the program with its manual page and completion, a pkg-config file and a CMake package with the targets
# weir::weir and weir::static.

include(CMakePackageConfigHelpers)

set(weir_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/weir)

install(DIRECTORY include/weir DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    FILES_MATCHING PATTERN "*.h")
install(TARGETS weir weir_static EXPORT weirTargets)
install(TARGETS weir_extension DESTINATION ${CMAKE_INSTALL_LIBDIR}/weir)
install(EXPORT weirTargets NAMESPACE weir:: DESTINATION ${weir_package_dir})
if(TARGET weir_cli)
    install(TARGETS weir_cli)
    install(FILES ${PROJECT_BINARY_DIR}/weir.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
    install(FILES ${PROJECT_BINARY_DIR}/weir.bash
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME weir)
endif()

configure_package_config_file(cmake/weirConfig.cmake.in weirConfig.cmake
    INSTALL_DESTINATION ${weir_package_dir})
# Until 1.0 a minor version may change the API.
write_basic_package_version_file(weirConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
    ${PROJECT_BINARY_DIR}/weirConfig.cmake
    ${PROJECT_BINARY_DIR}/weirConfigVersion.cmake
    DESTINATION ${weir_package_dir})

# weir.pc finds its prefix from its own place, so --prefix and a moved tree both work.
file(RELATIVE_PATH weir_pc_to_prefix
    ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" weir_pc_to_prefix "${weir_pc_to_prefix}")
configure_file(cmake/weir.pc.in weir.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/weir.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
