// SPDX-License-Identifier: Apache-2.0
// The protocol of the data path is a type of its own: what speaks the base protocol binds to an adapter and to nothing
// else, and a mistake does not compile.
#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>
#include <catch2/catch.hpp>

#include "models/tlm/from_base.hpp"
#include "models/tlm/to_base.hpp"
#include "tests/tlm/third_party_initiator.hpp"
#include "tests/tlm/third_party_memory.hpp"

using namespace faultline;

namespace {

template <typename Initiator, typename Target>
concept Binds = requires(Initiator& initiator, Target& target) {
  initiator.bind(target);
};

struct Module;
using BaseInitiator = decltype(third_party::ApproximatelyTimedInitiator::socket);
using BaseMemory = decltype(third_party::ApproximatelyTimedMemory::socket);
using PathInitiator = sim::InitiatorSocket<Module>;
using PathMemory = sim::TargetSocket<Module>;

static_assert(Binds<BaseInitiator, BaseMemory>);
static_assert(Binds<PathInitiator, PathMemory>);
static_assert(!Binds<BaseInitiator, PathMemory>);
static_assert(!Binds<PathInitiator, BaseMemory>);

static_assert(Binds<BaseInitiator, decltype(adapters::FromBase<>::in)>);
static_assert(Binds<decltype(adapters::FromBase<>::reads), PathMemory>);
static_assert(Binds<PathInitiator, decltype(adapters::ToBase<>::in)>);
static_assert(Binds<decltype(adapters::ToBase<>::out), BaseMemory>);
static_assert(!Binds<PathInitiator, decltype(adapters::FromBase<>::in)>);
static_assert(!Binds<decltype(adapters::ToBase<>::out), PathMemory>);

// The width is a part of a socket's type.
using WideMemory = tlm_utils::simple_target_socket<third_party::LooselyTimedMemory, 128>;
static_assert(!Binds<decltype(adapters::ToBase<>::out), WideMemory>);
static_assert(Binds<decltype(adapters::ToBase<128>::out), WideMemory>);

}  // namespace

TEST_CASE("what speaks another protocol does not bind") { SUCCEED("the compiler has checked it"); }
