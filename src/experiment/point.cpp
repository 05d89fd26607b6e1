// SPDX-License-Identifier: Apache-2.0
#include "src/experiment/point.hpp"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <boost/uuid/name_generator.hpp>
#include <boost/uuid/uuid_io.hpp>
#include <cstring>
#include <filesystem>
#include <stdexcept>

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

bool differ_by_strategy(const Point& a, const Point& b) {
  const auto same = [](const NamedText& x, const NamedText& y) { return x.name == y.name && x.text == y.text; };
  return a.strategy != b.strategy && a.seed == b.seed && std::ranges::equal(a.axes, b.axes, same);
}

std::string Point::label() const {
  std::string text = strategy;
  for (const NamedText& axis : axes) {
    const std::string* label = label_on(axis);
    text += fmt::format(", {} = {}", axis.name, label == nullptr ? axis.text : *label);
  }
  return repeated ? text + fmt::format(", seed {}", seed) : text;
}

const std::string* Point::label_on(const NamedText& axis) const {
  return labels == nullptr ? nullptr : find_label(*labels, axis.name, axis.text);
}

std::vector<NamedText> Point::parameters() const {
  std::vector<NamedText> all = axes;
  if (changed != nullptr) all.insert(all.end(), changed->begin(), changed->end());
  return all;
}

const std::string* Point::find(const std::string& parameter) const {
  const auto in = [&](const std::vector<NamedText>& list) -> const std::string* {
    const auto found = std::ranges::find(list, parameter, &NamedText::name);
    return found == list.end() ? nullptr : &found->text;
  };
  const std::string* text = in(axes);
  return text != nullptr || changed == nullptr ? text : in(*changed);
}

std::string configuration_text(const sim::ParameterTable& parameters) {
  std::string text;
  // The whole configuration, not what differs from the defaults: those change with the program, too.
  std::vector<std::string> of_programs;  // which are declared in the order in which somebody asks for them
  for (const sim::Parameter& parameter : parameters.all()) {
    const bool of_program = parameter.initial == sim::ParameterTable::kInherited;
    const std::string value = parameter.get();
    if (of_program && value == parameter.initial) continue;
    std::string& into = of_program ? of_programs.emplace_back() : text;
    into += parameter.name;
    into += " = ";
    into += value;
    into += '\n';
  }
  std::ranges::sort(of_programs);
  for (const std::string& line : of_programs) text += line;
  return text;
}

std::string content_id(const std::string& configuration, std::uint64_t seed) {
  const std::string text = fmt::format("{}\nseed = {}\n{}", program_id(), seed, configuration);
  return to_string(boost::uuids::name_generator_sha1(boost::uuids::ns::oid())(text));
}

void apply_checked(const Settings& settings, sim::ParameterTable& parameters) {
  Diagnostics diagnostics;
  apply(settings, parameters, diagnostics);
  if (!diagnostics.empty()) throw std::logic_error("a checked value was refused: " + diagnostics.text());
}

std::unique_ptr<Machine> configure(const Point& point, const Simulator& simulator) {
  auto machine = simulator.machine();
  for (const auto& layer : point.settings) apply_checked(*layer, machine->parameters());
  return machine;
}

const Setting* deciding(const Settings& settings, const std::string& key) {
  const auto it = std::find_if(settings.rbegin(), settings.rend(), [&](const Setting& s) { return s.key == key; });
  return it == settings.rend() ? nullptr : &*it;
}

const Setting* deciding(const SettingLayers& layers, const std::string& key) {
  for (std::size_t i = layers.size(); i-- > 0;) {
    if (const Setting* setting = deciding(*layers[i], key)) return setting;
  }
  return nullptr;
}

const std::string& program_id() {
  static const std::string id = find_program_id();
  return id;
}

}  // namespace faultline::experiment
