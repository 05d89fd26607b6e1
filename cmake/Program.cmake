# SPDX-License-Identifier: Apache-2.0
# The program, what `cmake --install` puts where, and the Debian package.
include(BuildInfo)
# What only the program's rooms need. (A room without sources is an interface library.)
function(faultline_needs room)
  get_target_property(kind faultline_${room} TYPE)
  if(kind STREQUAL INTERFACE_LIBRARY)
    target_link_libraries(faultline_${room} INTERFACE ${ARGN})
  else()
    target_link_libraries(faultline_${room} PUBLIC ${ARGN})
  endif()
endfunction()
# toml++ compiles itself into every source that includes it unless told that its library is linked.
add_library(faultline_toml INTERFACE)
target_link_libraries(faultline_toml INTERFACE tomlplusplus::tomlplusplus)
target_compile_definitions(faultline_toml INTERFACE TOML_HEADER_ONLY=0 TOML_SHARED_LIB=1)
faultline_needs(experiment faultline_build faultline_toml nlohmann_json::nlohmann_json)
faultline_needs(runs ZLIB::ZLIB)
faultline_needs(results SQLite::SQLite3)
faultline_needs(app Boost::program_options)

if(NOT EXISTS "${CMAKE_SOURCE_DIR}/src/main.cpp")
  return()
endif()
# The allocator of the program and the benchmarks. Sanitizers bring their own; tests use the system's.
add_library(faultline_allocator INTERFACE)
if(NOT FAULTLINE_SANITIZE)
  target_sources(faultline_allocator INTERFACE "${CMAKE_SOURCE_DIR}/src/allocator/huge_pages.cpp")
  target_link_libraries(faultline_allocator INTERFACE "${JEMALLOC_LIBRARY}")
endif()

add_executable(faultline src/main.cpp)
target_link_libraries(faultline PRIVATE faultline_app faultline_allocator)
set_target_properties(faultline PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}")

set(doc_dir "${CMAKE_INSTALL_DATADIR}/doc/faultline")
install(TARGETS faultline RUNTIME)
install(DIRECTORY configs/ DESTINATION "${CMAKE_INSTALL_DATADIR}/faultline/configs")
install(DIRECTORY docs/ DESTINATION "${doc_dir}/docs" OPTIONAL)
# Where a Debian package's Python modules are; under another prefix PYTHONPATH names the folder.
install(DIRECTORY python/faultline/ DESTINATION lib/python3/dist-packages/faultline FILES_MATCHING PATTERN "*.py" PATTERN "looks.json")
install(DIRECTORY python/examples DESTINATION "${doc_dir}" USE_SOURCE_PERMISSIONS FILES_MATCHING PATTERN "*.py")
install(FILES README.md DESTINATION "${doc_dir}" OPTIONAL)
install(FILES LICENSE DESTINATION "${doc_dir}" RENAME copyright)

# cpack -G DEB in the build folder. dpkg-shlibdeps reads the run-time dependencies off the program.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "Faultline developers <faultline@example.org>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_DESCRIPTION "Cycle-approximate SystemC model of Zynq UltraScale+ boards whose DMA engine uses
virtual addresses: what transfers cost when pages are pinned, touched in advance, or missing.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "python3-pandas, python3-matplotlib") # the module faultline, and faultline plot
include(CPack)
