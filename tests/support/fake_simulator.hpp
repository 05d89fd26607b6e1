// SPDX-License-Identifier: Apache-2.0
// A machine with a dozen parameters whose "simulation" is arithmetic, so that the application can be
// tested without the real one, and its messages word for word.
#pragma once

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include "src/experiment/simulator.hpp"
#include "tests/support/fake_story.hpp"
#include "tests/support/sandbox.hpp"
#include "tests/support/source_tree.hpp"

namespace faultline::test {

using namespace std::chrono_literals;

enum class Prepare { nothing, touch, pin, ideal };
enum class OnFault { stall, terminate };
enum class Resolve { touch_a_page, touch_ahead };
enum class Kind { write, read };

struct FakeConfiguration {
  sim::BitRate link_rate{10'000'000'000};
  sim::Time link_latency = 120ns;
  unsigned cores = 4;
  Kind kind = Kind::write;
  std::uint64_t size = 4096;
  unsigned iterations = 100;
  double cold_share = 0;
  Prepare prepare = Prepare::nothing;
  OnFault on_fault = OnFault::stall;
  Resolve resolve = Resolve::touch_a_page;
  unsigned touch_ahead_pages = 4;
  std::string label;

  void declare(sim::ParameterTable& table) {
    using sim::Standing;
    {
      const auto group = table.group("network");
      table.add_bit_rate("internal_rate", link_rate, {{1'000'000'000}, {100'000'000'000}},
                         {"line rate", "a paper", Standing::published});
      table.add_time("internal_latency", link_latency, {1ns, 1us},
                     {"per hop", "", Standing::assumed, {"10 ns", "1 us"}});
    }
    table.add_count("cpu.cores", cores, {1, 8}, {"cores of a node", "UG1085", Standing::published});
    {
      const auto group = table.group("workload");
      table.add_choice("kind", kind, {{"write", Kind::write}, {"read", Kind::read}}, {"what is done", "", {}});
      table.add_bytes("size", size, {1, 4 << 20}, {"bytes of a transfer", "", {}});
      table.add_count("iterations", iterations, {1, 10000}, {"measured transfers", "", {}});
      table.add_fraction("cold_share", cold_share, {0.0, 1.0}, {"share of absent pages", "", {}});
      table.add_text("label", label, {"anything", "", {}});
    }
    const auto group = table.group("strategy");
    table.add_choice(
        "registration", prepare,
        {{"nothing", Prepare::nothing}, {"touch", Prepare::touch}, {"pin", Prepare::pin}, {"ideal", Prepare::ideal}},
        {"before a transfer", "", {}});
    table.add_choice("on_destination_fault", on_fault, {{"stall", OnFault::stall}, {"terminate", OnFault::terminate}},
                     {"at a fault", "", {}});
    table.add_choice("resolve", resolve,
                     {{"touch-a-page", Resolve::touch_a_page}, {"touch-ahead", Resolve::touch_ahead}},
                     {"who brings the page", "", {}});
    table.add_count("touch_ahead_pages", touch_ahead_pages, {1, 512}, {"pages at a time", "", {}});
  }
};

// What a test makes a point do instead of its arithmetic; the label chooses.
inline void misbehave(const std::string& label) {
  if (label == "bug") throw std::logic_error("the queue is longer than itself");
  if (label == "no memory") throw std::bad_alloc();
  if (label == "crash") std::raise(SIGSEGV);
  if (label == "killed") std::raise(SIGKILL);
  // Again where a worker has written into it meanwhile.
  std::error_code not_empty;
  while (label == "removes the run" && std::filesystem::exists("o")) std::filesystem::remove_all("o", not_empty);
  if (label == "slow") std::raise(SIGSTOP);  // for ever
}

class FakeMachine : public experiment::Machine {
 public:
  FakeMachine() { configuration_.declare(table_); }
  sim::ParameterTable& parameters() override { return table_; }

  std::vector<workloads::Conflict> conflicts() const override {
    if (configuration_.prepare == Prepare::pin && configuration_.cold_share > 0) {
      return {{{"workload.cold_share", "strategy.registration"},
               "pinned pages cannot be cold",
               "set workload.cold_share to 0, or do not pin"}};
    }
    return {};
  }

