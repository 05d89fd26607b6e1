// SPDX-License-Identifier: Apache-2.0
// Locks with names that all processes of a run share, on whichever machine they are. The system takes a lock from its
// holder when that ends, however it ends; nothing is left behind that somebody would have to judge to be stale.
#pragma once

#include <filesystem>
#include <string>

namespace faultline::runs {

// Each is a lock of the open file description on one byte of a file: Linux has them on every local file system, and
// NFS, Lustre (mounted with -o flock) and the like carry them between machines. Where a file system has none, all can
// be taken, and works() says so.
class NamedLocks {
 public:
  NamedLocks() = default;  // as on a file system that has none
  // Makes the file unless it is there. Throws UserError when it cannot be opened.
  static NamedLocks in(const std::filesystem::path& file);
  ~NamedLocks() { leave(); }
  NamedLocks(NamedLocks&& other) noexcept;
  NamedLocks& operator=(NamedLocks&& other) noexcept;

  bool works() const { return file_ >= 0; }
  enum class Kind { exclusive, shared };
  // False: another process has it.
  bool take(const std::string& name, Kind kind = Kind::exclusive);
  void wait_for(const std::string& name, Kind kind);
  void let_go(const std::string& name);
  // In a process that was forked: the locks stay its parent's.
  void leave();

  // Whether any process has the lock of that name in the file.
  static bool is_taken(const std::filesystem::path& file, const std::string& name);

 private:
  int file_ = -1;
};

}  // namespace faultline::runs
