// SPDX-License-Identifier: Apache-2.0
#include "src/output_file.hpp"

#include <fmt/format.h>

#include <array>
#include <fstream>

#include "src/experiment/diagnostics.hpp"

namespace faultline::app {
namespace fs = std::filesystem;

void check_output(const std::string& option, const fs::path& file, const std::string& what,
                  const std::function<bool(std::string_view)>& is_alike) {
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return;
  const auto refuse = [&](const std::string& why) {
    throw experiment::UserError(fmt::format("{}: {}: {}", file.string(), option, why));
  };
  if (fs::is_directory(file, ignored)) refuse("is a folder; name a file");
  if (!fs::is_regular_file(file, ignored)) refuse("is no regular file; name another");
  std::array<char, 64> first{};
  std::ifstream in(file, std::ios::binary);
  in.read(first.data(), first.size());
  const std::string_view begin(first.data(), static_cast<std::size_t>(in.gcount()));
  if (!begin.empty() && !is_alike(begin)) refuse("is there and is no " + what + "; name another file");
}

}  // namespace faultline::app
