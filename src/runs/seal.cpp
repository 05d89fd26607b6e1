// SPDX-License-Identifier: Apache-2.0
#include "src/runs/seal.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "src/experiment/diagnostics.hpp"

namespace faultline::runs {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kDigits = 8;
constexpr int kDeepest = 3;

std::string text_of(const Seal& seal, std::uint32_t checksum) {
  return fmt::format("{}{:08x}{}", seal.before, checksum, seal.after);
}

std::size_t size_of(const Seal& seal) { return seal.before.size() + kDigits + seal.after.size(); }

// Of the next `size` bytes, and whether there are so many.
std::pair<std::uint32_t, bool> checksum_of_next(std::istream& stream, std::uintmax_t size) {
  std::array<char, 1 << 16> block;
  std::uint32_t checksum = 0;
  while (size > 0) {
    stream.read(block.data(), static_cast<std::streamsize>(std::min<std::uintmax_t>(size, block.size())));
    const auto count = static_cast<std::size_t>(stream.gcount());
    if (count == 0) return {checksum, false};
    checksum = checksum_of(std::string_view(block.data(), count), checksum);
    size -= count;
  }
  return {checksum, true};
}

// Its last bytes; empty where it has not so many, or is no regular file.
std::string end_of(const std::filesystem::path& file, std::size_t size) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return "";
  std::ifstream stream(file, std::ios::binary);
  std::string end(size, '\0');
  stream.seekg(-static_cast<std::streamoff>(size), std::ios::end);
  return stream.read(end.data(), static_cast<std::streamsize>(size)) ? end : "";
}

}  // namespace

std::uint32_t checksum_of(std::string_view bytes, std::uint32_t of_what_comes_before) {
  return static_cast<std::uint32_t>(
      crc32_z(of_what_comes_before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

std::uint32_t checksum_of_file(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return checksum_of_next(stream, UINTMAX_MAX).first;
}

std::string sealed(std::string text, const Seal& seal) { return text + text_of(seal, checksum_of(text)); }

bool is_sealed(std::string_view text, const Seal& seal) {
  if (text.size() < size_of(seal)) return false;
  const std::string_view content = text.substr(0, text.size() - size_of(seal));
  return text.substr(content.size()) == text_of(seal, checksum_of(content));
}

void seal_file(const std::filesystem::path& file, const Seal& seal) {
  std::ifstream content(file, std::ios::binary);
  const auto [checksum, whole] = checksum_of_next(content, std::filesystem::file_size(file));
  if (!whole) throw UserError(file.string() + ": cannot be read");
  std::ofstream end(file, std::ios::binary | std::ios::app);
  end << text_of(seal, checksum);
  end.close();
  if (!end) throw UserError("{}: cannot be written: {}", file.string(), std::strerror(errno));
}

bool is_file_sealed(const std::filesystem::path& file, const Seal& seal) {
  const std::string end = end_of(file, size_of(seal));
  if (end.size() < size_of(seal)) return false;
  std::ifstream stream(file, std::ios::binary);
  const auto [checksum, whole] = checksum_of_next(stream, std::filesystem::file_size(file) - end.size());
  return whole && end == text_of(seal, checksum);
}

bool has_seal(const std::filesystem::path& file, const Seal& seal) {
  const std::string end = end_of(file, size_of(seal));
  return end.size() == size_of(seal) && end.starts_with(seal.before) && end.ends_with(seal.after);
}

std::string sealed_json(const Json& object, int indent) {
  std::string text = object.dump(indent, ' ', false, Json::error_handler_t::replace);
  text.pop_back();
  while (text.back() == '\n') text.pop_back();
  return sealed(std::move(text), kJsonSeal);
}

std::optional<Json> unsealed_json(const std::string& text) {
  if (!is_sealed(text, kJsonSeal)) return {};
  Json json = Json::parse(text);
  json.erase(kChecksum);
  return json;
}

Json shallow_json(const std::string& text) {
  const auto shallow = [](int depth, Json::parse_event_t, Json&) { return depth < kDeepest; };
  Json json = Json::parse(text, shallow, /*allow_exceptions=*/false);
  return json.is_discarded() ? Json() : json;
}

}  // namespace faultline::runs
