// SPDX-License-Identifier: Apache-2.0
// A place for the files of a test: tests run side by side, and none may find another one's.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

namespace faultline::test {

// A folder of its own, gone with the test, and the current folder while it lives.
class Sandbox {
 public:
  Sandbox() : before_(std::filesystem::current_path()) {
    std::string name = (std::filesystem::temp_directory_path() / "faultline-test-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    folder_ = name;
    std::filesystem::current_path(folder_);
  }
  ~Sandbox() {
    std::filesystem::current_path(before_);
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  const std::filesystem::path& folder() const { return folder_; }
  std::string write(const std::filesystem::path& name, const std::string& text) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return name.string();
  }

 private:
  std::filesystem::path before_;
  std::filesystem::path folder_;
};

inline std::string read_text(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

}  // namespace faultline::test
