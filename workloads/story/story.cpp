// SPDX-License-Identifier: Apache-2.0
#include "workloads/story/story.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/algorithm/string/classification.hpp>
#include <boost/algorithm/string/split.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "models/network/tracks.hpp"
#include "models/sim/units.hpp"
#include "models/trace/resend_text.hpp"
#include "workloads/story/telling.hpp"

namespace faultline::workloads {
namespace {

using Json = nlohmann::ordered_json;
using sim::Mark;
using sim::Scope;
using sim::StepRecord;
using sim::Time;
using Outcome = StoryRecorder::Outcome;

constexpr std::uint32_t kProgramRank = 0;
constexpr std::uint32_t kWorkersRank = 1;
constexpr std::uint32_t kTracksRank = 1000;

std::vector<std::string> list_of(std::string_view parameters) {
  std::vector<std::string> list;
  if (parameters.empty()) return list;
  boost::split(list, parameters, boost::is_any_of(","));
  for (std::string& each : list) each.erase(0, each.find_first_not_of(' '));
  return list;
}

std::string_view text_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::done: return "done";
    case Outcome::failed: return "failed";
    case Outcome::refused: return "refused";
    case Outcome::unfinished: return "unfinished";
    case Outcome::not_begun: return "not begun";
  }
  return "";
}

class Writer {
 public:
  Writer(const StoryRecorder& recorder, const platform::Cluster& cluster, const StoryFacts& facts)
      : facts_(facts),
        recorder_(recorder),
        cluster_(cluster),
        telling_(recorder, cluster.life()),
        post_(telling_.chain().empty() ? recorder.begin().at : telling_.chain().front().at) {}

  Json story();

 private:
  // From top to bottom: the node that has the source, the other end, routers; of each the program, workers, tracks.
  using Lane = std::tuple<std::uint32_t, std::uint32_t, std::string>;  // node, rank, name

  std::int64_t at(Time time) const { return (time - post_).count(); }
  std::size_t lane(sim::NodeId node, std::uint32_t rank, const std::string& name);
  Json& event(std::size_t lane, Time from, Time to, std::string_view kind);
  void add_program();
  void add_steps();
  void add_slices();
  void add_faults(const std::vector<Told>& told);
  std::string track_name(const sim::Track& track) const;
  std::string cut() const;
  Json buffers() const;
  Json lanes(std::vector<std::size_t>& place) const;
  Json keys(Json& state, Json& changes) const;

  const StoryFacts& facts_;
  const StoryRecorder& recorder_;
  const platform::Cluster& cluster_;
  const Telling telling_;
  const Time post_;
  std::map<Lane, std::size_t> lane_numbers_;
  std::vector<Json> events_;
};

std::size_t Writer::lane(sim::NodeId node, std::uint32_t rank, const std::string& name) {
  return lane_numbers_.try_emplace({node, rank, name}, lane_numbers_.size()).first->second;
}

Json& Writer::event(std::size_t lane, Time from, Time to, std::string_view kind) {
  return events_.emplace_back(Json{{"lane", lane}, {"from", at(from)}, {"to", at(to)}, {"kind", kind}});
}

// What the program does, as far as it waits for it.
void Writer::add_program() {
  const sim::TransferBegin& begin = recorder_.begin();
  const std::size_t on = lane(begin.initiator.node, kProgramRank, "program");
  const auto add = [&](Time from, Time to, std::string_view label, std::string_view text) {
    if (from == to) return;
    Json& made = event(on, from, to, "program");
    made["label"] = label;
    made["text"] = text;
  };
  if (telling_.chain().empty()) return add(begin.at, recorder_.end(), "message", "The program sends a small message.");
  const Time posted = telling_.chain().size() > 1 ? telling_.chain()[1].at : recorder_.end();
  const Time back = std::max(posted, telling_.chain().back().at);
  if (facts_.of_messages) {
    add(begin.at, posted, "post", "The program's library posts the transfer, in a call that sends, receives or waits.");
    add(posted, back, "under way",
        "The program goes on. Its library looks whether the transfer is over when it waits.");
    return add(back, recorder_.end(), "take", "The library takes the transfer's end, and releases what was prepared.");
  }
  add(begin.at, post_, "prepare", "The program has the buffers prepared, its own and, by messages, the other end's.");
  add(post_, posted, "post", "The program posts the transfer.");
  add(posted, back, "wait", "The program waits until the transfer is over.");
  if (recorder_.outcome() == Outcome::done)
    add(back, recorder_.end(), "release", "The program releases what it has prepared.");
}

