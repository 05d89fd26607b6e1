# SPDX-License-Identifier: Apache-2.0
# Compiler settings shared by every target, carried by the interface library faultline_options.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

option(FAULTLINE_WARNINGS_AS_ERRORS "Treat compiler warnings as errors" OFF)
set(FAULTLINE_SANITIZE "" CACHE STRING "Sanitizers to build with, e.g. address,undefined")
option(FAULTLINE_COVERAGE "Instrument for gcov" OFF)

# Sources of a room are compiled eight at a time: a third of the time, most of which goes into the libraries' headers.
option(FAULTLINE_UNITY "Compile several sources at once (hides a missing #include)" OFF)
if(FAULTLINE_UNITY)
  set(CMAKE_UNITY_BUILD ON)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 8)
  # It takes an included source for a header.
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endif()

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CCACHE}")
endif()

add_library(faultline_options INTERFACE)
target_include_directories(faultline_options INTERFACE "${CMAKE_SOURCE_DIR}")
target_compile_options(faultline_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                       -Wnon-virtual-dtor -Woverloaded-virtual)
# Which g++'s -Wconversion leaves out in C++.
target_compile_options(faultline_options INTERFACE $<$<CXX_COMPILER_ID:Clang>:-Wno-sign-conversion>)
# Debian builds SystemC as C++17 and its header checks the client's level at link time. The macro is
# the header's own way for a newer client to say that it links against that build.
target_compile_definitions(faultline_options INTERFACE SC_CPLUSPLUS=201703L SC_INCLUDE_DYNAMIC_PROCESSES)
# g++ 12 warns of the standard library's own code when it optimises (GCC bugs 105329 and 105593).
target_compile_options(faultline_options INTERFACE
                       "$<$<CXX_COMPILER_ID:GNU>:-Wno-restrict;-Wno-maybe-uninitialized>")
if(FAULTLINE_WARNINGS_AS_ERRORS)
  target_compile_options(faultline_options INTERFACE -Werror)
endif()
if(FAULTLINE_SANITIZE)
  target_compile_options(faultline_options INTERFACE -fsanitize=${FAULTLINE_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all)
  target_link_options(faultline_options INTERFACE -fsanitize=${FAULTLINE_SANITIZE})
endif()
if(FAULTLINE_COVERAGE)
  target_compile_options(faultline_options INTERFACE --coverage)
  target_link_options(faultline_options INTERFACE --coverage)
endif()
