// SPDX-License-Identifier: Apache-2.0
#include "models/os/error.hpp"

namespace faultline::os {

std::string_view to_string(Error error) {
  switch (error) {
    case Error::none: return "none";
    case Error::no_memory: return "no memory";
    case Error::bad_address: return "bad address";
    case Error::invalid: return "invalid argument";
    case Error::limit: return "memory lock limit exceeded";
    case Error::again: return "resource in use";
    case Error::poisoned: return "memory failure";
    case Error::unsupported: return "not for a file's memory";
    case Error::killed: return "killed because memory ran out";
    case Error::no_huge_page: return "the pool of huge pages is empty";
    case Error::beyond_end: return "beyond the end of the file";
  }
  return "unknown";
}

}  // namespace faultline::os
