// SPDX-License-Identifier: Apache-2.0
#include "src/experiment/program_id.hpp"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <cstring>
#include <filesystem>

#include "faultline_build.hpp"

namespace faultline::experiment {
namespace {

constexpr std::size_t padded(std::size_t size) { return (size + 3) / 4 * 4; }

// Of the notes in a segment the one that holds the build-id, in hexadecimal.
std::string build_id_in(const char* note, std::size_t size) {
  for (std::size_t at = 0; at + sizeof(ElfW(Nhdr)) <= size;) {
    ElfW(Nhdr) header;
    std::memcpy(&header, note + at, sizeof(header));
    const char* name = note + at + sizeof(header);
    const char* content = name + padded(header.n_namesz);
    if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
      std::string text;
      for (std::size_t i = 0; i < header.n_descsz; ++i)
        text += fmt::format("{:02x}", static_cast<unsigned char>(content[i]));
      return text;
    }
    at += sizeof(header) + padded(header.n_namesz) + padded(header.n_descsz);
  }
  return {};
}

// The program itself comes first; its libraries do not matter.
int find_build_id(dl_phdr_info* info, std::size_t, void* found) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    auto& text = *static_cast<std::string*>(found);
    if (segment.p_type != PT_NOTE || !text.empty()) continue;
    text = build_id_in(reinterpret_cast<const char*>(info->dlpi_addr + segment.p_vaddr), segment.p_memsz);
  }
  return 1;
}

std::string find_program_id() {
  std::string id;
  dl_iterate_phdr(find_build_id, &id);
  if (!id.empty()) return id;
  std::error_code error;
  const auto built = std::filesystem::last_write_time("/proc/self/exe", error);
  return fmt::format("{} {} {}", build::kVersion, build::commit(), error ? 0 : built.time_since_epoch().count());
}

}  // namespace

const std::string& program_id() {
  static const std::string id = find_program_id();
  return id;
}

}  // namespace faultline::experiment
