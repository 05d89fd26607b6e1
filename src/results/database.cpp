// SPDX-License-Identifier: Apache-2.0
#include "src/results/database.hpp"

#include <fmt/format.h>

#include "src/experiment/diagnostics.hpp"
#include "src/runs/seal.hpp"

namespace faultline::results {
namespace fs = std::filesystem;
namespace {

std::string again(const fs::path& folder) {
  return fmt::format("'faultline run {}' makes it again from the points that are there",
                     folder.empty() ? "." : folder.string());
}

// Whether a file is where runs have their database, whatever is in it.
bool is_ours(const fs::path& file) { return file.filename() == kDatabaseFile; }

std::string what_to_do(const fs::path& file) {
  return "; " +
         (is_ours(file) ? again(file.parent_path()) : "name a run folder, as runs/mine-1, or the results.sqlite in it");
}

std::string message(const fs::path& file, int code, const std::string& phrase) {
  if (code == SQLITE_NOTADB && !is_ours(file))
    return fmt::format("{}: is no database{}", file.string(), what_to_do(file));
  const bool is_locked = code == SQLITE_BUSY || code == SQLITE_LOCKED;
  const bool is_damaged = code == SQLITE_CORRUPT || code == SQLITE_NOTADB;
  const std::string why = is_locked    ? "another program has locked it; end what writes to it (sqlite3?) and try again"
                          : is_damaged ? "is damaged; " + again(file.parent_path())
                                       : "cannot be read";
  return fmt::format("{}: {} ({})", file.string(), why, phrase);
}

void check_kind(SqlDatabase& database, const fs::path& file) {
  const fs::path folder = file.parent_path();
  if (database.number("PRAGMA application_id") != kApplicationId)
    throw UserError("{}: is no database of Faultline's results{}", file.string(), what_to_do(file));
  const auto version = database.number("PRAGMA user_version");
  if (version != kSchemaVersion) {
    throw UserError("{}: has schema version {}, and this program reads {}; {}", file.string(), version, kSchemaVersion,
                    again(folder));
  }
  if (!is_file_sealed(file, runs::kDatabaseSeal)) throw SqlError(file, SQLITE_CORRUPT, "its checksum is another");
}

}  // namespace

SqlError::SqlError(const fs::path& file, int code, const std::string& phrase)
    : UserError(message(file, code, phrase)), code_(code), phrase_(phrase) {}

SqlDatabase open_database(const fs::path& run) {
  std::error_code ignored;
  const fs::path file = fs::is_directory(run, ignored) ? run / kDatabaseFile : run;
  if (!fs::exists(run, ignored)) runs::check_folder(run);
  if (!fs::is_regular_file(file, ignored)) {
    throw UserError("{}: has no {}: no run has ended there, or an older program's; {}", run.string(), kDatabaseFile,
                    again(run));
  }
  SqlDatabase database(file, SqlDatabase::Open::to_read);
  check_kind(database, file);
  return database;
}

bool has_database(const runs::Folder& folder) {
  if (!folder.has(kDatabaseFile)) return false;
  try {
    open_database(folder.path());
    return true;
  } catch (const UserError&) {
    return false;
  }
}

}  // namespace faultline::results
