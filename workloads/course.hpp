// SPDX-License-Identifier: Apache-2.0
// How long a point takes in all, told while it runs.
#pragma once

namespace faultline::workloads {

// By the share of its work that was done at some times. Building, booting and preparing are no transfer's: once two
// shares are known, the line through the first and the last one tells when all is done.
class Course {
 public:
  // So much, from 0 to 1, was done after so many seconds.
  void look(double share, double seconds) {
    if (share <= last_.share) return;
    last_ = {share, seconds};
    if (first_.share == 0) first_ = last_;
  }
  // 0: not known.
  double seconds_in_all() const {
    if (first_.share == 0) return 0;
    if (first_.share == last_.share) return first_.seconds / first_.share;
    const double pace = (last_.seconds - first_.seconds) / (last_.share - first_.share);
    return first_.seconds + (1 - first_.share) * pace;
  }

 private:
  struct Look {
    double share = 0;
    double seconds = 0;
  };
  Look first_;
  Look last_;
};

}  // namespace faultline::workloads
