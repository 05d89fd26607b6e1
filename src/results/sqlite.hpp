// SPDX-License-Identifier: Apache-2.0
// SQLite with owners: what was opened is closed, and what goes wrong is thrown.
#pragma once

#include <sqlite3.h>

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "src/experiment/diagnostics.hpp"

namespace faultline::results {

// what() names the file, says what is wrong with it and what to do.
class SqlError : public UserError {
 public:
  SqlError(const std::filesystem::path& file, int code, const std::string& phrase);
  int code() const { return code_; }  // SQLITE_BUSY, SQLITE_CORRUPT, ... without what extends them
  // SQLite's own, and of a statement that it refuses the statement's mistake.
  const std::string& phrase() const { return phrase_; }

 private:
  int code_;
  std::string phrase_;
};

class SqlDatabase {
 public:
  // to_read: one that is there, shared with others; waits `wait_ms` for one that another program has locked. to_fill: a
  // new file that nobody else knows: without locks, which shared folders may not have, and without a journal.
  enum class Open { to_read, to_fill };
  SqlDatabase(const std::filesystem::path& path, Open open, int wait_ms = 2000);

  void execute(const std::string& script);
  // The first column of the first row; 0 without one.
  std::int64_t number(const std::string& query);
  sqlite3* handle() const { return handle_.get(); }
  const std::filesystem::path& path() const { return path_; }
  [[noreturn]] void fail(int code) const;

 private:
  struct Close {
    void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
  };
  std::filesystem::path path_;
  std::unique_ptr<sqlite3, Close> handle_;
};

class SqlStatement {
 public:
  // The database outlives it. Of several statements in `sql` it is the first; what follows is rest().
  SqlStatement(const SqlDatabase& database, const std::string& sql);

  // For statements that return nothing: the values stand for its question marks.
  template <typename... Values>
  void run(const Values&... values) {
    bind(values...);
    while (step()) {
    }
  }
  // For queries: then step() from row to row.
  template <typename... Values>
  SqlStatement& bind(const Values&... values) {
    sqlite3_reset(handle_.get());
    int at = 0;
    (set(++at, values), ...);
    return *this;
  }
  // False behind the last row.
  bool step();

  int columns() const { return sqlite3_column_count(handle_.get()); }
  std::string name(int column) const { return sqlite3_column_name(handle_.get(), column); }
  int type(int column) const { return sqlite3_column_type(handle_.get(), column); }
  bool is_null(int column) const { return type(column) == SQLITE_NULL; }
  std::string text(int column) const;
  double real(int column) const;  // NaN for NULL
  std::int64_t whole(int column) const { return sqlite3_column_int64(handle_.get(), column); }
  bool is_read_only() const { return sqlite3_stmt_readonly(handle_.get()) != 0; }
  const std::string& rest() const { return rest_; }

 private:
  void set(int at, const std::string& text);
  void set(int at, const char* text) { set(at, std::string(text)); }
  void set(int at, double value);  // NULL unless it is finite
  void set(int at, std::nullopt_t);
  template <typename Value>
  void set(int at, const std::optional<Value>& value) {
    value ? set(at, *value) : set(at, std::nullopt);
  }
  void set(int at, bool value) { set(at, std::int64_t{value}); }
  void set(int at, std::int64_t value);
  template <std::unsigned_integral Value>
  void set(int at, Value value) {
    set(at, static_cast<std::int64_t>(value));
  }
  void check(int code) const;

  struct Finalize {
    void operator()(sqlite3_stmt* handle) const { sqlite3_finalize(handle); }
  };
  const SqlDatabase& database_;
  std::unique_ptr<sqlite3_stmt, Finalize> handle_;
  std::string rest_;
};

}  // namespace faultline::results