void Writer::add_steps() {
  std::map<std::uint32_t, Time> last_of_part;
  Time last_of_transfer = post_;
  const auto& chain = telling_.chain();
  for (const StepRecord& record : recorder_.steps()) {
    const sim::StepInfo& info = *record.step.operator->();
    if (info.mark == Mark::told_as_fault || info.phase.worker == sim::Worker()) continue;
    Time from = telling_.began(record);
    if (record.key.transfer != 0) {
      if (info.scope == Scope::transfer) from = last_of_transfer;
      if (info.scope == Scope::part) from = last_of_part.try_emplace(record.key.part, last_of_transfer).first->second;
    }
    if (info.phase.label.empty()) from = record.at;
    const auto own = std::find_if(chain.begin(), chain.end(), [&](const StepRecord& r) {
      return r.step == record.step && r.at == record.at && r.key == record.key;
    });
    const bool decides = own != chain.end() && record.key.transfer != 0;
    if (decides && own != chain.begin()) from = (own - 1)->at;
    const auto idle = std::ranges::find_if(telling_.idle(), [&](const IdleStep& one) {
      return one.record.step == record.step && one.record.at == record.at && one.record.key == record.key;
    });
    if (idle != telling_.idle().end()) from = idle->since;
    Json& made = event(lane(record.node, kWorkersRank + info.phase.worker->rank, std::string(info.phase.worker->name)),
                       from, record.at, from == record.at ? "instant" : "step");
    made["label"] = label_of(record.step) + trace::resend_text(record.key.attempt);
    made["text"] = info.told;
    made["cost"] = list_of(cluster_.life().parameters(info.phase));
    made["part"] = record.key.part;
    made["attempt"] = record.key.attempt;
    made["main"] = decides;
    if (record.key.transfer == 0) continue;
    if (info.scope == Scope::transfer) last_of_transfer = record.at;
    if (info.scope == Scope::part) last_of_part[record.key.part] = record.at;
    if (info.mark == Mark::part_over) last_of_transfer = std::max(last_of_transfer, record.at);
  }
}

std::string Writer::track_name(const sim::Track& track) const {
  const std::string_view name = track.kind->name;
  if (track.kind->shape != sim::Shape::link) return fmt::format(fmt::runtime(name), track.number);
  for (const network::Link& link : cluster_.topology().links()) {
    const auto of = [&](std::uint32_t id) {
      return fmt::format("{} {}", id < cluster_.size() ? "node" : "router", id);
    };
    if (link.a == track.node && link.a_port == track.number) return fmt::format(fmt::runtime(name), of(link.b));
    if (link.b == track.node && link.b_port == track.number) return fmt::format(fmt::runtime(name), of(link.a));
  }
  return std::string(name);
}

void Writer::add_slices() {
  for (const StoryRecorder::Slice& slice : recorder_.slices()) {
    const std::size_t on = lane(slice.track.node, kTracksRank + 100 * slice.track.kind->rank + slice.track.number,
                                track_name(slice.track));
    Json& made = event(on, slice.begin, slice.end, "slice");
    const bool others = slice.key.transfer != 0 && slice.key.transfer != recorder_.transfer();
    made["label"] = others ? slice.name + " (another transfer)" : slice.name;
    made["text"] = slice.category;
    if (slice.key.transfer != 0) {
      made["part"] = slice.key.part;
      made["attempt"] = slice.key.attempt;
    }
  }
}

void Writer::add_faults(const std::vector<Told>& told) {
  for (const Told& one : told) {
    if (!one.is_fault) continue;
    Json& made = event(lane(one.node, kTracksRank - 1, "page faults of the device"), one.at, one.at, "fault");
    made["label"] = "page fault";
    made["text"] = one.text;
    made["fault"] = true;
  }
}

std::string Writer::cut() const {
  std::string text;
  if (recorder_.left_out() > 0)
    text = fmt::format("The record was full: {} slices and steps are left out. ", recorder_.left_out());
  for (const WatchedBuffer& buffer : recorder_.pages().buffers()) {
    if (buffer.left_out == 0) continue;
    text += fmt::format("Of the {}'s pages the first {} are watched, {} are not. ",
                        buffer.source ? "source" : "destination", buffer.pages.size(), buffer.left_out);
  }
  if (!text.empty()) text.pop_back();
  return text;
}

Json Writer::buffers() const {
  Json list = Json::array();
  for (const WatchedBuffer& buffer : recorder_.pages().buffers()) {
    Json pages = Json::array();
    for (const std::uint64_t page : buffer.pages) pages.push_back(fmt::format("{:#x}", page));
    list.push_back({{"end", buffer.source ? "source" : "destination"},
                    {"node", buffer.node},
                    {"process", buffer.name},
                    {"asid", buffer.process},
                    {"address", fmt::format("{:#x}", buffer.address)},
                    {"bytes", buffer.bytes},
                    {"va_bits", buffer.va_bits},
                    {"table", buffer.table},
                    {"page_count", buffer.pages.size() + buffer.left_out},
                    {"pages", std::move(pages)}});
  }
  return list;
}

