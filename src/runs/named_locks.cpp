// SPDX-License-Identifier: Apache-2.0
#include "src/runs/named_locks.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "src/experiment/diagnostics.hpp"

namespace faultline::runs {
namespace {

// A byte that no other name has, but for one chance in 4e18: then two points are never simulated at one time. (FNV-1a.)
off_t byte_of(const std::string& name) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return static_cast<off_t>(hash >> 2);
}

struct flock on_byte(const std::string& name, short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte_of(name);
  lock.l_len = 1;
  return lock;
}

short type_of(NamedLocks::Kind kind) { return kind == NamedLocks::Kind::shared ? F_RDLCK : F_WRLCK; }

}  // namespace

NamedLocks NamedLocks::in(const std::filesystem::path& file) {
  NamedLocks locks;
  locks.file_ = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (locks.file_ < 0) throw UserError("{}: cannot be written: {}", file.string(), std::strerror(errno));
  struct flock probe = on_byte("", F_WRLCK);
  if (fcntl(locks.file_, F_OFD_GETLK, &probe) != 0) locks.leave();
  return locks;
}

NamedLocks::NamedLocks(NamedLocks&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

NamedLocks& NamedLocks::operator=(NamedLocks&& other) noexcept {
  std::swap(file_, other.file_);
  return *this;
}

bool NamedLocks::take(const std::string& name, Kind kind) {
  struct flock lock = on_byte(name, type_of(kind));
  return fcntl(file_, F_OFD_SETLK, &lock) == 0 || (errno != EAGAIN && errno != EACCES);
}

void NamedLocks::wait_for(const std::string& name, Kind kind) {
  struct flock lock = on_byte(name, type_of(kind));
  while (fcntl(file_, F_OFD_SETLKW, &lock) != 0 && errno == EINTR) {
  }
}

void NamedLocks::let_go(const std::string& name) {
  struct flock lock = on_byte(name, F_UNLCK);
  fcntl(file_, F_OFD_SETLK, &lock);
}

void NamedLocks::leave() {
  if (file_ >= 0) close(file_);
  file_ = -1;
}

bool NamedLocks::is_taken(const std::filesystem::path& file, const std::string& name) {
  const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  struct flock lock = on_byte(name, F_WRLCK);
  const bool taken = fcntl(descriptor, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  close(descriptor);
  return taken;
}

}  // namespace faultline::runs
