# SPDX-License-Identifier: Apache-2.0
# Everything comes from Debian 12 packages, and the parts of web/ from npm (scripts/setup installs both). Nothing is
# downloaded here.
# All that is missing is reported at once, each in one sentence.
include(CheckCXXSourceCompiles)
set(missing "")
set(found "")

# SystemC: its pkg-config file names what is there, and a program that links shows that it fits. Debian
# builds SystemC as C++17, and the library's header makes a client of another level fail to link;
# SC_CPLUSPLUS is the header's own way for a newer client to say that it links against that build.
find_package(PkgConfig QUIET)
if(PKG_CONFIG_FOUND)
  if(NOT FAULTLINE_SYSTEMC_FITS)
    unset(__pkg_config_checked_SYSTEMC CACHE) # what was wrong before may have been put right
  endif()
  pkg_check_modules(SYSTEMC QUIET systemc)
endif()
if(NOT PKG_CONFIG_FOUND)
  list(APPEND missing "Faultline needs pkg-config (Debian package pkg-config) to find SystemC.")
elseif(NOT SYSTEMC_FOUND)
  list(APPEND missing "Faultline needs SystemC 2.3.4 (Debian package libsystemc-dev) and found none.")
elseif(NOT SYSTEMC_VERSION VERSION_EQUAL 2.3.4)
  list(APPEND missing "Faultline needs SystemC 2.3.4 (Debian package libsystemc-dev) but pkg-config finds \
${SYSTEMC_VERSION} in ${SYSTEMC_PREFIX}.")
else()
  set(CMAKE_REQUIRED_INCLUDES ${SYSTEMC_INCLUDE_DIRS})
  set(CMAKE_REQUIRED_LIBRARIES ${SYSTEMC_LINK_LIBRARIES})
  set(CMAKE_REQUIRED_DEFINITIONS -DSC_CPLUSPLUS=201703L)
  set(CMAKE_REQUIRED_QUIET ON)
  check_cxx_source_compiles("#include <systemc>
    #if SC_VERSION_MAJOR * 10000 + SC_VERSION_MINOR * 100 + SC_VERSION_PATCH != 20304
    #error another version
    #endif
    int sc_main(int, char**) { sc_core::sc_start(); return 0; }" FAULTLINE_SYSTEMC_FITS)
  unset(CMAKE_REQUIRED_INCLUDES)
  unset(CMAKE_REQUIRED_LIBRARIES)
  unset(CMAKE_REQUIRED_DEFINITIONS)
  unset(CMAKE_REQUIRED_QUIET)
  if(FAULTLINE_SYSTEMC_FITS)
    list(APPEND found "SystemC ${SYSTEMC_VERSION}")
  else()
    unset(FAULTLINE_SYSTEMC_FITS CACHE) # so that the next try looks again
    list(APPEND missing "The SystemC 2.3.4 in ${SYSTEMC_PREFIX} does not build and link a C++17 program: \
use Debian's (package libsystemc-dev).")
  endif()
endif()

# faultline_need(<CMake package> <lowest version or ""> <Debian package> [find_package arguments])
macro(faultline_need package version debian)
  find_package(${package} ${version} QUIET ${ARGN})
  if(${package}_FOUND)
    string(STRIP "${package} ${${package}_VERSION}" name_and_version)
    list(APPEND found "${name_and_version}")
  else()
    string(JOIN " " wanted ${package} ${version})
    if(${package}_CONSIDERED_VERSIONS)
      list(APPEND missing "Faultline needs ${wanted} (Debian package ${debian}) but finds ${${package}_CONSIDERED_VERSIONS}.")
    else()
      list(APPEND missing "Faultline needs ${wanted} (Debian package ${debian}) and found none.")
    endif()
  endif()
endmacro()
faultline_need(fmt 9.1 libfmt-dev)
faultline_need(nlohmann_json 3.11 nlohmann-json3-dev)
faultline_need(tomlplusplus 3.3 libtomlplusplus-dev)
faultline_need(Catch2 2.13 catch2)
faultline_need(rapidcheck "" librapidcheck-dev)
faultline_need(Boost 1.74 "libboost-dev and libboost-program-options-dev" COMPONENTS program_options)
faultline_need(SQLite3 3.40 libsqlite3-dev)
faultline_need(ZLIB 1.2.13 zlib1g-dev)
find_path(RANDOM123_INCLUDE_DIR Random123/philox.h)
if(RANDOM123_INCLUDE_DIR)
  list(APPEND found "Random123")
else()
  list(APPEND missing "Faultline needs Random123 (Debian package librandom123-dev) and found none.")
endif()
find_path(PROTOZERO_INCLUDE_DIR protozero/pbf_writer.hpp)
if(PROTOZERO_INCLUDE_DIR)
  list(APPEND found "protozero")
else()
  list(APPEND missing "Faultline needs protozero (Debian package libprotozero-dev) and found none.")
endif()
find_library(JEMALLOC_LIBRARY jemalloc)
if(FAULTLINE_SANITIZE)
  # brings its own allocator
elseif(JEMALLOC_LIBRARY)
  list(APPEND found "jemalloc")
else()
  list(APPEND missing "Faultline needs jemalloc (Debian package libjemalloc-dev) and found none.")
endif()

option(FAULTLINE_REPORTS "Build the page of `faultline report`, which needs node and the packages of web/" ON)
if(FAULTLINE_REPORTS)
  find_program(NODE_PROGRAM NAMES node nodejs)
  if(NOT NODE_PROGRAM)
    list(APPEND missing "Faultline needs node 18 or newer (Debian packages nodejs and npm) to bundle the page of \
`faultline report`, and found none. -DFAULTLINE_REPORTS=OFF builds without it.")
  elseif(NOT EXISTS "${CMAKE_SOURCE_DIR}/web/node_modules/echarts" OR NOT EXISTS "${CMAKE_SOURCE_DIR}/web/node_modules/esbuild")
    list(APPEND missing "Faultline needs ECharts and esbuild in web/node_modules (npm packages, which scripts/setup \
installs) for the page of `faultline report`. -DFAULTLINE_REPORTS=OFF builds without it.")
  else()
    list(APPEND found "node")
  endif()
endif()

if(missing)
  string(REPLACE ";" "\n  " missing "${missing}")
  message(FATAL_ERROR "\n  ${missing}\n  Run scripts/setup to install what is missing.")
endif()
string(REPLACE ";" ", " found "${found}")
message(STATUS "Faultline ${PROJECT_VERSION} with ${found}")

# SystemC's headers are not ours to mend: SYSTEM keeps their warnings out.
target_include_directories(faultline_options SYSTEM INTERFACE ${SYSTEMC_INCLUDE_DIRS} ${RANDOM123_INCLUDE_DIR}
                           ${PROTOZERO_INCLUDE_DIR})
target_link_libraries(faultline_options INTERFACE ${SYSTEMC_LINK_LIBRARIES} fmt::fmt)