// `place`: of each lane that events name.
Json Writer::lanes(std::vector<std::size_t>& place) const {
  Json list = Json::array();
  place.resize(lane_numbers_.size());
  const auto& buffers = recorder_.pages().buffers();
  const sim::NodeId first = buffers.empty() ? recorder_.begin().initiator.node : buffers.front().node;
  for (const bool of_first : {true, false}) {
    for (const auto& [key, number] : lane_numbers_) {
      const auto& [node, rank, name] = key;
      if ((node == first) != of_first) continue;
      place[number] = list.size();
      list.push_back({{"node", node}, {"name", name}});
      if (node >= cluster_.size()) list.back()["router"] = true;
    }
  }
  return list;
}

Json Writer::keys(Json& state, Json& changes) const {
  const PageWatch& pages = recorder_.pages();
  Json list = Json::array();
  for (std::size_t i = 0; i < pages.keys().size(); ++i) {
    const WatchedKey& key = pages.keys()[i];
    list.push_back({{"key", key.text()},
                    {"group", key.group},
                    {"end", key.source ? "source" : "destination"},
                    {"page", key.page ? Json(*key.page) : Json()},
                    {"name", key.name}});
    state[key.text()] = pages.at_first()[i];
  }
  for (const WatchedChange& change : pages.changes()) {
    if (change.at > recorder_.end()) continue;
    changes.push_back({{"at", at(change.at)},
                       {"key", pages.keys()[change.key].text()},
                       {"from", change.from},
                       {"to", change.to},
                       {"text", change.by.empty() ? "" : "by " + change.by}});
  }
  return list;
}

Json Writer::story() {
  const sim::TransferBegin& begin = recorder_.begin();
  const bool message = begin.initiator.address == 0;
  const std::vector<Told> told = telling_.told();
  add_program();
  add_steps();
  add_slices();
  add_faults(told);
  std::stable_sort(events_.begin(), events_.end(), [](const Json& a, const Json& b) { return a["from"] < b["from"]; });
  std::vector<std::size_t> place;
  Json made{{"number", recorder_.number()},
            {"planned", facts_.planned},
            {"operation", message       ? "message"
                          : begin.reads ? "read"
                                        : "write"},
            {"bytes", begin.bytes},
            {"of_message", facts_.of_messages && !message},
            {"initiator", begin.initiator.node},
            {"target", begin.target.node},
            {"outcome", text_of(recorder_.outcome())},
            {"why", facts_.why},
            {"begin", at(begin.arrived)},
            {"post", 0},
            {"end", at(recorder_.end())},
            {"cut", cut()},
            {"buffers", buffers()},
            {"lanes", lanes(place)}};
  for (Json& event : events_) event["lane"] = place[event["lane"]];
  made["events"] = std::move(events_);
  Json state = Json::object();
  Json changes = Json::array();
  made["keys"] = keys(state, changes);
  made["state"] = std::move(state);
  made["changes"] = std::move(changes);
  const double all = static_cast<double>((recorder_.end() - begin.arrived).count());
  for (const CauseOfTime& cause : telling_.causes()) {
    made["totals"].push_back({{"cause", cause.cause},
                              {"ps", cause.time.count()},
                              {"share", all > 0 ? 100 * static_cast<double>(cause.time.count()) / all : 0},
                              {"steps", Json::array()}});
    for (const auto& [step, time] : cause.steps)
      made["totals"].back()["steps"].push_back({{"step", step}, {"ps", time.count()}});
  }
  made["told"] = Json::array();
  for (const Told& one : told) {
    made["told"].push_back({{"at", at(one.at)},
                            {"took", one.took.count()},
                            {"node", one.node},
                            {"who", one.who},
                            {"label", one.label},
                            {"text", one.text},
                            {"cost", list_of(one.cost)},
                            {"attempt", one.attempt},
                            {"fault", one.is_fault}});
  }
  return made;
}

}  // namespace

std::string story_json(const StoryRecorder& recorder, const platform::Cluster& cluster, const StoryFacts& facts) {
  if (recorder.outcome() == Outcome::not_begun) {
    return Json{{"outcome", text_of(Outcome::not_begun)}, {"begun", recorder.begun()}, {"why", facts.why}}.dump();
  }
  return Writer(recorder, cluster, facts).story().dump();
}

}  // namespace faultline::workloads