  workloads::PointResult run(std::uint64_t seed, const workloads::Watch& watch) override {
    const FakeConfiguration& c = configuration_;
    misbehave(c.label);
    workloads::PointResult result;
    if (c.label == "full") {
      result.error = "node 1 has no memory left";
      result.error_keys = {"workload.size"};
      return result;
    }
    if (c.label == "refused" && c.size > 1024) {
      result.refused = "node 0 may not lock so much";
      return result;
    }
    if (watch.story) {
      result.story = story(watch.story->transfer);
      return result;
    }
    const double wire = static_cast<double>(c.link_rate.time_for(c.size).count()) / 1e6;
    const double latency = wire + static_cast<double>(c.link_latency.count()) / 1e6 + 0.1 / 3;
    const double faults = c.on_fault == OnFault::terminate ? static_cast<double>((c.size + 4095) / 4096) : 0;
    const double ahead = c.resolve == Resolve::touch_ahead ? (c.touch_ahead_pages - 4.0) / 2 : 0;
    result.metrics = {
        {"latency_min", latency, "us", "fastest"},
        {"latency_typical", latency + 30 * faults, "us", "median"},
        {"latency_mean", latency + (38 - ahead) * faults + (c.label == "noisy" ? static_cast<double>(seed) : 0), "us",
         "mean"},
        {"goodput", static_cast<double>(c.size) / latency, "MB/s", "payload per time"},
        {"faults", faults, "1", "faults"},
        {"pinned_bytes_peak", c.prepare == Prepare::pin ? static_cast<double>(c.size) : 0, "B", "pinned"}};
    result.breakdown = {{"post", "library", 1, c.iterations, "the user posts"},
                        {"wire", "link", wire, c.iterations, "cells move"}};
    const std::uint64_t half = c.iterations / 2;
    result.distributions = {{"latency",
                             "us",
                             "of the transfers",
                             c.iterations,
                             latency,
                             2 * latency,
                             {{latency, latency, half}, {2 * latency, 2 * latency, c.iterations - half}}}};
    if (c.label == "series") result.series = {{"faults", "1", "in the interval", 0.5, {1, 0, faults}}};
    if (c.size > 32768) result.notes = {"larger than a block"};
    result.draws = c.label != "exact";
    result.events = 1000 + (result.draws ? seed : 0);
    result.cell_hops = 500;
    result.simulated_ps = 1'000'000;
    if (watch.profile) result.profile = {{"sim::Part", 900, 100, 3'000'000}, {"event loop", 0, 1, 1'000'000}};
    if (watch.trace) {
      std::ofstream(watch.trace->perfetto) << "trace of " << c.size << " B\n";
      result.traced = watch.trace->perfetto + ": 1 slice";
      if (c.label == "full disk") result.traced = workloads::kTraceFailed + watch.trace->perfetto + ": no space";
    }
    // Every other seed meets a fault, which takes 8 of its us.
    if (c.label == "noisy" && seed % 2 == 0)
      result.breakdown.insert(result.breakdown.begin() + 1, {"fault", "os", 8, 1, ""});
    if (c.label == "fails at 2" && seed == 2) throw std::logic_error("the queue is longer than itself");
    if (c.label == "loses") {  // where faults end transfers: two of them, of the second seed three
      result.metrics.push_back({"transfers", static_cast<double>(c.iterations), "1", "transfers"});
      result.metrics.push_back({"transfers_failed", faults == 0 ? 0 : seed == 2 ? 3.0 : 2.0, "1", "that failed"});
    }
    if (c.label == "wrong data") result.failed_checks.push_back("data at the destination differ");
    return result;
  }

 private:
  // Labels choose what becomes of the transfer.
  std::string story(std::uint64_t transfer) const {
    const FakeConfiguration& c = configuration_;
    if (transfer > c.iterations)
      return nlohmann::json{{"outcome", "not begun"}, {"begun", c.iterations}, {"why", ""}}.dump();
    FakeStory told{.number = transfer == 0 ? 1 : transfer, .bytes = c.size, .why = ""};
    told.faults = c.on_fault == OnFault::terminate;
    told.tries = c.label == "retries" ? 6 : 1;
    if (c.label == "never ends") {
      told.outcome = "unfinished";
      told.why = "not finished after 1 s";
    }
    return told.json().dump();
  }

  FakeConfiguration configuration_;
  sim::ParameterTable table_;
};

class FakeSimulator : public experiment::Simulator {
 public:
  std::unique_ptr<experiment::Machine> machine() const override { return std::make_unique<FakeMachine>(); }
  std::vector<workloads::WorkloadDoc> workload_docs() const override {
    return {{"write", "RDMA write"}, {"read", "RDMA read"}};
  }
  std::vector<workloads::MetricDoc> metric_docs() const override {
    return {{"latency_min", "us", "fastest"},        {"latency_typical", "us", "median"},
            {"latency_mean", "us", "mean"},          {"latency_p99", "us", "99th percentile"},
            {"goodput", "MB/s", "payload per time"}, {"faults", "1", "faults"},
            {"pinned_bytes_peak", "B", "pinned"}};
  }
  std::vector<workloads::StepDoc> step_docs() const override {
    return {{"post", "the user posts", "cpu.cores"}, {"wire", "cells move", "network.internal_latency"}};
  }
};

}  // namespace faultline::test
