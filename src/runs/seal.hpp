// SPDX-License-Identifier: Apache-2.0
// Seals: a file of a run folder ends with a checksum of all that stands before it, so that damage is seen and not
// believed. The checksum is CRC-32 as zlib has it (and Python's zlib.crc32): it sees every change of up to 32 bits in a
// row, and misses one in four billion of any other.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace faultline::runs {

// The text before and after the eight digits. A seal has the same length in every file of its kind.
struct Seal {
  std::string_view before;
  std::string_view after;
};
inline constexpr const char* kChecksum = "checksum";
inline constexpr Seal kJsonSeal{",\n\"checksum\": \"", "\"}\n"};  // the object's last member
inline constexpr Seal kTomlSeal{"# checksum ", "\n"};             // a comment, the last line
inline constexpr Seal kDatabaseSeal{"faultline checksum ", ""};   // behind the last page, where SQLite does not look

std::uint32_t checksum_of(std::string_view bytes, std::uint32_t of_what_comes_before = 0);
std::uint32_t checksum_of_file(const std::filesystem::path& file);  // as far as it can be read

// The text with its seal. Of JSON: an object's text but for the brace that ends it.
std::string sealed(std::string text, const Seal& seal);
bool is_sealed(std::string_view text, const Seal& seal);
// Of a file that need not fit in memory. Sealing throws UserError, with the reason, when it cannot be written; a file
// that cannot be read is not sealed.
void seal_file(const std::filesystem::path& file, const Seal& seal);
bool is_file_sealed(const std::filesystem::path& file, const Seal& seal);
// Whether the file ends with a seal at all, of whatever content.
bool has_seal(const std::filesystem::path& file, const Seal& seal);

// An object as a file's text; indent as nlohmann's dump() takes it.
std::string sealed_json(const nlohmann::ordered_json& object, int indent);
// The object without its checksum, as it was before. Nothing where the text is not as it was sealed.
std::optional<nlohmann::ordered_json> unsealed_json(const std::string& text);
// A text that may have no seal, as JSON; null where it is none. Levels below the third are left out: functions that
// walk JSON recurse, and the file may be anybody's.
nlohmann::ordered_json shallow_json(const std::string& text);

}  // namespace faultline::runs
