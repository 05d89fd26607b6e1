# SPDX-License-Identifier: Apache-2.0
# Everything comes from Debian 12 packages (scripts/setup names them). Nothing is downloaded here.
find_package(PkgConfig REQUIRED)
pkg_check_modules(SYSTEMC systemc)
if(NOT SYSTEMC_FOUND OR NOT SYSTEMC_VERSION VERSION_GREATER_EQUAL 2.3.4)
  message(FATAL_ERROR "Faultline needs SystemC 2.3.4 (Debian package libsystemc-dev), found "
                      "'${SYSTEMC_VERSION}': run scripts/setup to install it.")
endif()
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(Catch2 2.13 REQUIRED)
find_package(rapidcheck REQUIRED)
find_package(Boost 1.74 REQUIRED COMPONENTS program_options)

# SystemC's headers are not ours to mend: SYSTEM keeps their warnings out.
target_include_directories(faultline_options SYSTEM INTERFACE ${SYSTEMC_INCLUDE_DIRS})
target_link_libraries(faultline_options INTERFACE systemc fmt::fmt)
