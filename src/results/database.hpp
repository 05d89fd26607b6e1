// SPDX-License-Identifier: Apache-2.0
// results.sqlite of a run folder: written when a run ends, read by queries. The points' own files are the store; the
// database is made of them, and can be made again.
#pragma once

#include <string>
#include <string_view>
#include <vector>

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

inline constexpr const char* kDatabaseFile = "results.sqlite";
inline constexpr int kSchemaVersion = 5;           // PRAGMA user_version; another one is refused
inline constexpr int kApplicationId = 0x464c544c;  // PRAGMA application_id, "FLTL"

// All tables, and the views that are the same in every run.
extern const std::string_view kSchema;

// The views that have a column for each axis and each metric: `results` a row a point, `mean_results` a row for points
// that differ by their seed alone.
std::string wide_views(const std::vector<std::string>& axes, const std::vector<std::string>& metrics);

// "a ""b""": a name in SQL.
std::string sql_name(const std::string& name);
// 'it''s': a text in SQL.
std::string sql_text(const std::string& text);

}  // namespace faultline::results
