// SPDX-License-Identifier: Apache-2.0
// The traffic of traffic.hpp on ns-3: point-to-point devices without IP, packets forwarded by a static table.
// Only the links that a flow uses are there. The sender's device queues what its node hands over; a block is one
// event. Instants, links and lengths are those of our network to the picosecond.
#include <ns3/core-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>

#include <map>

#include "benchmarks/traffic.hpp"

using namespace faultline;

namespace {

constexpr std::uint16_t kProtocol = 0x0800;

// 256 B of payload of which four hold the destination: what a forwarding node looks at.
struct Address : ns3::Header {
  std::uint32_t destination = 0;
  static ns3::TypeId GetTypeId() {
    static const ns3::TypeId id = ns3::TypeId("faultline::Address").SetParent<ns3::Header>();
    return id;
  }
  ns3::TypeId GetInstanceTypeId() const override { return GetTypeId(); }
  std::uint32_t GetSerializedSize() const override { return 4; }
  void Serialize(ns3::Buffer::Iterator to) const override { to.WriteHtonU32(destination); }
  std::uint32_t Deserialize(ns3::Buffer::Iterator from) override {
    destination = from.ReadNtohU32();
    return 4;
  }
  void Print(std::ostream& os) const override { os << destination; }
};

struct Totals {
  std::uint64_t hops = 0;
  std::uint64_t delivered = 0;
  std::int64_t last = 0;
};

class Host {
 public:
  Host(unsigned id, Totals& totals) : id_(id), totals_(totals) {}
  void add_device(const ns3::Ptr<ns3::NetDevice>& device) {
    device->SetReceiveCallback(ns3::MakeCallback(&Host::receive, this));
  }
  void route(unsigned destination, const ns3::Ptr<ns3::NetDevice>& device) { way_[destination] = device; }
  void start(const bench::Flow& flow, std::uint32_t blocks) {
    flow_ = flow;
    blocks_ = blocks;
    ns3::Simulator::Schedule(ns3::PicoSeconds(flow.first), &Host::hand_over_block, this);
  }

 private:
  void hand_over_block() {
    for (std::uint32_t i = 0; i < bench::kCellsPerBlock; ++i) {
      auto packet = ns3::Create<ns3::Packet>(bench::kPayload - 4);
      Address address;
      address.destination = flow_.destination;
      packet->AddHeader(address);
      send(packet, flow_.destination);
    }
    if (--blocks_ > 0) ns3::Simulator::Schedule(ns3::PicoSeconds(flow_.period), &Host::hand_over_block, this);
  }
  void send(const ns3::Ptr<ns3::Packet>& packet, unsigned destination) {
    const ns3::Ptr<ns3::NetDevice>& device = way_.at(destination);
    device->Send(packet, device->GetBroadcast(), kProtocol);
  }
  bool receive(ns3::Ptr<ns3::NetDevice>, ns3::Ptr<const ns3::Packet> packet, std::uint16_t, const ns3::Address&) {
    ++totals_.hops;
    Address address;
    packet->PeekHeader(address);
    if (address.destination != id_) {
      send(packet->Copy(), address.destination);
      return true;
    }
    ++totals_.delivered;
    totals_.last = ns3::Simulator::Now().GetPicoSeconds();
    return true;
  }

  unsigned id_;
  Totals& totals_;
  std::map<unsigned, ns3::Ptr<ns3::NetDevice>> way_;
  bench::Flow flow_{};
  std::uint32_t blocks_ = 0;
};

// Hosts and links, made when the first flow needs them.
class Network {
 public:
  explicit Network(Totals& totals) : totals_(totals) {
    link_.SetDeviceAttribute("DataRate", ns3::DataRateValue(ns3::DataRate(bench::kLinkRate)));
    link_.SetChannelAttribute("Delay", ns3::TimeValue(ns3::PicoSeconds(bench::kLinkLatency)));
    link_.SetQueue("ns3::DropTailQueue", "MaxSize", ns3::StringValue("100000p"));
    link_.DisableFlowControl();
  }
  Host& host(unsigned id) {
    auto& entry = hosts_[id];
    if (!entry.host) {
      entry.node = ns3::CreateObject<ns3::Node>();
      entry.host = std::make_unique<Host>(id, totals_);
    }
    return *entry.host;
  }
  // A link, and that packets from a to the destination take it.
  void route(unsigned a, unsigned b, unsigned destination) {
    auto& devices = links_[{std::min(a, b), std::max(a, b)}];
    if (devices.GetN() == 0) {
      host(a);
      host(b);
      devices = link_.Install(hosts_[std::min(a, b)].node, hosts_[std::max(a, b)].node);
      host(std::min(a, b)).add_device(devices.Get(0));
      host(std::max(a, b)).add_device(devices.Get(1));
    }
    host(a).route(destination, devices.Get(a < b ? 0 : 1));
  }

 private:
  struct Entry {
    ns3::Ptr<ns3::Node> node;
    std::unique_ptr<Host> host;
  };
  Totals& totals_;
  ns3::PointToPointHelper link_;
  std::map<unsigned, Entry> hosts_;
  std::map<std::pair<unsigned, unsigned>, ns3::NetDeviceContainer> links_;
};

}  // namespace

int main(int argc, char** argv) {
  bench::Arguments arguments(argc, argv);
  const bench::TrafficArguments traffic(arguments);
  arguments.check();
  if (traffic.irregular) bench::refuse("ns-3 has links of one rate only");
  ns3::Time::SetResolution(ns3::Time::PS);

  Totals totals;
  Network network(totals);
  const std::vector<bench::Flow> flows = traffic.flows();
  for (const bench::Flow& flow : flows) {
    const std::vector<unsigned> path = bench::path_of(traffic.shape, flow.source, flow.destination);
    for (std::size_t i = 1; i < path.size(); ++i) network.route(path[i - 1], path[i], flow.destination);
    network.host(flow.source).start(flow, traffic.blocks);
  }
  bench::Stopwatch watch;
  watch.start();
  ns3::Simulator::Run();
  watch.stop();
  if (totals.delivered != flows.size() * traffic.blocks * bench::kCellsPerBlock) {
    std::cerr << "error: packets were lost\n";
    return 1;
  }
  nlohmann::json result{{"hops", totals.hops},
                        {"final_ps", totals.last},
                        {"events", ns3::Simulator::GetEventCount()},
                        {"flows", flows.size()}};
  watch.write_to(result);
  std::cout << result << std::endl;
  return 0;
}
