// SPDX-License-Identifier: Apache-2.0
#include "src/results/sqlite.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

namespace faultline::results {
namespace {

constexpr int kPrimaryCode = 0xff;

}  // namespace

void SqlDatabase::fail(int code) const {
  std::string phrase = handle_ == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(handle_.get());
  const int primary = code & kPrimaryCode;
  const int reason = handle_ == nullptr ? 0 : sqlite3_system_errno(handle_.get());
  const bool of_the_host = primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN || primary == SQLITE_FULL;
  if (of_the_host && reason != 0) phrase += std::string(" (") + std::strerror(reason) + ")";
  throw SqlError(path_, primary, phrase);
}

SqlDatabase::SqlDatabase(const std::filesystem::path& path, Open open, int wait_ms) : path_(path) {
  const bool fill = open == Open::to_fill;
  const int flags = fill ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
  // Absolute: a name that begins with "file:" or ':' means something else to SQLite.
  const std::string name = std::filesystem::absolute(path).string();
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &handle, flags, fill ? "unix-none" : nullptr);
  handle_.reset(handle);
  if (code != SQLITE_OK) fail(code);
  sqlite3_busy_timeout(handle, wait_ms);
  if (fill) execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA page_size = 4096");
  execute("PRAGMA foreign_keys = ON");
}

void SqlDatabase::execute(const std::string& script) {
  const int code = sqlite3_exec(handle_.get(), script.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code);
}

std::int64_t SqlDatabase::number(const std::string& query) {
  SqlStatement statement(*this, query);
  return statement.step() ? statement.whole(0) : 0;
}

SqlStatement::SqlStatement(const SqlDatabase& database, const std::string& sql) : database_(database) {
  sqlite3_stmt* handle = nullptr;
  const char* rest = nullptr;
  check(sqlite3_prepare_v2(database_.handle(), sql.c_str(), static_cast<int>(sql.size()), &handle, &rest));
  handle_.reset(handle);
  rest_ = rest == nullptr ? "" : rest;
}

bool SqlStatement::step() {
  if (!handle_) return false;  // a comment
  const int code = sqlite3_step(handle_.get());
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) check(code);
  return false;
}

std::string SqlStatement::text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(handle_.get(), column));
  return text == nullptr ? ""
                         : std::string(text, static_cast<std::size_t>(sqlite3_column_bytes(handle_.get(), column)));
}

double SqlStatement::real(int column) const {
  return is_null(column) ? std::numeric_limits<double>::quiet_NaN() : sqlite3_column_double(handle_.get(), column);
}

void SqlStatement::set(int at, const std::string& text) {
  check(sqlite3_bind_text(handle_.get(), at, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT));
}

void SqlStatement::set(int at, double value) {
  if (!std::isfinite(value)) return set(at, std::nullopt);
  check(sqlite3_bind_double(handle_.get(), at, value));
}

void SqlStatement::set(int at, std::nullopt_t) { check(sqlite3_bind_null(handle_.get(), at)); }

void SqlStatement::set(int at, std::int64_t value) { check(sqlite3_bind_int64(handle_.get(), at, value)); }

void SqlStatement::check(int code) const {
  if (code != SQLITE_OK) database_.fail(code);
}

}  // namespace faultline::results
