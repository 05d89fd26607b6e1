// SPDX-License-Identifier: Apache-2.0
// Steps and tracks of a NIC that no room knows: it sends transfers in pages.
#pragma once

#include <array>

#include "models/sim/trace.hpp"

namespace faultline::test::toy {

using sim::Mark;
using sim::Scope;
using sim::Shape;
using sim::StepInfo;
using sim::TrackInfo;

inline constexpr sim::WorkerInfo kHost{"host", 0};
inline constexpr sim::WorkerInfo kCard{"card", 1};
inline constexpr sim::WorkerInfo kWire{"wire", 2};

inline constexpr StepInfo kBegin{.name = "begin", .scope = Scope::transfer};
inline constexpr StepInfo kPosted{
    .name = "posted", .scope = Scope::transfer, .phase = {kHost, "post", "the host rings", "toy.post"}};
inline constexpr StepInfo kStarted{
    .name = "started", .scope = Scope::transfer, .phase = {kCard, "set-up", "the card looks", "toy.set_up"}};
inline constexpr StepInfo kTurned{.name = "turned",
                                  .mark = Mark::part_begins,
                                  .phase = {kCard, "page's turn", "the card turns to a page", "toy.turn"}};
inline constexpr StepInfo kRead{.name = "read", .phase = {kCard, "read", "from memory", "toy.read"}};
inline constexpr StepInfo kSent{.name = "sent", .phase = {kCard, "send", "into the wire", "toy.send"}};
inline constexpr StepInfo kArrived{.name = "arrived", .phase = {kWire, "wire", "across", "toy.wire"}};
inline constexpr StepInfo kWritten{
    .name = "written", .mark = Mark::for_timelines, .phase = {.worker = kCard, .label = "write"}};
inline constexpr StepInfo kLost{
    .name = "lost", .mark = Mark::part_lost, .phase = {kCard, "patience", "nobody answers", "toy.patience"}};
inline constexpr StepInfo kAnswered{
    .name = "answered",
    .mark = Mark::part_over,
    .phase = {kCard, "write and answer", "the other card writes and answers", "toy.answer", "answer"}};
inline constexpr StepInfo kTold{
    .name = "told", .scope = Scope::transfer, .phase = {kCard, "word", "the card writes a word", "toy.word"}};
inline constexpr StepInfo kDone{.name = "done",
                                .scope = Scope::transfer,
                                .mark = Mark::transfer_over,
                                .phase = {kHost, "look", "the host sees the word", "toy.look"}};

inline constexpr StepInfo kRung{.name = "rung", .scope = Scope::node};
inline constexpr StepInfo kRefused{.name = "refused", .scope = Scope::node, .mark = Mark::told_as_fault};

inline constexpr StepInfo kNoteBegin{.name = "note_begin", .scope = Scope::sender, .mark = Mark::message_begins};
inline constexpr StepInfo kNoteSent{
    .name = "note_sent", .scope = Scope::sender, .phase = {kHost, "write note", "the sender's code", "toy.note"}};
inline constexpr StepInfo kNoteArrived{
    .name = "note_arrived", .scope = Scope::receiver, .phase = {kWire, "note's way", "across", "toy.wire"}};
inline constexpr StepInfo kNoteRead{
    .name = "note_read", .scope = Scope::receiver, .phase = {kHost, "read note", "the receiver's code", "toy.note"}};
inline constexpr StepInfo kNoteGone{.name = "note_gone",
                                    .scope = Scope::receiver,
                                    .mark = Mark::message_kept,
                                    .phase = {kHost, "drop note", "its place is free", "toy.note"}};

inline constexpr auto kSteps = std::to_array<sim::Step>({kBegin, kPosted, kStarted, kTurned, kRead, kSent, kArrived,
                                                         kWritten, kLost, kAnswered, kTold, kDone, kRung, kRefused,
                                                         kNoteBegin, kNoteSent, kNoteArrived, kNoteRead, kNoteGone});
static_assert(sim::all_differ(kSteps));
inline constexpr sim::TransferLife kLife{"page", kSteps};

inline constexpr TrackInfo kThread{"toy thread {}", 0, Shape::thread};
inline constexpr TrackInfo kReader{"toy reader", 1};
inline constexpr TrackInfo kRing{.name = "toy ring {}", .rank = 2, .level = ": pages"};
inline constexpr TrackInfo kPort{"cable to {}", 3, Shape::link};
inline constexpr TrackInfo kBell{"toy bell {}", 4, Shape::wire};
inline constexpr TrackInfo kDepth{"toy: pages that wait", 5, Shape::level};

}  // namespace faultline::test::toy
