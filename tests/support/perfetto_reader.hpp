// SPDX-License-Identifier: Apache-2.0
// Reads a Perfetto trace as trace_processor does: packets, interned names, tracks; slices by begin and end in the order
// of their times. Whatever does not hold together throws.
#pragma once

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <map>
#include <protozero/pbf_reader.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace faultline::test {

struct PerfettoTrack {
  std::uint64_t parent = 0;
  std::string name;
  bool is_process = false;
  bool is_counter = false;
  std::uint64_t unit = 0;
  std::int64_t pid = -1;   // of a process
  std::int64_t rank = -1;  // among its siblings
};

struct PerfettoEvent {
  std::uint64_t at = 0;  // ns
  int type = 0;          // 1 begin, 2 end, 3 instant, 4 counter
  std::uint64_t track = 0;
  std::string name;
  std::string category;
  std::int64_t value = 0;
  std::map<std::string, std::uint64_t> arguments;  // numbers and addresses
  std::map<std::string, std::string> texts;        // arguments that are words
  std::vector<std::uint64_t> flows;
  std::vector<std::uint64_t> ending;
};

struct PerfettoSlice : PerfettoEvent {
  std::uint64_t end = 0;  // ns
};

class PerfettoTrace {
 public:
  explicit PerfettoTrace(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    std::ostringstream text;
    text << stream.rdbuf();
    bytes = text.str();
    protozero::pbf_reader trace{bytes};
    while (trace.next()) {
      if (trace.tag() != 1) throw std::runtime_error("no packet");
      read_packet(trace.get_message());
    }
    make_slices();
  }

  std::string bytes;
  std::map<std::uint64_t, PerfettoTrack> tracks;
  std::vector<PerfettoEvent> events;  // in the order of the file
  std::vector<PerfettoSlice> slices;  // in the order of their ends

  // "node 0 / core 1"
  std::string path_of(std::uint64_t track) const {
    const PerfettoTrack& of = tracks.at(track);
    return of.parent == 0 ? of.name : path_of(of.parent) + " / " + of.name;
  }
  bool has_track(const std::string& path) const {
    return std::any_of(tracks.begin(), tracks.end(), [&](const auto& t) { return path_of(t.first) == path; });
  }
  // The slices of each flow, in the order in which arrows lead from one to the next.
  std::map<std::uint64_t, std::vector<PerfettoSlice>> flows() const {
    std::map<std::uint64_t, std::vector<PerfettoSlice>> all;
    for (const PerfettoSlice& slice : slices) {
      for (const std::uint64_t flow : slice.flows) all[flow].push_back(slice);
      for (const std::uint64_t flow : slice.ending) all[flow].push_back(slice);
    }
    for (auto& [flow, on] : all) {
      std::stable_sort(on.begin(), on.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
    }
    return all;
  }

 private:
  using Reader = protozero::pbf_reader;
  using Names = std::map<std::uint64_t, std::string>;

  void read_packet(Reader packet) {
    PerfettoEvent event;
    bool is_event = false;
    bool is_of_sequence = false;
    Reader body;
    while (packet.next()) {
      switch (packet.tag()) {
        case 8: event.at = packet.get_uint64(); break;
        case 10: is_of_sequence = packet.get_uint32() != 0; break;
        case 11:
          body = packet.get_message();
          is_event = true;
          break;
        case 12: read_names(packet.get_message()); break;
        case 13:
          if ((packet.get_uint32() & 1) != 0 && ++cleared_ > 1) throw std::runtime_error("state cleared twice");
          break;
        case 60: read_track(packet.get_message()); break;
        default: throw std::runtime_error("unknown field of a packet");
      }
    }
    if (!is_of_sequence || cleared_ != 1) throw std::runtime_error("a packet outside of its sequence");
    if (is_event) read_event(body, event);
  }

  void read_names(Reader data) {
    while (data.next()) {
      Names& names = names_[data.tag()];
      Reader entry = data.get_message();
      std::uint64_t number = 0;
      std::string text;
      while (entry.next()) {
        if (entry.tag() == 1) {
          number = entry.get_uint64();
        } else {
          text = entry.get_string();
        }
      }
      if (!names.emplace(number, text).second) throw std::runtime_error("a name's number twice");
    }
  }

  void read_track(Reader descriptor) {
    PerfettoTrack track;
    std::uint64_t uuid = 0;
    while (descriptor.next()) {
      switch (descriptor.tag()) {
        case 1: uuid = descriptor.get_uint64(); break;
        case 2: track.name = descriptor.get_string(); break;
        case 3:
          track.is_process = true;
          for (Reader process = descriptor.get_message(); process.next();) {
            if (process.tag() == 1) {
              track.pid = process.get_int32();
            } else {
              process.skip();
            }
          }
          break;
        case 12: track.rank = descriptor.get_int32(); break;
        case 5: track.parent = descriptor.get_uint64(); break;
        case 8: {
          track.is_counter = true;
          Reader counter = descriptor.get_message();
          while (counter.next(3)) track.unit = counter.get_uint64();
          break;
        }
        default: descriptor.skip();
      }
    }
    if (uuid == 0 || !tracks.emplace(uuid, track).second) throw std::runtime_error("a track's id twice, or none");
    if (track.parent != 0 && tracks.count(track.parent) == 0) throw std::runtime_error("a track before its parent");
  }

  void read_argument(Reader annotation, PerfettoEvent& event) const {
    std::string name;
    while (annotation.next()) {
      switch (annotation.tag()) {
        case 1: name = names_.at(3).at(annotation.get_uint64()); break;
        case 3:
        case 7: event.arguments[name] = annotation.get_uint64(); break;
        case 6: event.texts[name] = annotation.get_string(); break;
        default: throw std::runtime_error("unknown field of an argument");
      }
    }
  }

  void read_event(Reader body, PerfettoEvent event) {
    while (body.next()) {
      switch (body.tag()) {
        case 3: event.category = names_.at(1).at(body.get_uint64()); break;
        case 4: read_argument(body.get_message(), event); break;
        case 9: event.type = body.get_enum(); break;
        case 10: event.name = names_.at(2).at(body.get_uint64()); break;
        case 11: event.track = body.get_uint64(); break;
        case 23: event.name = body.get_string(); break;
        case 30: event.value = body.get_int64(); break;
        case 47: event.flows.push_back(body.get_fixed64()); break;
        case 48: event.ending.push_back(body.get_fixed64()); break;
        default: throw std::runtime_error("unknown field of an event");
      }
    }
    if (tracks.at(event.track).is_counter != (event.type == 4)) throw std::runtime_error("counters hold values alone");
    events.push_back(event);
  }

  void make_slices() {
    std::vector<PerfettoEvent> sorted = events;
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
    std::map<std::uint64_t, std::vector<PerfettoEvent>> open;
    for (const PerfettoEvent& event : sorted) {
      auto& stack = open[event.track];
      if (event.type == 1) stack.push_back(event);
      if (event.type != 2) continue;
      if (stack.empty()) throw std::runtime_error("the end of no slice on " + path_of(event.track));
      PerfettoSlice slice;
      static_cast<PerfettoEvent&>(slice) = stack.back();
      slice.end = event.at;
      slices.push_back(slice);
      stack.pop_back();
    }
    for (const auto& [track, stack] : open) {
      if (!stack.empty()) throw std::runtime_error("a slice without an end on " + path_of(track));
    }
  }

  int cleared_ = 0;
  std::map<unsigned, Names> names_;  // by field of InternedData
};

}  // namespace faultline::test
