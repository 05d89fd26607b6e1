// SPDX-License-Identifier: Apache-2.0
#include "src/runs/folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstring>
#include <fstream>
#include <sstream>
#include <system_error>
#include <thread>
#include <utility>

#include "src/experiment/diagnostics.hpp"
#include "src/experiment/quantity.hpp"
#include "src/runs/host.hpp"
#include "src/runs/seal.hpp"

namespace faultline::runs {
namespace fs = std::filesystem;
namespace {

constexpr const char* kPoints = "points";
constexpr const char* kPart = ".part";
constexpr const char* kLocks = ".locks";
// A process that was killed as it began a point leaves that point's process, which has its locks until it first runs.
constexpr auto kLettingGo = std::chrono::seconds(1);

[[noreturn]] void refuse(const fs::path& path, const std::string& what, const std::string& why) {
  throw UserError("{}: {}: {}", path.string(), what, why);
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
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return {};  // a pipe would be waited for
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return {};
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

enum class Holds { no_run, run, other_run };

// A run, and of this format?
Holds what_it_holds(const fs::path& path) {
  const std::string manifest = text_of(path / Folder::kManifest).value_or("");
  if (other_format(manifest)) return Holds::other_run;
  if (is_sealed(manifest, kJsonSeal)) return Holds::run;
  // Damaged or gone: it is written again, and the points say themselves which they are.
  std::error_code ignored;
  return fs::is_directory(path / kPoints, ignored) ? Holds::run : Holds::no_run;
}

// What write() was at when its process was killed.
bool is_part(const fs::path& path) { return path.filename().string().starts_with('.') && path.extension() == kPart; }

// A name of this process's own: others may write the same file.
fs::path part_of(const fs::path& target) {
  return target.parent_path() / fmt::format(".{}.{}{}", target.filename().string(), process_name(), kPart);
}

// A run that was killed before it had written anything counts for nothing.
bool holds_nothing(const fs::path& path) {
  return std::all_of(fs::directory_iterator(path), fs::directory_iterator(), [](const fs::directory_entry& entry) {
    return is_part(entry.path()) || entry.path().filename() == kLocks;
  });
}

void remove_parts(const fs::path& folder) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    if (is_part(entry.path())) fs::remove(entry.path(), ignored);
  }
}

// False, with the reason in errno, where it cannot be. What knows no syncing counts as synced.
bool sync_path(const fs::path& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool is_synced = descriptor >= 0 && (fsync(descriptor) == 0 || errno == EINVAL);
  const int why = errno;
  if (descriptor >= 0) close(descriptor);
  errno = why;
  return is_synced;
}

// The last of runs/NAME-N, or 0.
unsigned last_number(const fs::path& runs, const std::string& name) {
  unsigned last = 0;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(runs, error)) {
    const std::string file = entry.path().filename().string();
    if (!file.starts_with(name + "-")) continue;
    const auto number = experiment::whole(std::string_view(file).substr(name.size() + 1));
    if (number && *number < UINT_MAX) last = std::max(last, static_cast<unsigned>(*number));
  }
  return last;
}

}  // namespace

