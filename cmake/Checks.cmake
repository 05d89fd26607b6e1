# SPDX-License-Identifier: Apache-2.0
# Tests beside the rooms' own: the tree and its layout, the scripts, the build, the installed program.
if(NOT BUILD_TESTING)
  return()
endif()

add_test(NAME "lint: tree" COMMAND scripts/lint --only tree WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
add_test(NAME "lint: format" COMMAND scripts/lint --only format WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
set_tests_properties("lint: tree" "lint: format" PROPERTIES LABELS lint TIMEOUT 600 SKIP_RETURN_CODE 77)

# Properties of the whole machine: five hundred cases each time, a hundred thousand nightly.
faultline_tests(properties faultline_workloads)
if(TARGET test_properties)
  add_test(NAME "properties: a hundred thousand cases"
           COMMAND test_properties "trains keep every time of random traffic")
  set_tests_properties("properties: a hundred thousand cases" PROPERTIES LABELS nightly TIMEOUT 43200
    ENVIRONMENT "FAULTLINE_CASES_TIMES=200")
endif()

# Properties of the memory manager: a few hundred cases each time, twenty times as many nightly.
if(TARGET test_os)
  catch_discover_tests(test_os TEST_SPEC "[property]" TEST_PREFIX "nightly os:" DISCOVERY_MODE PRE_TEST
                       PROPERTIES LABELS nightly TIMEOUT 43200 ENVIRONMENT "FAULTLINE_CASES_TIMES=20")
endif()

# Cases that take too long for each time: hidden from their rooms' own lists. Random programs of messages, forty each
# time, and of every preset, a hundred: thirty times as many nightly.
if(TARGET test_workloads)
  catch_discover_tests(test_workloads TEST_SPEC "messages: safe programs*,corners: random programs of*" TEST_PREFIX "nightly workloads:"
                       DISCOVERY_MODE PRE_TEST
                       PROPERTIES LABELS nightly TIMEOUT 43200 ENVIRONMENT "FAULTLINE_CASES_TIMES=30")
  catch_discover_tests(test_workloads TEST_SPEC "[nightly]" TEST_PREFIX "nightly workloads:" DISCOVERY_MODE PRE_TEST
                       PROPERTIES LABELS nightly TIMEOUT 43200)
endif()

# The program against files, command lines, damage, kills and full disks of all kinds: a few hundred each time.
faultline_tests(fuzz faultline_app)
if(TARGET test_fuzz)
  catch_discover_tests(test_fuzz TEST_SPEC "fuzz:*" TEST_PREFIX "nightly fuzz:" DISCOVERY_MODE PRE_TEST
                       PROPERTIES LABELS nightly TIMEOUT 43200 ENVIRONMENT "FAULTLINE_CASES_TIMES=100")
endif()

# Whole points, recorded.
faultline_tests(traces faultline_workloads)

# What tests/runs/cost_estimate.cpp replays; by hand.
if(BUILD_TESTING)
  add_executable(record_costs EXCLUDE_FROM_ALL tests/support/record_costs.cpp tests/support/source_tree.cpp)
  target_link_libraries(record_costs PRIVATE faultline_app faultline_allocator)
endif()

# A program of its own, because it replaces operator new.
faultline_tests(allocations faultline_workloads)

# tests/scripts/NAME.sh, run with the tree and the build folder in its environment.
function(faultline_script_test name label)
  add_test(NAME "scripts: ${name}" COMMAND bash "${CMAKE_SOURCE_DIR}/tests/scripts/${name}.sh")
  set_tests_properties("scripts: ${name}" PROPERTIES LABELS ${label} TIMEOUT 1200 SKIP_RETURN_CODE 77
    ENVIRONMENT "FAULTLINE_SOURCE=${CMAKE_SOURCE_DIR};FAULTLINE_BUILD=${CMAKE_BINARY_DIR}")
endfunction()
faultline_script_test(help scripts)
faultline_script_test(setup scripts)
faultline_script_test(check-tree scripts)
faultline_script_test(dependencies scripts)
faultline_script_test(build-info scripts)
faultline_script_test(benchmark-figures scripts)
faultline_script_test(extending scripts)
add_test(NAME "scripts: extending, built" COMMAND bash "${CMAKE_SOURCE_DIR}/tests/scripts/extending.sh")
set_tests_properties("scripts: extending, built" PROPERTIES LABELS nightly TIMEOUT 14400
  ENVIRONMENT "FAULTLINE_SOURCE=${CMAKE_SOURCE_DIR};FAULTLINE_BUILD=${CMAKE_BINARY_DIR};FAULTLINE_EXTENDING=build")
add_test(NAME "python: figures" COMMAND /usr/bin/python3 -B -m unittest discover -s "${CMAKE_SOURCE_DIR}/tests/python")
set_tests_properties("python: figures" PROPERTIES LABELS scripts TIMEOUT 600
  ENVIRONMENT "PYTHONPATH=${CMAKE_SOURCE_DIR}/python")
# Mutants of models/: that they are found and written as they should each time, and whether tests notice them nightly.
add_test(NAME "mutants: finder and rewriter" COMMAND /usr/bin/python3 -B -m unittest discover -v -s mutants -t .
         WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}/tests")
add_test(NAME "mutants: the sample" COMMAND scripts/mutants --table tests/mutants/sample.txt --longest 60
         WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
# Discovered, since a module that is named may not skip itself.
set_tests_properties("mutants: finder and rewriter" PROPERTIES LABELS scripts TIMEOUT 600
                     SKIP_REGULAR_EXPRESSION "python3-clang-14 is not installed")
set_tests_properties("mutants: the sample" PROPERTIES LABELS nightly TIMEOUT 43200)
if(TARGET faultline)
  faultline_script_test(plot scripts)
  faultline_script_test(install package)
  faultline_script_test(package package)
  faultline_script_test(documents scripts)
  faultline_script_test(validation scripts)
  faultline_script_test(experiments scripts)
  faultline_script_test(determinism scripts)
  faultline_script_test(resume scripts)
  faultline_script_test(workers scripts)
  faultline_script_test(on_slurm scripts)
  faultline_script_test(python scripts)
  faultline_script_test(bad-results scripts)
  faultline_script_test(report scripts)
  faultline_script_test(quiz scripts)
  add_test(NAME "scripts: labs" COMMAND bash "${CMAKE_SOURCE_DIR}/tests/scripts/labs.sh")
  add_test(NAME "scripts: labs, all" COMMAND bash "${CMAKE_SOURCE_DIR}/tests/scripts/labs.sh")
  set_tests_properties("scripts: labs, all" PROPERTIES LABELS nightly TIMEOUT 3600
    ENVIRONMENT "FAULTLINE_SOURCE=${CMAKE_SOURCE_DIR};FAULTLINE_BUILD=${CMAKE_BINARY_DIR}")
  # The quick labs each time.
  set_tests_properties("scripts: labs" PROPERTIES LABELS scripts TIMEOUT 1200
    ENVIRONMENT "FAULTLINE_SOURCE=${CMAKE_SOURCE_DIR};FAULTLINE_BUILD=${CMAKE_BINARY_DIR};FAULTLINE_LABS=1 3 5 8 9")
  add_test(NAME "scripts: quiz, a thousand seeds" COMMAND bash "${CMAKE_SOURCE_DIR}/tests/scripts/quiz.sh")
  set_tests_properties("scripts: quiz, a thousand seeds" PROPERTIES LABELS nightly TIMEOUT 14400
    ENVIRONMENT "FAULTLINE_SOURCE=${CMAKE_SOURCE_DIR};FAULTLINE_BUILD=${CMAKE_BINARY_DIR};FAULTLINE_QUIZ_SEEDS=100")
  faultline_script_test(explain scripts)
  add_test(NAME "scripts: explain, all" COMMAND bash "${CMAKE_SOURCE_DIR}/tests/scripts/explain.sh")
  set_tests_properties("scripts: explain, all" PROPERTIES LABELS nightly TIMEOUT 1200 SKIP_RETURN_CODE 77
    ENVIRONMENT "FAULTLINE_SOURCE=${CMAKE_SOURCE_DIR};FAULTLINE_BUILD=${CMAKE_BINARY_DIR};FAULTLINE_STORIES=all")
  faultline_script_test(quickstart nightly)
  faultline_script_test(reproduce nightly)
  faultline_script_test(compilers nightly)
  faultline_script_test(alone nightly)
  faultline_script_test(benchmark nightly)
  faultline_script_test(slurm nightly)
  faultline_script_test(draws nightly)
  faultline_script_test(report-large nightly)
  foreach(name workers resume)
    add_test(NAME "scripts: ${name}, a hundred kills" COMMAND bash "${CMAKE_SOURCE_DIR}/tests/scripts/${name}.sh")
    set_tests_properties("scripts: ${name}, a hundred kills" PROPERTIES LABELS nightly TIMEOUT 3600
      ENVIRONMENT "FAULTLINE_SOURCE=${CMAKE_SOURCE_DIR};FAULTLINE_BUILD=${CMAKE_BINARY_DIR};FAULTLINE_KILLS=100")
  endforeach()
  # The longest ones are begun first, so that nothing is left to wait for them alone.
  set_tests_properties("scripts: experiments" PROPERTIES COST 300)
  set_tests_properties("scripts: report" "scripts: resume" "scripts: documents" PROPERTIES COST 100)
  # It runs every command that the documents show.
  set_tests_properties("scripts: documents" "scripts: experiments" PROPERTIES TIMEOUT 3600)
  set_tests_properties("scripts: quickstart" "scripts: reproduce" "scripts: benchmark" "scripts: report-large"
    PROPERTIES TIMEOUT 3600)
  set_tests_properties("scripts: compilers" "scripts: draws" "scripts: alone" PROPERTIES TIMEOUT 14400)
  set_tests_properties("scripts: slurm" PROPERTIES TIMEOUT 1800)
  set_tests_properties("scripts: benchmark" PROPERTIES RUN_SERIAL ON) # it measures time
endif()
