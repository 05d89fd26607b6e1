// SPDX-License-Identifier: Apache-2.0
// How results.sqlite is laid out. docs/results.md describes it for users.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace faultline::results {

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