std::optional<std::string> other_format(const std::string& manifest) {
  const auto json = shallow_json(manifest);
  if (!json.is_object() || !json.contains("format") || json.at("format") == Folder::kFormat) return {};
  if (json.contains(kChecksum) && !is_sealed(manifest, kJsonSeal)) return {};
  return json.at("format").dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

Folder Folder::open(const std::string& chosen, const std::string& name, const IsUnfinished& is_unfinished) {
  return chosen.empty() ? open_numbered(name, is_unfinished) : open_chosen(chosen);
}

Folder Folder::open_chosen(const fs::path& path) {
  std::error_code error;
  const bool made = fs::create_directories(path, error);
  std::error_code ignored;
  if (error && fs::is_regular_file(path, ignored)) refuse(path, "--out", "is a file, not a folder");
  if (error) refuse(path, "--out: cannot be made", error.message());
  check_writable(path);
  const Holds holds = what_it_holds(path);
  if (holds == Holds::other_run) {
    refuse(path, "--out",
           fmt::format("holds a run of another version of the program (its format is not {}); name a new folder",
                       kFormat));
  }
  if (holds == Holds::no_run && !holds_nothing(path)) {
    refuse(path, "--out", "already holds something that is no run; name a new or an empty folder, or a run's");
  }
  Folder folder(path, made);
  folder.kept_ = holds == Holds::run;
  if (!folder.take()) {
    folder.kept_ = true;
    throw UserError(path.string() + ": another run is at work in it");
  }
  return folder;
}

Folder Folder::open_numbered(const std::string& name, const IsUnfinished& is_unfinished) {
  const fs::path runs = "runs";
  std::error_code error;
  const bool made_runs = fs::create_directories(runs, error);
  if (error) refuse(runs, "cannot be made", error.message() + "; name another place with --out");
  check_writable(runs);
  const std::string plain = file_name(name);
  const unsigned last = last_number(runs, plain);
  const auto numbered = [&](unsigned number) { return runs / fmt::format("{}-{}", plain, number); };
  if (last > 0 && what_it_holds(numbered(last)) == Holds::run) {
    Folder folder(numbered(last), false);
    folder.kept_ = true;
    const bool writable = access(folder.path_.c_str(), W_OK | X_OK) == 0;
    if (writable && is_unfinished(folder) && folder.take()) return folder;
  }
  for (unsigned n = last + 1;; ++n) {
    // Making it is what claims it: of two runs at one time, one gets the next number.
    if (fs::create_directory(numbered(n), error)) {
      Folder folder(numbered(n), true);
      folder.made_parent_ = made_runs;
      folder.take();
      return folder;
    }
    if (error && error != std::errc::file_exists) refuse(numbered(n), "cannot be made", error.message());
  }
}

void check_folder(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return;
  const bool has_none = !error || error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory;
  throw UserError("{}: {}", path.string(), has_none ? "no such folder" : error.message());
}

Folder Folder::look_at(const fs::path& path) {
  check_folder(path);
  Folder folder(path, false);
  folder.kept_ = true;
  return folder;
}

Folder Folder::join(const fs::path& path) {
  Folder folder = look_at(path);
  const Holds holds = what_it_holds(path);
  if (holds == Holds::other_run) {
    refuse(path, "holds a run of another version of the program",
           fmt::format("its format is not {}; use the program that made it", kFormat));
  }
  if (holds == Holds::no_run || !folder.has(kManifest)) {
    refuse(path, "holds no run",
           "it has no manifest.json. 'faultline run' makes a run folder; where that was on another machine, the folder "
           "must be on a file system that this one shares");
  }
  check_writable(path);
  folder.locks_ = NamedLocks::in(path / kLocks);
  if (!folder.locks_.works()) {
    refuse(path, "its file system has no locks",
           "workers could not tell who is at which point; use one 'faultline run' there, or another file system");
  }
  folder.locks_.wait_for(kAtWork, NamedLocks::Kind::shared);
  return folder;
}

bool Folder::is_taken(const std::string& lock) const { return NamedLocks::is_taken(path_ / kLocks, lock); }

bool Folder::take() {
  locks_ = NamedLocks::in(path_ / kLocks);
  const auto until = std::chrono::steady_clock::now() + kLettingGo;
  while (!locks_.take(kRun)) {
    if (std::chrono::steady_clock::now() >= until) {
      locks_.leave();
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

void Folder::tidy() {
  // A worker that comes meanwhile waits.
  if (!locks_.take(kAtWork)) return;
  for (const char* folder : {"", kPoints}) remove_parts(path_ / folder);
  std::error_code ignored;
  fs::remove_all(path_ / kWorkers, ignored);
  locks_.let_go(kAtWork);
}

Folder::Folder(Folder&& other) noexcept
    : path_(std::move(other.path_)),
      made_(other.made_),
      made_parent_(other.made_parent_),
      kept_(other.kept_),
      locks_(std::move(other.locks_)),
      files_(std::move(other.files_)) {
  other.kept_ = true;
}

Folder::~Folder() {
  if (!kept_) remove_all();
}

void Folder::remove_all() {
  std::error_code ignored;
  for (const std::string& file : files_) {
    fs::remove(path_ / file, ignored);
    const fs::path folder = fs::path(file).parent_path();
    if (!folder.empty()) fs::remove(path_ / folder, ignored);  // with its last file
  }
  if (made_) fs::remove(path_ / kLocks, ignored);
  // Fails, rightly, when somebody else put something there.
  if (made_) fs::remove(path_, ignored);
  if (made_parent_) fs::remove(path_.parent_path(), ignored);
}

std::set<std::string> Folder::names_in(const std::string& folder) const {
  std::set<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(path_ / folder, error), end; !error && at != end; at.increment(error))
    names.insert(at->path().filename().string());
  return names;
}

void Folder::write(const std::string& file, const std::string& text, Sync sync) {
  // Never the run folder itself, which somebody may have removed.
  std::error_code ignored;
  if (const fs::path inner = fs::path(file).parent_path(); !inner.empty()) fs::create_directory(path_ / inner, ignored);
  const auto fill = [&](const fs::path& part) {
    std::ofstream stream(part, std::ios::binary);
    stream << text;
    stream.close();
    if (!stream) refuse(path_ / file, "cannot be written", std::strerror(errno));
  };
  make(file, fill, sync);
}

void Folder::make(const std::string& file, const std::function<void(const fs::path& part)>& fill, Sync sync) {
  const fs::path target = path_ / file;
  const fs::path part = part_of(target);
  unlink(part.c_str());
  try {
    fill(part);
    const bool is_synced = sync == Sync::no || sync_path(part);
    if (!is_synced || rename(part.c_str(), target.c_str()) != 0)
      refuse(target, "cannot be written", std::strerror(errno));
  } catch (...) {
    unlink(part.c_str());
    throw;
  }
  if (sync == Sync::yes) sync_path(target.parent_path());  // so that it is in it after a power failure, too
  files_.push_back(file);
}

void Folder::remove(const std::string& file) {
  std::error_code ignored;
  fs::remove(path_ / file, ignored);
}

bool Folder::has(const std::string& file) const {
  std::error_code ignored;
  return fs::is_regular_file(path_ / file, ignored);
}

std::optional<std::string> Folder::read(const std::string& file) const { return text_of(path_ / file); }

}  // namespace faultline::runs
