// SPDX-License-Identifier: Apache-2.0
// What a run's points came to, each in a file of its own under the name of its content, so that a run that ended early
// goes on where it was, and a changed one does what has changed.
#pragma once

#include <map>
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

// Whether the result is that of every seed, so that a point's first repetition stands for the others.
bool stands_for_all(const PointOutcome& outcome);
// Gives it to the repetitions that have none. The work that it took is told once, with the first.
void share(std::vector<PointOutcome>& outcomes, const std::vector<experiment::Point>& points);

// By one look each, because another process may write or remove the file meanwhile.
bool has_result(const Folder& folder, const std::string& id);  // there, and undamaged
struct PointFile {
  std::optional<PointOutcome> outcome;  // nothing where there is no file, or it is damaged
  bool damaged = false;
};
PointFile result_in(const Folder& folder, const std::string& id);

// Whether a folder holds a run of these points that says of itself that it has got to its end, with a final result of
// each; and whether each has a file still. Of those alone whose file is missing a result is read. `manifest`: the
// file's text.
bool has_ended(const Folder& folder, const std::string& manifest, std::size_t points);
// Those files that others stand for may lack.
bool has_all_files(const Folder& folder, const std::vector<experiment::Point>& points);

// Which points need no file of their own, by what the folder has. Each first repetition's result is read once.
class Sharing {
 public:
  Sharing(const Folder& folder, const std::vector<experiment::Point>& points) : folder_(folder), points_(points) {}
  // Whether the first repetition has a result by now that stands for this one.
  bool is_shared(std::size_t index);

 private:
  const Folder& folder_;
  const std::vector<experiment::Point>& points_;
  std::map<std::size_t, bool> known_;  // of first repetitions that have a result
};

// Of these outcomes the points that have none.
std::vector<std::size_t> not_run(const std::vector<PointOutcome>& outcomes);

// The points of a run and their files. Folder and points outlive it.
class PointStore {
 public:
  PointStore(Folder& folder, const std::vector<experiment::Point>& points) : folder_(folder), points_(points) {}

  // The final results, each file read once; not run where there is none. Changes nothing.
  std::vector<PointOutcome> read();
  // Removes what read() has found beside them, damaged or not final: those points are to do.
  void make_room();
  // Files that read() has found damaged.
  const std::vector<std::string>& damaged() const { return damaged_; }
  // Results that others have written since, of the points that have none among `outcomes`.
  void read_rest(std::vector<PointOutcome>& outcomes) const;
  // Where the folder cannot be written the run goes on, and its user is told of the first failure at its end. Throws
  // UserError where the folder is no run's any more.
  void keep(std::size_t index, const PointOutcome& outcome);
  const std::string& failure() const { return failure_; }
  Folder& folder() const { return folder_; }
  const std::vector<experiment::Point>& points() const { return points_; }
  // In a point's process, which writes nothing here.
  void leave() const { folder_.leave_locks(); }

 private:
  Folder& folder_;
  const std::vector<experiment::Point>& points_;
  std::string failure_;
  std::vector<std::string> unfit_;
  std::vector<std::string> damaged_;
};

}  // namespace faultline::runs
