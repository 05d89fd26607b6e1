// SPDX-License-Identifier: Apache-2.0
// Where a run's files go. No file is ever half there, and nothing is written over that is not the run's own.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace faultline::app {

class RunFolder {
 public:
  static constexpr int kFormat = 1;  // of what is in it

  // `chosen`, or when that is empty runs/NAME-N. A folder that holds a run is continued: the chosen one whatever its
  // points are, the last runs/NAME-N if `is_ours` says so of the text of its manifest.json and of a test whether one of
  // its files exists. Otherwise it is made, with the first free N. Throws UserError when it cannot be written, holds
  // something else, or a run of another format.
  using Exists = std::function<bool(const std::string& file)>;
  using IsOurs = std::function<bool(const std::string& manifest, const Exists& exists)>;
  static RunFolder open(const std::string& chosen, const std::string& name, const IsOurs& is_ours);
  // Removes what was made unless keep() was called, or it was there before.
  ~RunFolder();
  RunFolder(RunFolder&& other) noexcept;
  RunFolder& operator=(RunFolder&&) = delete;

  const std::filesystem::path& path() const { return path_; }
  // Atomic: the file is there with all of its text, or not at all. Throws UserError when it cannot be.
  // `file` may be in a folder of this one, which is made.
  void write(const std::string& file, const std::string& text);
  // Empty when there is no such file.
  std::optional<std::string> read(const std::string& file) const;
  void keep() { kept_ = true; }

 private:
  bool lock();  // false: another process has it
  void clean_up() const;
  RunFolder(std::filesystem::path path, bool made) : path_(std::move(path)), made_(made) {}
  std::filesystem::path path_;
  bool made_;
  bool made_parent_ = false;
  bool kept_ = false;
  int lock_ = -1;
  std::vector<std::string> files_;
};

}  // namespace faultline::app
