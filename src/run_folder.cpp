// SPDX-License-Identifier: Apache-2.0
#include "src/run_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>
#include <utility>

#include "src/diagnostics.hpp"

namespace faultline::app {
namespace fs = std::filesystem;
namespace {

using Json = nlohmann::json;
constexpr const char* kManifest = "manifest.json";
constexpr const char* kLock = ".lock";
constexpr const char* kPart = ".part";

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

std::optional<std::string> text_of(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return {};
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

// Of a run that was there before. What it says of itself, if it is a run of this format.
std::optional<std::string> manifest_in(const fs::path& path, const std::string& option) {
  const auto text = text_of(path / kManifest);
  if (!text) return {};
  const Json json = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("format") || json.at("format") != RunFolder::kFormat) {
    refuse(path, option + "its manifest.json is damaged or of another version of the program",
           "name a new folder, or remove this one");
  }
  return text;
}

// What a run leaves that was killed before it had written anything counts for nothing.
bool holds_nothing(const fs::path& path) {
  return std::all_of(fs::directory_iterator(path), fs::directory_iterator(), [](const fs::directory_entry& entry) {
    return entry.path().filename() == kLock || entry.path().extension() == kPart;
  });
}

// The last of runs/NAME-N, or 0.
unsigned last_number(const fs::path& runs, const std::string& name) {
  unsigned last = 0;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(runs, error)) {
    const std::string file = entry.path().filename().string();
    unsigned number = 0;
    if (!file.starts_with(name + "-")) continue;
    const char* begin = file.data() + name.size() + 1;
    const char* end = file.data() + file.size();
    const auto [stopped, why] = std::from_chars(begin, end, number);
    if (why == std::errc{} && stopped == end) last = std::max(last, number);
  }
  return last;
}

}  // namespace

RunFolder RunFolder::open(const std::string& chosen, const std::string& name, const IsOurs& is_ours) {
  std::error_code error;
  if (!chosen.empty()) {
    const fs::path path = chosen;
    const bool made = fs::create_directories(path, error);
    if (error && fs::exists(path)) refuse(path, "--out", "is a file, not a folder");
    if (error) refuse(path, "--out: cannot be made", error.message());
    check_writable(path);
    const bool continued = manifest_in(path, "--out: ").has_value();
    if (!continued && !holds_nothing(path)) {
      refuse(path, "--out", "already holds something that is no run; name a new or an empty folder, or a run's");
    }
    RunFolder folder(path, made);
    folder.kept_ = continued;
    if (!folder.lock()) {
      folder.kept_ = true;
      refuse(path, "--out", "another run is at work in it");
    }
    folder.clean_up();
    return folder;
  }
  const fs::path runs = "runs";
  const bool made_runs = fs::create_directories(runs, error);
  if (error) refuse(runs, "cannot be made", error.message() + "; name another place with --out");
  check_writable(runs);
  const std::string plain = file_name(name);
  const unsigned last = last_number(runs, plain);
  const fs::path before = runs / fmt::format("{}-{}", plain, last);
  if (const auto text = last == 0 ? std::nullopt : manifest_in(before, "")) {
    RunFolder folder(before, false);
    const auto exists = [&](const std::string& file) { return fs::exists(before / file); };
    folder.kept_ = true;
    if (is_ours(*text, exists) && access(before.c_str(), W_OK | X_OK) == 0 && folder.lock()) {
      folder.clean_up();
      return folder;
    }
  }
  for (unsigned n = last + 1;; ++n) {
    const fs::path path = runs / fmt::format("{}-{}", plain, n);
    // Making it is what claims it: of two runs at one time, one gets the next number.
    if (fs::create_directory(path, error)) {
      RunFolder folder(path, true);
      folder.made_parent_ = made_runs;
      folder.lock();
      return folder;
    }
    if (error && error != std::errc::file_exists) refuse(path, "cannot be made", error.message());
  }
}

// Held until the process ends, however it ends; nobody reads the file.
bool RunFolder::lock() {
  const int descriptor = ::open((path_ / kLock).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) return true;  // a file system that cannot: results are written whole in any case
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    close(descriptor);
    return false;
  }
  lock_ = descriptor;
  return true;
}

// What a run that was killed was writing.
void RunFolder::clean_up() const {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path_, ignored)) {
    if (entry.path().extension() == kPart) fs::remove(entry.path(), ignored);
  }
}

RunFolder::RunFolder(RunFolder&& other) noexcept
    : path_(std::move(other.path_)),
      made_(other.made_),
      made_parent_(other.made_parent_),
      kept_(other.kept_),
      lock_(std::exchange(other.lock_, -1)),
      files_(std::move(other.files_)) {
  other.kept_ = true;
}

RunFolder::~RunFolder() {
  std::error_code ignored;
  if (lock_ >= 0) {
    fs::remove(path_ / kLock, ignored);
    close(lock_);
  }
  if (kept_) return;
  for (const std::string& file : files_) {
    fs::remove(path_ / file, ignored);
    const fs::path folder = fs::path(file).parent_path();
    if (!folder.empty()) fs::remove(path_ / folder, ignored);  // with its last file
  }
  // Fails, rightly, when somebody else put something there.
  if (made_) fs::remove(path_, ignored);
  if (made_parent_) fs::remove(path_.parent_path(), ignored);
}

void RunFolder::write(const std::string& file, const std::string& text) {
  const fs::path target = path_ / file;
  std::error_code error;
  fs::create_directories(target.parent_path(), error);
  const fs::path part = target.parent_path() / ("." + target.filename().string() + kPart);
  const int descriptor = ::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
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

std::optional<std::string> RunFolder::read(const std::string& file) const { return text_of(path_ / file); }

}  // namespace faultline::app
