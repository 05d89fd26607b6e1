// SPDX-License-Identifier: Apache-2.0
#include "src/run_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "src/diagnostics.hpp"

namespace faultline::app {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void refuse(const fs::path& path, const std::string& what, const std::string& why) {
  throw UserError(fmt::format("{}: {}: {}", path.string(), what, why));
}

// A name that may be a file's anywhere, and in a path is one part.
std::string file_name(const std::string& name) {
  std::string plain = name;
  for (char& c : plain) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '_' && c != '.') c = '-';
  }
  return plain.empty() || plain.front() == '.' ? "run" + plain : plain;
}

// Found out before hours of simulation, not after.
void check_writable(const fs::path& folder) {
  if (access(folder.c_str(), W_OK | X_OK) != 0) refuse(folder, "cannot be written", std::strerror(errno));
}

}  // namespace

RunFolder RunFolder::make(const std::string& chosen, const std::string& name) {
  std::error_code error;
  if (!chosen.empty()) {
    const fs::path path = chosen;
    if (fs::exists(path, error)) {
      if (!fs::is_directory(path)) refuse(path, "--out", "is a file, not a folder");
      check_writable(path);
      if (!fs::is_empty(path, error)) refuse(path, "--out", "already holds something; name a new or an empty folder");
      return RunFolder(path, false);
    }
    fs::create_directories(path, error);
    if (error) refuse(path, "--out: cannot be made", error.message());
    return RunFolder(path, true);
  }
  const fs::path runs = "runs";
  const bool made_runs = fs::create_directories(runs, error);
  if (error) refuse(runs, "cannot be made", error.message() + "; name another place with --out");
  check_writable(runs);
  for (unsigned n = 1;; ++n) {
    const fs::path path = runs / fmt::format("{}-{}", file_name(name), n);
    // Making it is what claims it: of two runs at one time, one gets the next number.
    if (fs::create_directory(path, error)) {
      RunFolder folder(path, true);
      folder.made_parent_ = made_runs;
      return folder;
    }
    if (error && error != std::errc::file_exists) refuse(path, "cannot be made", error.message());
  }
}

RunFolder::RunFolder(RunFolder&& other) noexcept
    : path_(std::move(other.path_)),
      made_(other.made_),
      made_parent_(other.made_parent_),
      kept_(other.kept_),
      files_(std::move(other.files_)) {
  other.kept_ = true;
}

RunFolder::~RunFolder() {
  if (kept_) return;
  std::error_code ignored;
  for (const std::string& file : files_) fs::remove(path_ / file, ignored);
  // Fails, rightly, when somebody else put something there.
  if (made_) fs::remove(path_, ignored);
  if (made_parent_) fs::remove(path_.parent_path(), ignored);
}

void RunFolder::write(const std::string& file, const std::string& text) {
  const fs::path target = path_ / file;
  const fs::path part = path_ / ("." + file + ".part");
  const int descriptor = open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (descriptor < 0) refuse(target, "cannot be written", std::strerror(errno));
  const auto give_up = [&](int why) {
    close(descriptor);
    unlink(part.c_str());
    refuse(target, "cannot be written", std::strerror(why));
  };
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t n = ::write(descriptor, text.data() + at, text.size() - at);
    if (n < 0 && errno != EINTR) give_up(errno);
    if (n > 0) at += static_cast<std::size_t>(n);
  }
  if (fsync(descriptor) != 0 && errno != EINVAL) give_up(errno);
  close(descriptor);
  if (rename(part.c_str(), target.c_str()) != 0) {
    const int why = errno;
    unlink(part.c_str());
    refuse(target, "cannot be written", std::strerror(why));
  }
  files_.push_back(file);
}

}  // namespace faultline::app
