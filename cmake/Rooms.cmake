# SPDX-License-Identifier: Apache-2.0
# A room is a folder of sources, and of those below it, built as one library, with its tests in the folder of the same
# path under tests/. The USES list is the whole of what it may include (scripts/lint checks the includes).
include(CTest)
include(Catch)

# Sources with names of their own that others in their room have, too: compiled by themselves (FAULTLINE_UNITY).
foreach(test IN ITEMS soc/axi_port soc/axi_port_parting network/failures soc/mmio_bus network/path_choice
        network/router network/router_properties os/mmu_notifier_property os/page_events drivers/mmu500/smmu_driver os/swap os/vm_change
        os/vm_property os/vm_races drivers/exanest/wait drivers/exanest/fault_service drivers/exanest/fault_log results/query sim/issue_queue smmu/long_trains smmu/maintenance
        smmu/registers smmu/translation tlm/axi_port tlm/from_base tlm/plug_in tlm/round_trip tlm/to_base traces/vcd workloads/corner_cases workloads/program
        workloads/corner_cases_limits workloads/corner_generator workloads/corners_limits workloads/corners_pages workloads/corruption workloads/fault_kinds)
  if(NOT EXISTS "${CMAKE_SOURCE_DIR}/tests/${test}.cpp")
    message(FATAL_ERROR "cmake/Rooms.cmake: there is no tests/${test}.cpp")
  endif()
  list(APPEND ALONE tests/${test}.cpp)
endforeach()
set_source_files_properties(${ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)

add_library(faultline_test_main STATIC tests/support/main.cpp tests/support/source_tree.cpp)
# Nothing else knows the absolute path, so that trees can share a compiler cache.
set_source_files_properties(tests/support/source_tree.cpp PROPERTIES
  COMPILE_DEFINITIONS "FAULTLINE_SOURCE_TREE=\"${CMAKE_SOURCE_DIR}\"")
target_link_libraries(faultline_test_main PUBLIC Catch2::Catch2 faultline_options)

function(faultline_room name folder)
  cmake_parse_arguments(ROOM "" "" "USES" ${ARGN})
  # src/ has rooms of its own below it.
  if(folder STREQUAL src)
    file(GLOB sources CONFIGURE_DEPENDS "${folder}/*.cpp")
  else()
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${folder}/*.cpp")
  endif()
  list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")
  list(TRANSFORM ROOM_USES PREPEND faultline_)
  if(sources)
    add_library(faultline_${name} STATIC ${sources})
    target_link_libraries(faultline_${name} PUBLIC faultline_options ${ROOM_USES})
    # A tenth more time to compile, and a half of the time of the tests. Coverage counts the lines as they stand.
    target_compile_options(faultline_${name} PRIVATE
                           $<$<AND:$<CONFIG:Debug>,$<NOT:$<BOOL:${FAULTLINE_COVERAGE}>>>:-Og>)
  else()
    add_library(faultline_${name} INTERFACE)
    target_link_libraries(faultline_${name} INTERFACE faultline_options ${ROOM_USES})
  endif()

  string(REGEX REPLACE "^(models|src)/" "" tests "${folder}")
  if(folder STREQUAL src)
    set(tests app)
  endif()
  faultline_tests_in("tests/${tests}" ${name} faultline_${name})
endfunction()

# The tests in tests/NAME, of the libraries that follow, as the program test_NAME.
function(faultline_tests name)
  faultline_tests_in("tests/${name}" ${name} ${ARGN})
endfunction()

function(faultline_tests_in folder name)
  file(GLOB tests CONFIGURE_DEPENDS "${folder}/*.cpp")
  if(BUILD_TESTING AND tests)
    add_executable(test_${name} ${tests})
    target_link_libraries(test_${name} PRIVATE ${ARGN} faultline_test_main rapidcheck)
    # One process a case: the SystemC kernel is global and cannot be elaborated twice.
    catch_discover_tests(test_${name} TEST_PREFIX "${name}:" PROPERTIES TIMEOUT 1200
                         DISCOVERY_MODE PRE_TEST)
  endif()
endfunction()
