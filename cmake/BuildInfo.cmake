# SPDX-License-Identifier: Apache-2.0
# What a program can say about its own build: #include "faultline_build.hpp", library faultline_build.
# The commit is looked up at every build, into one small source of its own, so that a new commit compiles
# that one file again and nothing else. Run with -P, this file is the program that looks it up.
if(NOT CMAKE_SCRIPT_MODE_FILE)
  include(GNUInstallDirs)
  file(RELATIVE_PATH FAULTLINE_CONFIGS_FROM_BINARY "/p/${CMAKE_INSTALL_BINDIR}" "/p/${CMAKE_INSTALL_DATADIR}/faultline/configs")
  set(build_dir "${CMAKE_BINARY_DIR}/build_info")
  configure_file(cmake/faultline_build.hpp.in "${build_dir}/faultline_build.hpp" @ONLY)
  add_custom_target(faultline_commit
    COMMAND "${CMAKE_COMMAND}" "-DSOURCE=${CMAKE_SOURCE_DIR}" "-DOUTPUT=${build_dir}/commit.cpp"
            "-DVERSION=${PROJECT_VERSION}" -P "${CMAKE_CURRENT_LIST_FILE}"
    BYPRODUCTS "${build_dir}/commit.cpp"
    COMMENT "Looking up the commit" VERBATIM)
  add_library(faultline_build STATIC "${build_dir}/commit.cpp")
  add_dependencies(faultline_build faultline_commit)
  target_include_directories(faultline_build PUBLIC "${build_dir}")
  target_link_libraries(faultline_build PRIVATE faultline_options)
  return()
endif()

# `v0.1.0-3-gb169c50-dirty` or, without a tag, `b169c50`; "unknown" outside a checkout. A tree that merely lies
# inside somebody else's checkout must not report that one's commit.
set(commit unknown)
find_program(GIT git)
if(GIT)
  set(ENV{GIT_OPTIONAL_LOCKS} 0) # only looking: leave the index alone
  execute_process(COMMAND "${GIT}" rev-parse --show-prefix WORKING_DIRECTORY "${SOURCE}"
                  OUTPUT_VARIABLE prefix ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
  if(NOT failed AND prefix STREQUAL "")
    execute_process(COMMAND "${GIT}" describe --tags --always --dirty WORKING_DIRECTORY "${SOURCE}"
                    OUTPUT_VARIABLE described ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
    if(NOT failed)
      set(commit "${described}")
    endif()
  endif()
endif()
file(CONFIGURE OUTPUT "${OUTPUT}" @ONLY CONTENT [[
// Written by cmake/BuildInfo.cmake at every build; changes only when the commit does.
#include "faultline_build.hpp"

namespace faultline::build {
std::string_view commit() { return "@commit@"; }
}  // namespace faultline::build
]])
