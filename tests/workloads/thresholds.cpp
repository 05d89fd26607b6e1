// SPDX-License-Identifier: Apache-2.0
// V16: with linear costs, the length from which on registering a buffer beats copying it is UCX's closed form. It is
// found by bisection of simulated times, and compared with the form of the parameters.
#include <catch2/catch.hpp>

#include "tests/support/point.hpp"

using namespace faultline::test;

namespace {

constexpr double kRegistration = 16'000'000;     // ps: UCX's MEM_REG_OVERHEAD, 16 us
constexpr double kRegistrationOfPage = 246'000;  // ps: MEM_REG_GROWTH, 0.06 ns a byte, of 4 KiB
constexpr std::int64_t kPage = 4096;

struct Machine {
  std::string link_rate;
  std::int64_t copy_rate;  // MiB/s: of UCX's newer protocols 7000, of the older ones 5800
  double ps_a_copied_byte() const { return 1e12 / (static_cast<double>(copy_rate) * 1048576); }
};

// Without what software costs beside copies and registrations. ps until the sender may use its memory again.
double send_time(const std::string& strategy, const std::string& way, std::int64_t bytes, const Machine& machine) {
  const std::string& rate = machine.link_rate;
  const Settings linear = {{"workload.kind", "send-receive"},
                           {"workload.size", std::to_string(bytes) + " B"},
                           {"workload.iterations", 2},
                           {"workload.warmup", 2},
                           {"os.rlimit_memlock", "1 GiB"},
                           {"os.copy_bandwidth", std::to_string(machine.copy_rate) + " MiB/s"},
                           {"os.syscall", "0 ns"},
                           {"os.pin_fixed", "16 us"},
                           {"os.gup_per_page", "246 ns"},
                           {"os.unpin_per_page", "0 ns"},
                           {"messages.slot_bytes", "1 MiB"},
                           {"messages.call", "0 ns"},
                           {"messages.match", "0 ns"},
                           {"exanest_library.post", "0 ns"},
                           {"exanest_library.completion", "0 ns"},
                           {"exanest_library.message_send", "0 ns"},
                           {"exanest_library.message_receive", "0 ns"},
                           {"messages.way", way}};
  const Settings wide = {{"network.internal_rate", rate},  {"network.external_rate", rate},
                         {"network.injection_cells", 256}, {"axi.width", "128 B"},
                         {"axi.pl_clock", "600 MHz"},      {"axi.outstanding_reads", 256},
                         {"axi.outstanding_writes", 256},  {"ddr.peak_bandwidth", "400 GB/s"},
                         {"exanest.cell_buffer", 256},     {"exanest.block_bytes", "64 KiB"}};
  return static_cast<double>(run(linear + wide + preset(strategy)).ps("send_mean"));
}

}  // namespace

TEST_CASE("thresholds: with linear costs registering pays from the closed form on, by bisection") {
  const Machine machines[] = {{"200 Gb/s", 7000}, {"400 Gb/s", 7000}, {"200 Gb/s", 5800}, {"400 Gb/s", 5800}};
  for (const Machine& machine : machines) {
    INFO(machine.link_rate << ", copies at " << machine.copy_rate << " MiB/s");
    // What the link gives, and what a rendezvous takes longer than a copy where neither copies nor registers.
    const double wire = (send_time("resident", "rendezvous-write", 128 * kPage, machine) -
                         send_time("resident", "rendezvous-write", 64 * kPage, machine)) /
                        (64 * kPage);
    const double nominal = 8e12 / (machine.link_rate == "200 Gb/s" ? 200e9 : 400e9);
    CHECK(wire > nominal);
    CHECK(wire < 1.3 * nominal);
    const double copy = machine.ps_a_copied_byte();
    const double handshake = send_time("resident", "rendezvous-write", kPage, machine) -
                             send_time("resident", "eager", kPage, machine) - kPage * (wire - copy);
    const double form = (kRegistration + handshake) / (copy - wire - kRegistrationOfPage / static_cast<double>(kPage));
    std::int64_t copies = 1;
    std::int64_t registers = 256;
    const auto registering_pays = [&](std::int64_t pages) {
      return send_time("pin-per-transfer", "rendezvous-write", pages * kPage, machine) <
             send_time("pin-per-transfer", "eager", pages * kPage, machine);
    };
    REQUIRE(!registering_pays(copies));
    REQUIRE(registering_pays(registers));
    while (registers - copies > 1) {
      const std::int64_t middle = (copies + registers) / 2;
      (registering_pays(middle) ? registers : copies) = middle;
    }
    INFO("closed form " << form / 1024 << " KiB, wire " << wire << " ps/B, handshake " << handshake << " ps");
    CHECK(static_cast<double>(registers * kPage) > 0.97 * form);
    CHECK(static_cast<double>(copies * kPage) < 1.03 * form);
  }
}

TEST_CASE("thresholds: on a link on which a byte costs more than its copy registering never pays") {
  const Machine machine{"100 Gb/s", 7000};
  double lag = 0;
  for (const std::int64_t pages : {1, 16, 64, 256}) {
    INFO(pages);
    const double now = send_time("pin-per-transfer", "rendezvous-write", pages * kPage, machine) -
                       send_time("pin-per-transfer", "eager", pages * kPage, machine);
    CHECK(now > lag);  // and the longer the message the less
    lag = now;
  }
}
