// SPDX-License-Identifier: Apache-2.0
#include "src/results/database.hpp"

#include <fmt/format.h>

#include "src/experiment/diagnostics.hpp"
#include "src/results/schema.hpp"

namespace faultline::app {
namespace fs = std::filesystem;
namespace {

std::string again(const fs::path& folder) {
  return fmt::format("'faultline run {}' makes it again from the points that are there",
                     folder.empty() ? "." : folder.string());
}

fs::path file_in(const fs::path& run) {
  std::error_code ignored;
  return fs::is_directory(run, ignored) ? run / kDatabaseFile : run;
}

// Whether a file is where runs have their database, whatever is in it.
bool is_ours(const fs::path& file) { return file.filename() == kDatabaseFile; }

std::string name_a_run(const fs::path& file) {
  return is_ours(file) ? "" : "; name a run folder, as runs/mine-1, or the results.sqlite in it";
}

void check_kind(SqlDatabase& database, const fs::path& file) {
  const fs::path folder = file.parent_path();
  if (database.number("PRAGMA application_id") != kApplicationId) {
    throw UserError(fmt::format("{}: is no database of Faultline's results{}", file.string(), name_a_run(file)));
  }
  const auto version = database.number("PRAGMA user_version");
  if (version != kSchemaVersion) {
    throw UserError(fmt::format("{}: has schema version {}, and this program reads {}; {}", file.string(), version,
                                kSchemaVersion, again(folder)));
  }
  // A file that was cut off has its first page still.
  if (database.number("SELECT count(*) FROM run") != 1) throw SqlError(SQLITE_CORRUPT, "it has no run");
}

}  // namespace

SqlDatabase open_database(const fs::path& run) {
  const fs::path file = file_in(run);
  std::error_code ignored;
  if (!fs::exists(run, ignored)) throw UserError(run.string() + ": no such run folder");
  if (!fs::is_regular_file(file, ignored)) {
    throw UserError(fmt::format("{}: has no {}: no run has ended there, or an older program's; {}", run.string(),
                                kDatabaseFile, again(run)));
  }
  try {
    SqlDatabase database(file, SqlDatabase::Open::to_read);
    check_kind(database, file);
    return database;
  } catch (const SqlError& error) {
    refuse_database(run, error);
  }
}

void refuse_database(const fs::path& run, const SqlError& error) {
  const fs::path file = file_in(run);
  std::string why;
  switch (error.code()) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED: why = "another program has locked it; end what writes to it (sqlite3?) and try again"; break;
    case SQLITE_NOTADB:
      if (!is_ours(file)) {
        throw UserError(fmt::format("{}: is no database{}", file.string(), name_a_run(file)));
      }
      [[fallthrough]];
    case SQLITE_CORRUPT: why = "is damaged; " + again(file.parent_path()); break;
    default: why = "cannot be read"; break;
  }
  throw UserError(fmt::format("{}: {} ({})", file.string(), why, error.what()));
}

bool has_database(const RunFolder& folder) {
  if (!folder.has(kDatabaseFile)) return false;
  try {
    SqlDatabase database = open_database(folder.path());
    SqlStatement check(database, "PRAGMA quick_check(1)");
    return check.step() && check.text(0) == "ok";
  } catch (const UserError&) {
  } catch (const SqlError&) {
  }
  return false;
}

}  // namespace faultline::app
