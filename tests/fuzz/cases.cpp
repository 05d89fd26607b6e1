// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/cases.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <optional>
#include <stdexcept>

#include "tests/support/child.hpp"

namespace faultline::test {
namespace {

constexpr std::uint64_t kBatch = 500;  // cases of a child
constexpr unsigned kCpuSeconds = 10;
constexpr unsigned kSeconds = 60;

std::optional<std::uint64_t> number_in(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? std::nullopt : std::optional<std::uint64_t>(std::stoull(text));
}

std::uint64_t seed() { return number_in("FAULTLINE_FUZZ_SEED").value_or(1); }

// Where a child says which case it is at.
class CurrentCase {
 public:
  CurrentCase()
      : number_(static_cast<std::atomic<std::uint64_t>*>(
            mmap(nullptr, sizeof *number_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    if (number_ == MAP_FAILED) throw std::runtime_error("no shared memory");
  }
  CurrentCase(const CurrentCase&) = delete;
  CurrentCase& operator=(const CurrentCase&) = delete;
  ~CurrentCase() { munmap(number_, sizeof *number_); }

  void begins(std::uint64_t number) {
    *number_ = number;
    const itimerval limit{{}, {kCpuSeconds, 0}};
    setitimer(ITIMER_PROF, &limit, nullptr);
    alarm(kSeconds);
  }
  std::uint64_t number() const { return *number_; }

 private:
  std::atomic<std::uint64_t>* number_;
};

}  // namespace

Dice dice_of(const std::string& name, std::uint64_t number) {
  std::uint64_t mixed = seed() * 0x9e3779b97f4a7c15 + number;
  for (const char c : name) mixed = (mixed ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return Dice(rc::Random(mixed));
}

void try_cases(const std::string& name, std::uint64_t cases,
               const std::function<std::string(Dice& dice, std::uint64_t number)>& complaint) {
  const auto only = number_in("FAULTLINE_FUZZ_CASE");
  const std::uint64_t first = only.value_or(0);
  const std::uint64_t end = only ? first + 1 : cases * number_in("FAULTLINE_CASES_TIMES").value_or(1);
  CurrentCase current;
  for (std::uint64_t begin = first; begin < end; begin += kBatch) {
    std::string wrong;
    try {
      wrong = text_from_child([&]() -> std::string {
        for (std::uint64_t number = begin; number < std::min(begin + kBatch, end); ++number) {
          current.begins(number);
          Dice dice = dice_of(name, number);
          std::string found = complaint(dice, number);
          if (!found.empty()) return found;
        }
        return {};
      });
    } catch (const std::runtime_error& error) {
      wrong = error.what();  // signal 27 (SIGPROF) or 14 (SIGALRM): it did not end
    }
    if (!wrong.empty()) {
      throw std::runtime_error(
          fmt::format("{}\nrepeat it: FAULTLINE_FUZZ_SEED={} FAULTLINE_FUZZ_CASE={} test_fuzz \"{}\"", wrong, seed(),
                      current.number(), name));
    }
  }
}

std::string printable(const std::string& text) {
  std::string shown;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    shown += byte == '\n' || (byte >= 0x20 && byte < 0x7f) ? std::string(1, c) : fmt::format("\\x{:02x}", byte);
  }
  return shown;
}

bool is_clean(const std::string& text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f) return false;
    const std::size_t length = byte < 0x80 ? 1 : byte >= 0xc2 && byte < 0xe0 ? 2 : byte >= 0xe0 && byte < 0xf0 ? 3 : 4;
    if (byte >= 0x80 && (byte < 0xc2 || byte > 0xf4 || i + length > text.size())) return false;
    for (std::size_t k = 1; k < length; ++k) {
      if ((static_cast<unsigned char>(text[i + k]) & 0xc0) != 0x80) return false;
    }
    if (byte == 0xc2 && static_cast<unsigned char>(text[i + 1]) < 0xa0) return false;  // C1: CSI without ESC
    i += length;
  }
  return true;
}

}  // namespace faultline::test
