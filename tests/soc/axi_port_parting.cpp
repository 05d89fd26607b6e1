// SPDX-License-Identifier: Apache-2.0
// Trains whose cells part behind the port (sim::Parted), against trains that were separate from the beginning, single
// cells, and the arithmetic of the port.
#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "models/soc/axi_port.hpp"
#include "tests/support/axi_mocks.hpp"
#include "tests/support/memory_master.hpp"

using namespace faultline;
using namespace faultline::sim;
using soc::AxiPort;
using soc::AxiPortConfig;
using test::AxiResponse;
using Fate = test::PartingMemory::Fate;

namespace {

constexpr std::uint32_t kCells = 16;
constexpr std::uint32_t kChanged = 12;  // the memory thinks again about those from here on that do not go as the first
constexpr std::uint32_t kKept = 14;     // the others are recalled, before they go
constexpr Time kGap = 150ns;
const Fate kSoon{500ns, tlm::TLM_OK_RESPONSE};
const Fate kLater{2011ns, tlm::TLM_ADDRESS_ERROR_RESPONSE};
const Fate kMuchLater{3307ns, tlm::TLM_GENERIC_ERROR_RESPONSE};
const Fate kOther{617ns, tlm::TLM_OK_RESPONSE};

// Cells of which those from `boundary` on meet another fate than the first ones, while others share the bus with them.
struct Story {
  bool write, parts_late, rest_is_sooner;
  std::uint32_t boundary;
  std::uint64_t address;
  Time begin;

  TimeSequence times() const { return TimeSequence::regular(begin, kGap, kCells); }
  // An initiator's writes come in turn: these still have the bus. Data of these reads come between.
  std::uint64_t others() const { return address + kPageBytes; }
  TimeSequence times_of_others() const {
    return TimeSequence::regular(write ? begin - 400ns : begin + 70ns, write ? 50ns : 300ns, 8);
  }
  // When some are recalled, and what takes the bus then.
  Time turn() const { return begin + kKept * kGap - Time{1}; }
  std::uint64_t next() const { return others() + kPageBytes; }
  TimeSequence times_of_next() const { return TimeSequence::regular(turn() + Time{1}, Time{0}, 2); }

  const Fate& fate_of_first() const { return rest_is_sooner ? kLater : kSoon; }
  const Fate& fate_of_rest() const { return rest_is_sooner ? kSoon : kLater; }
  std::uint32_t changed_from() const { return std::max(kChanged, boundary); }
};

// The cells that come, one after the other, when all is known.
std::vector<AxiResponse> expected(const AxiPortConfig& config, const Story& story) {
  struct Cell {
    std::uint64_t address;
    Time at;
    Fate fate;
  };
  std::vector<Cell> cells;
  for (std::uint32_t i = 0; i < kKept; ++i) {
    const Fate& fate = i < story.boundary ? story.fate_of_first() : story.fate_of_rest();
    cells.push_back(
        {story.address + i * kCellBytes, story.times().at(i), i < story.changed_from() ? fate : kMuchLater});
  }
  for (std::uint32_t i = 0; i < story.times_of_others().size(); ++i) {
    cells.push_back({story.others() + i * kCellBytes, story.times_of_others().at(i), kOther});
  }
  for (std::uint32_t i = 0; i < story.times_of_next().size(); ++i) {
    cells.push_back({story.next() + i * kCellBytes, story.times_of_next().at(i), kOther});
  }
  for (Cell& cell : cells) cell.at += story.write ? Time{0} : config.read_request_latency + cell.fate.latency;
  std::stable_sort(cells.begin(), cells.end(), [](const Cell& x, const Cell& y) { return x.at < y.at; });
  std::vector<AxiResponse> all;
  Time bus{0};
  for (const Cell& cell : cells) {
    bus = std::max(bus, cell.at) + config.burst_time(cell.address, kCellBytes);
    const Time way_back = story.write ? config.write_request_latency + cell.fate.latency + config.write_response_latency
                                      : config.read_return_latency;
    all.push_back({cell.address, bus + way_back, cell.fate.status});
  }
  std::sort(all.begin(), all.end(), [](const auto& x, const auto& y) { return x.address < y.address; });
  return all;
}

enum class Announced { whole, apart, singly };

class Bench {
 public:
  Bench(const std::string& name, Announced how)
      : loop_((name + "_loop").c_str()),
        context_{0, loop_, pool_, statistics, trace_, 1, kCells},
        how_(how),
        port_((name + "_port").c_str(), config, context_),
        reader_((name + "_reader").c_str(), context_),
        writer_((name + "_writer").c_str(), context_),
        memory_((name + "_memory").c_str(), context_) {
    reader_.socket.bind(port_.reads);
    writer_.socket.bind(port_.writes);
    port_.out.bind(memory_.in);
  }

