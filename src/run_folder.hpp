// SPDX-License-Identifier: Apache-2.0
// Where a run's files go. Nothing that exists is ever written over, and no file is ever half there.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace faultline::app {

class RunFolder {
 public:
  // Makes `chosen`, or when that is empty runs/NAME-N with the first free N. Throws UserError when it cannot
  // be written or already holds something.
  static RunFolder make(const std::string& chosen, const std::string& name);
  // Removes what was made unless keep() was called.
  ~RunFolder();
  RunFolder(RunFolder&& other) noexcept;
  RunFolder& operator=(RunFolder&&) = delete;

  const std::filesystem::path& path() const { return path_; }
  // Atomic: the file is there with all of its text, or not at all. Throws UserError when it cannot be.
  void write(const std::string& file, const std::string& text);
  void keep() { kept_ = true; }

 private:
  RunFolder(std::filesystem::path path, bool made) : path_(std::move(path)), made_(made) {}
  std::filesystem::path path_;
  bool made_;
  bool made_parent_ = false;
  bool kept_ = false;
  std::vector<std::string> files_;
};

}  // namespace faultline::app
