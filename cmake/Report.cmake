# SPDX-License-Identifier: Apache-2.0
# The pages of `faultline report` and `faultline explain --html`: web/ bundled into a text each, and the texts into the
# program.
set(page_source "${CMAKE_BINARY_DIR}/report_page/page.cpp")
if(FAULTLINE_REPORTS)
  file(GLOB_RECURSE web_sources CONFIGURE_DEPENDS "web/src/*")
  add_custom_command(OUTPUT "${page_source}"
    COMMAND "${NODE_PROGRAM}" "${CMAKE_SOURCE_DIR}/web/bundle.mjs" "${page_source}"
    DEPENDS web/bundle.mjs web/pages.mjs web/package-lock.json python/faultline/looks.json ${web_sources}
    COMMENT "Bundling the pages of faultline report and explain" VERBATIM)
else()
  file(GENERATE OUTPUT "${page_source}" CONTENT
    "#include \"src/results/html_report.hpp\"
const faultline::results::PageParts faultline::results::kPage{};
const faultline::results::PageParts faultline::results::kExplainPage{};
")
endif()
target_sources(faultline_results PRIVATE "${page_source}")
# The pages are longer than the text that the standard promises room for; both compilers have room.
set_source_files_properties("${page_source}" PROPERTIES COMPILE_OPTIONS -Wno-overlength-strings
                            SKIP_UNITY_BUILD_INCLUSION ON)