  void begin(const Story& story) {
    sent_.clear();
    before_ = {statistics.value("axi.bytes_read"), statistics.value("axi.bytes_written"),
               statistics.value("axi.error_responses")};
    memory_.parts_late = story.parts_late;
    memory_.fates = {{story.address, story.fate_of_first()},
                     {story.address + story.boundary * kCellBytes, story.fate_of_rest()},
                     {story.others(), kOther}};
    announce(story.write, story.others(), story.times_of_others(), 0);
    // Nothing that is recalled altogether is announced, but as part of another train.
    const std::uint32_t cells = how_ == Announced::whole    ? kCells
                                : how_ == Announced::singly ? kKept
                                : story.boundary < kKept    ? kCells
                                                            : story.boundary;
    announce(story.write, story.address, story.times().prefix(cells), story.boundary);
  }
  void turn(const Story& story) {
    if (how_ != Announced::singly) recall(story);
    announce(story.write, story.next(), story.times_of_next(), 0);
    if (story.boundary < kKept) memory_.change(story.address + story.changed_from() * kCellBytes, kMuchLater);
  }

  std::vector<AxiResponse> responses() const {
    std::vector<AxiResponse> all;
    for (const auto& [begin, train] : sent_) {
      std::uint64_t address = begin;
      for (const auto* answer = train; answer != nullptr; answer = answer->rest) {
        for (std::uint32_t i = 0; i < answer->responses.size(); ++i, address += kCellBytes) {
          all.push_back({address, answer->responses.at(i), answer->statuses[i]});
        }
      }
    }
    return all;
  }
  // Bytes read, bytes written, error responses.
  std::vector<std::uint64_t> counted() const {
    return {statistics.value("axi.bytes_read") - before_[0], statistics.value("axi.bytes_written") - before_[1],
            statistics.value("axi.error_responses") - before_[2]};
  }

  const AxiPortConfig config;
  Statistics statistics;

 private:
  void announce(bool write, std::uint64_t address, const TimeSequence& times, std::uint32_t boundary) {
    for (std::uint32_t first = 0, end = 0; first < times.size(); first = end) {
      end = times.size();
      if (how_ == Announced::singly) end = first + 1;
      if (how_ == Announced::apart && first < boundary) end = boundary;
      const TimeSequence train = times.slice(first, end - first);
      const std::uint64_t at = address + first * kCellBytes;
      sent_[at] = write ? &writer_.write(at, train, kCellBytes, {}) : &reader_.read(at, train, kCellBytes);
    }
  }
  void recall(const Story& story) {
    const auto behind = sent_.lower_bound(story.others());
    const auto last = std::prev(behind);
    const auto before = static_cast<std::uint32_t>((last->first - story.address) / kCellBytes);
    (story.write ? writer_ : reader_).recall(*last->second, kKept - before);
  }

  EventLoop loop_;
  PayloadPool pool_;
  Trace trace_;
  Context context_;
  Announced how_;
  AxiPort port_;
  test::MemoryMaster reader_;
  test::MemoryMaster writer_;
  test::PartingMemory memory_;
  std::map<std::uint64_t, const test::MemoryMaster::Answer*> sent_;  // by address
  std::vector<std::uint64_t> before_;
};

void run_until(Time when) { sc_core::sc_start(to_sc_time(when) - sc_core::sc_time_stamp()); }

}  // namespace

TEST_CASE("a train that parts behind the port ends as trains that were separate from the beginning") {
  Bench whole("whole", Announced::whole), apart("apart", Announced::apart), singly("singly", Announced::singly);
  std::uint64_t address = 0;
  for (const bool write : {false, true}) {
    for (const int how : {0, 1, 2, 3}) {
      for (const std::uint32_t boundary : {1U, 5U, 11U, 15U}) {
        const Time now = from_sc_time(sc_core::sc_time_stamp());
        const Story story{write, how / 2 != 0, how % 2 != 0, boundary, address += 16 * kPageBytes, now + 10us};
        INFO("write " << write << ", late " << story.parts_late << ", rest sooner " << story.rest_is_sooner
                      << ", boundary " << boundary);
        run_until(story.begin - 1us);
        for (Bench* bench : {&whole, &apart, &singly}) bench->begin(story);
        run_until(story.turn());
        for (Bench* bench : {&whole, &apart, &singly}) bench->turn(story);
        run_until(story.begin + 50us);

        const std::vector<AxiResponse> wanted = expected(whole.config, story);
        const std::uint64_t bytes = wanted.size() * kCellBytes;
        const auto errors = static_cast<std::uint64_t>(std::count_if(
            wanted.begin(), wanted.end(), [](const AxiResponse& r) { return r.status != tlm::TLM_OK_RESPONSE; }));
        for (const Bench* bench : {&whole, &apart, &singly}) {
          CHECK(bench->responses() == wanted);
          CHECK(bench->counted() == std::vector{write ? 0 : bytes, write ? bytes : 0, errors});
        }
      }
    }
  }
}
