// SPDX-License-Identifier: Apache-2.0
// Where a run's files go. No file is ever half there, and nothing is written over that is not the run's own.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "src/runs/named_locks.hpp"

namespace faultline::runs {

// The format of a manifest's text where it is another one than kFormat. Nothing where the text is damaged.
std::optional<std::string> other_format(const std::string& manifest);

// Throws UserError where it is none, or cannot be looked at (a link to itself, for instance).
void check_folder(const std::filesystem::path& path);

class Folder {
 public:
  static constexpr int kFormat = 2;  // of what is in it
  static constexpr const char* kManifest = "manifest.json";

  // `chosen`, or when that is empty runs/NAME-N. A folder that holds a run is continued: the chosen one whatever its
  // points are, the last runs/NAME-N if `is_unfinished` says so. Otherwise it is made, with the next N. One process at
  // a time has it. Throws UserError when it cannot be written, or the chosen one holds something else.
  using IsUnfinished = std::function<bool(const Folder& folder)>;
  static Folder open(const std::string& chosen, const std::string& name, const IsUnfinished& is_unfinished);
  // To read in, whoever is at work there. Throws UserError when it is no folder.
  static Folder look_at(const std::filesystem::path& path);
  // To work in beside others: a run that somebody has made. Throws UserError when it is none, when it is one of another
  // version, and where its file system has no locks.
  static Folder join(const std::filesystem::path& path);
  // Whether a process has the lock of that name. kRun: the process whose run it is; kAtWork: its workers, together.
  static constexpr const char* kRun = "run";
  static constexpr const char* kAtWork = "at work";
  static constexpr const char* kWorkers = "workers";  // the folder of their records
  static constexpr const char* kLogs = "logs";        // and of their logs
  bool is_taken(const std::string& lock = kRun) const;
  NamedLocks& locks() { return locks_; }
  // Removes what was made unless keep() was called, or it was there before.
  ~Folder();
  Folder(Folder&& other) noexcept;
  Folder& operator=(Folder&&) = delete;

  const std::filesystem::path& path() const { return path_; }
  // Atomic: the file is there with all of its text, or not at all. Throws UserError when it cannot be.
  // `file` may be in a folder of this one, which is made. Sync: it survives a power failure from now on.
  enum class Sync { yes, no };
  void write(const std::string& file, const std::string& text, Sync sync = Sync::yes);
  // Likewise for a file that `fill` writes by itself, under the name that it is given; what it throws goes on.
  void make(const std::string& file, const std::function<void(const std::filesystem::path& part)>& fill,
            Sync sync = Sync::yes);
  void remove(const std::string& file);
  bool has(const std::string& file) const;
  // Empty when there is no such file.
  std::optional<std::string> read(const std::string& file) const;
  // Of the files in a folder of it; none where that is not there.
  std::set<std::string> names_in(const std::string& folder) const;
  void keep() { kept_ = true; }
  // For a forked process: it would hold the folder's locks when its parent has ended.
  void leave_locks() { locks_.leave(); }
  // Removes what processes that were killed have left half done, and the workers' records. For the process whose run it
  // is. Does nothing while workers are at work.
  void tidy();

 private:
  static Folder open_chosen(const std::filesystem::path& path);
  static Folder open_numbered(const std::string& name, const IsUnfinished& is_unfinished);
  bool take();  // false: another process has it, and keeps it
  void remove_all();
  Folder(std::filesystem::path path, bool made) : path_(std::move(path)), made_(made) {}
  std::filesystem::path path_;
  bool made_;
  bool made_parent_ = false;
  bool kept_ = false;
  NamedLocks locks_;
  std::vector<std::string> files_;
};

}  // namespace faultline::runs
