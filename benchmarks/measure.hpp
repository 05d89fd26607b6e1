// SPDX-License-Identifier: Apache-2.0
// What every benchmark program shares, with SystemC or without: its arguments, its clocks, its one line of JSON.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace faultline::bench {

inline double seconds_of(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

// Host time is CPU time: the programs have one thread and never wait, so on an idle machine it equals wall-clock
// time, and on a busy one it leaves out what others were given. The wall-clock time is reported beside it.
class Stopwatch {
 public:
  void start() {
    cpu_ = -seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    wall_ = -seconds_of(CLOCK_MONOTONIC);
  }
  void stop() {
    cpu_ += seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    wall_ += seconds_of(CLOCK_MONOTONIC);
  }
  double host_s() const { return cpu_; }
  void write_to(nlohmann::json& result) const {
    result["host_s"] = cpu_;
    result["wall_s"] = wall_;
  }

 private:
  double cpu_ = 0;
  double wall_ = 0;
};

// Memory of this process, as Linux names it.
inline double status_mib(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double kib = 0;
    if (word == field && status >> kib) return kib / 1024;
  }
  return 0;
}
inline double resident_mib() { return status_mib("VmRSS:"); }
inline double peak_mib() { return status_mib("VmHWM:"); }

[[noreturn]] inline void refuse(const std::string& what) {
  std::cerr << "error: " << what << "\n";
  std::exit(2);
}

// --name value ..., and what else there is. Every name that is given must be asked for before the end of check().
class Arguments {
 public:
  Arguments(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
      const std::string word = argv[i];
      if (word.rfind("--", 0) != 0) {
        rest.push_back(word);
      } else if (++i < argc) {
        named_[word.substr(2)] = argv[i];
      } else {
        refuse(word + " needs a value");
      }
    }
  }
  std::string text(const std::string& name, const std::string& otherwise) {
    const auto found = named_.find(name);
    if (found == named_.end()) return otherwise;
    const std::string value = found->second;
    named_.erase(found);
    return value;
  }
  std::uint32_t count(const std::string& name, std::uint32_t otherwise) {
    const std::string value = text(name, std::to_string(otherwise));
    if (value.empty() || value.size() > 9 || value.find_first_not_of("0123456789") != std::string::npos) {
      refuse("--" + name + " takes a whole number, not '" + value + "'");
    }
    return static_cast<std::uint32_t>(std::stoul(value));
  }
  void check() const {
    if (!named_.empty()) refuse("unknown argument --" + named_.begin()->first);
  }

  std::vector<std::string> rest;

 private:
  std::map<std::string, std::string> named_;
};

}  // namespace faultline::bench
