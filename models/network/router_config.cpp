// SPDX-License-Identifier: Apache-2.0
#include "models/network/router.hpp"

namespace faultline::network {

using namespace sim;

namespace {

BitRate data_rate(BitRate line, LineCoding coding) {
  switch (coding) {
    case LineCoding::none: return line;
    case LineCoding::b64_66: return {line.bits_per_second * 64 / 66};
    case LineCoding::b8_10: return {line.bits_per_second * 8 / 10};
  }
  return line;
}

void declare_links(RouterConfig& c, ParameterTable& table) {
  // Not 0: what the routers at both ends decide at one instant would have no order.
  const Range<Time> latencies{Time{1}, kAnyTime.high};
  const std::initializer_list<std::pair<std::string_view, LineCoding>> codings{
      {"none", LineCoding::none}, {"64b/66b", LineCoding::b64_66}, {"8b/10b", LineCoding::b8_10}};
  table.add_bit_rate(
      "internal_rate", c.internal_rate, kAnyBitRate,
      {"link between MPSoCs of a QFDB, each direction", "ExaNeSt (ISC 2019): 16 Gb/s links", Standing::published});
  table.add_choice("internal_coding", c.internal_coding, codings,
                   {"line coding of these links; none: the rate is that of the data", "", Standing::setting});
  table.add_time("internal_latency", c.internal_latency, latencies,
                 {"transceivers and propagation of such a link, without the router behind it",
                  "assumed: ExaNeSt's link as recalled. Aurora 64B/66B would take 227 ns: 55 cycles (PG074) of 242 MHz",
                  Standing::assumed,
                  {"85 ns", "227 ns"}});
  table.add_bit_rate(
      "external_rate", c.external_rate, kAnyBitRate,
      {"link between QFDBs, each direction", "ExaNeSt prototype paper: 10 Gb/s external links", Standing::published});
  table.add_choice("external_coding", c.external_coding, codings,
                   {"line coding of these links; none: the rate is that of the data", "", Standing::setting});
  table.add_time("external_latency", c.external_latency, latencies,
                 {"transceivers and propagation of such a link, without the router behind it",
                  "assumed: as many cycles as internal_latency, of a clock that goes with the line rate: 242 MHz at "
                  "16 Gb/s, 156 MHz at 10.3 Gb/s. Aurora 64B/66B would take 352 ns: 55 cycles (PG074)",
                  Standing::assumed,
                  {"132 ns", "352 ns"}});
}

}  // namespace

void RouterConfig::declare(ParameterTable& table) {
  const auto group = table.group("network");
  declare_links(*this, table);
  table.add_time("router_latency", router_latency, kAnyTime,
                 {"pipeline of a router that a link leads to",
                  "assumed: ExaNeSt's router as recalled; with a link of 120 ns a hop is 265 ns",
                  Standing::assumed,
                  {"110 ns", "230 ns"}});
  table.add_time("injection_latency", injection_latency, kAnyTime,
                 {"pipeline of the own router that an injected cell crosses",
                  "the same pipeline as router_latency; fitted together with the message costs to the 1.3 us "
                  "one-way latency (ExaNeSt prototype)",
                  Standing::fitted,
                  {"110 ns", "230 ns"}});
  table.add_bytes("overhead", overhead, {0, 4096},
                  {"header and footer of a cell",
                   "ExaNet packet, recalled as 16 B + 16 B (plausible 16-48 B)",
                   Standing::assumed,
                   {"16 B", "48 B"}});
  table.add_count(
      "buffer_cells", buffer_cells, kAnyEntries,
      {"slots of an input queue, for each link and virtual channel",
       "assumed: 18 KiB of block RAM a queue (plausible 8-128 cells); from the 4 cells of a link's round trip "
       "on it bounds only how much backs up",
       Standing::assumed,
       {"8", "128"}});
  table.add_count(
      "injection_cells", injection_cells, kAnyEntries,
      {"slots of the router's queue for cells of its own NI, behind the NI's buffer",
       "assumed: as many as a link's queue (plausible 2-64 cells); fewer than 8 bare the send unit's pauses "
       "between blocks",
       Standing::assumed,
       {"2", "64"}});
  table.add_count(
      "virtual_channels", virtual_channels, {1, 64},
      {"virtual channels of a link; rings of 3 and more need 2, a dragonfly 2; with paths to choose from, an "
       "adaptive torus 4 and a dragonfly 3",
       "dateline routing on tori (Dally and Seitz 1987) needs 2",
       Standing::derived,
       {"2", "4"}});
}

sim::BitRate RouterConfig::internal_data_rate() const { return data_rate(internal_rate, internal_coding); }

sim::BitRate RouterConfig::external_data_rate() const { return data_rate(external_rate, external_coding); }

}  // namespace faultline::network
