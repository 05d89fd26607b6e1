# SPDX-License-Identifier: Apache-2.0
# docs/glossary.md as a text of the program, which `faultline explain --terms` prints.
set(glossary_source "${CMAKE_BINARY_DIR}/glossary/page.cpp")
file(READ docs/glossary.md glossary_text)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS docs/glossary.md)
# In pieces, because compilers limit the length of one literal.
set(glossary_literals "")
string(LENGTH "${glossary_text}" glossary_length)
foreach(begin RANGE 0 ${glossary_length} 8000)
  string(SUBSTRING "${glossary_text}" ${begin} 8000 piece)
  string(APPEND glossary_literals "R\"glossary_md(${piece})glossary_md\"\n")
endforeach()
file(GENERATE OUTPUT "${glossary_source}" CONTENT
  "#include \"src/explain/glossary.hpp\"\nconst std::string_view faultline::explain::kGlossaryPage =\n${glossary_literals};\n")
target_sources(faultline_explain PRIVATE "${glossary_source}")
set_source_files_properties("${glossary_source}" PROPERTIES COMPILE_OPTIONS -Wno-overlength-strings
                            SKIP_UNITY_BUILD_INCLUSION ON)
