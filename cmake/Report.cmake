# SPDX-License-Identifier: Apache-2.0
# The page of `faultline report`: web/ bundled into one text, and that text into the program.
set(page_source "${CMAKE_BINARY_DIR}/report_page/page.cpp")
if(FAULTLINE_REPORTS)
  file(GLOB web_sources CONFIGURE_DEPENDS "web/src/*")
  add_custom_command(OUTPUT "${page_source}"
    COMMAND "${NODE_PROGRAM}" "${CMAKE_SOURCE_DIR}/web/bundle.mjs" "${page_source}"
    DEPENDS web/bundle.mjs web/package-lock.json python/faultline/looks.json ${web_sources}
    COMMENT "Bundling the page of faultline report" VERBATIM)
else()
  file(GENERATE OUTPUT "${page_source}" CONTENT
    "#include \"src/results/html_report.hpp\"\nconst faultline::results::PageParts faultline::results::kPage{};\n")
endif()
file(GENERATE OUTPUT "${CMAKE_BINARY_DIR}/report_page/explain.cpp" CONTENT
  "#include \"src/results/html_report.hpp\"\nconst faultline::results::PageParts faultline::results::kExplainPage{};\n")
target_sources(faultline_results PRIVATE "${CMAKE_BINARY_DIR}/report_page/explain.cpp")
target_sources(faultline_results PRIVATE "${page_source}")
# The page is longer than the text that the standard promises room for; both compilers have room.
set_source_files_properties("${page_source}" PROPERTIES COMPILE_OPTIONS -Wno-overlength-strings
                            SKIP_UNITY_BUILD_INCLUSION ON)
