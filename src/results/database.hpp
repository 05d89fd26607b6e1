// SPDX-License-Identifier: Apache-2.0
// results.sqlite of a run folder: written when a run ends, read by queries. The points' own files are the store; the
// database is made of them, and can be made again.
#pragma once

#include "src/results/report.hpp"
#include "src/results/sqlite.hpp"
#include "src/runs/folder.hpp"

namespace faultline::results {

// The same bytes for the same results. Throws UserError when it cannot be written; one that was there stays then.
void write_database(runs::Folder& folder, const Results& results, const experiment::Simulator& simulator);

// False: there is none, it is damaged, or its schema is another one.
bool has_database(const runs::Folder& folder);

// The database of a run folder, or the file itself, to read. Throws UserError that says what is wrong and how to make
// it again.
SqlDatabase open_database(const std::filesystem::path& run);

// For a mistake that turned up while it was read.
[[noreturn]] void refuse_database(const std::filesystem::path& run, const SqlError& error);

}  // namespace faultline::results
