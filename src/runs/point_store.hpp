// SPDX-License-Identifier: Apache-2.0
// What a run's points came to, each in a file of its own under the name of its content, so that a run that ended early
// goes on where it was, and a changed one does what has changed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/experiment/expansion.hpp"
#include "src/runs/folder.hpp"
#include "src/runs/point_runner.hpp"

namespace faultline::runs {

// Where the folder has the result of a point with this id.
std::string file_of(const std::string& id);

// Whether the result stands. Where the host failed, the time was up or the program had a bug it does not, and the point
// is tried again.
bool is_final(const PointOutcome& outcome);

// By one look each, because another process may write or remove the file meanwhile.
bool has_result(const Folder& folder, const std::string& id);  // there, and undamaged
struct PointFile {
  std::optional<PointOutcome> outcome;  // nothing where there is no file, or it is damaged
  bool damaged = false;
};
PointFile result_in(const Folder& folder, const std::string& id);

// Whether a folder holds a run of these points that has not got to its end, or has points that are to be tried again.
// By its lists alone: no result is read. `manifest`: the file's text.
bool is_unfinished(const Folder& folder, const std::string& manifest, const std::vector<experiment::Point>& points);

class PointStore {
 public:
  explicit PointStore(Folder& folder) : folder_(folder) {}

  // Only a final result. Any other is removed: the point is to do.
  std::optional<PointOutcome> find(const experiment::Point& point);
  // Files that find() has removed because they were damaged.
  const std::vector<std::string>& damaged() const { return damaged_; }
  // Where the folder cannot be written the run goes on, and its user is told of the first failure at its end.
  void keep(const experiment::Point& point, const PointOutcome& outcome);
  const std::string& failure() const { return failure_; }
  Folder& folder() { return folder_; }
  // In a point's process, which writes nothing here.
  void leave() { folder_.leave_locks(); }

 private:
  Folder& folder_;
  std::string failure_;
  std::vector<std::string> damaged_;
};

}  // namespace faultline::runs
