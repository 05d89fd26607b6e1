# SPDX-License-Identifier: Apache-2.0
if(EXISTS "${CMAKE_SOURCE_DIR}/src/main.cpp")
  add_executable(faultline src/main.cpp)
  target_link_libraries(faultline PRIVATE faultline_app)
endif()
