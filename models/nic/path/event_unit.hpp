// SPDX-License-Identifier: Apache-2.0
// How the engine tells processes that a write to them is placed: it writes a word of their memory, counts an event, or
// appends an entry to their event queue; and it raises its interrupt when a process has asked to be woken.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "models/nic/path/config.hpp"
#include "models/nic/path/control_writer.hpp"
#include "models/nic/path/counters.hpp"
#include "models/nic/path/notice.hpp"
#include "models/nic/path/registers.hpp"
#include "models/sim/recycling.hpp"
#include "models/sim/task.hpp"

namespace faultline::nic {

class EventUnit : public ControlWriteClient {
 public:
  EventUnit(const PathConfig& config, ControlWriter& writer, Counters& counters, const sim::Context& context);

  // Of a counter: its greatest value.
  static std::uint64_t mask(const PathConfig& config);

  // Whether a process is to be woken, and who is told whenever that changes.
  bool is_high() const { return high_; }
  std::function<void()> on_interrupt;

  // Counters of a process begin at 0; it has no words and no queue.
  void open(std::uint32_t pdid);
  void close(std::uint32_t pdid);
  bool knows(std::uint32_t pdid) const { return processes_.contains(pdid); }
  // `address`: virtual, of `words` words of kNoticeWordBytes each, in the process's memory.
  void set_words(std::uint32_t pdid, std::uint64_t address, std::uint64_t words);
  // A ring of `entries` entries of kEventBytes each.
  void set_queue(std::uint32_t pdid, std::uint64_t address, std::uint64_t entries);

  // Gives a notice. False: not now, because the event queue is full, or never, because there is no such process, word
  // or counter.
  bool give(std::uint32_t pdid, const Notice& notice, std::uint64_t transfer);

  // The owner has taken so many entries since the queue was set up.
  void set_taken(std::uint32_t pdid, std::uint64_t entries);
  std::optional<std::uint64_t> counter(std::uint32_t pdid, unsigned index) const;
  // Wakes the process once, as soon as the counter (the entries that are in memory, ever) is other than `count`: now,
  // if it is. In place of what it was armed for before.
  void arm(std::uint32_t pdid, NoticeKind kind, unsigned index, std::uint64_t count);
  // The lowest process that is to be woken; reg::kNoEvent if there is none.
  std::uint64_t pending() const;
  void acknowledge(std::uint32_t pdid);

  // Notified when a counter of the process changes: what lets a program that reads it again and again be simulated
  // without its reads. Until close().
  void watch(std::uint32_t pdid, sim::Signal& counted) { processes_.at(pdid).counted = &counted; }

  void control_written(std::uint64_t tag, bool ok) override;
  // Not of a process that has gone: another one may have its number.
  bool control_wanted(std::uint64_t tag) const override;

 private:
  struct Queue {
    std::uint64_t address = 0;
    std::uint64_t entries = 0;
    std::uint64_t made = 0;     // entries whose write has begun
    std::uint64_t visible = 0;  // of these, all up to here are in memory
    std::uint64_t taken = 0;
    sim::Deque<bool> written;  // by entry, from `visible` on
  };
  struct Armed {
    NoticeKind kind = NoticeKind::none;
    unsigned index = 0;
    std::uint64_t count = 0;
  };
  struct Process {
    std::uint64_t words_address = 0;
    std::uint64_t words = 0;
    std::uint64_t given_in_words = 0;
    std::array<std::uint64_t, reg::kEventCounters> counters{};
    Queue queue;
    Armed armed;
    bool to_be_woken = false;
    sim::Signal* counted = nullptr;
    std::uint64_t opened = 0;  // tells it from others of its number
  };
  // Of a write under way.
  struct Writing {
    std::uint32_t pdid;
    std::uint64_t opened;  // Process::opened
    std::uint64_t transfer;
    std::uint64_t entry;  // of the queue; kNoEntry: a word
  };
  static constexpr std::uint64_t kNoEntry = UINT64_MAX;

  void write(std::uint64_t address, sim::Content content, Writing writing);
  // The process that a write is for has not gone, nor has its queue been set up anew.
  bool is_for_present(const Writing& writing) const;
  bool count(Process& process, const Notice& notice, std::uint64_t transfer);
  bool append(std::uint32_t pdid, Process& process, const Notice& notice, std::uint64_t transfer);
  void entry_written(Process& process, std::uint64_t entry);
  void wake_if_due(Process& process);
  void update_interrupt();

  ControlWriter& writer_;
  Counters& counters_;
  const sim::Context& context_;
  const std::uint64_t mask_;  // of a counter
  std::map<std::uint32_t, Process> processes_;
  sim::HashMap<std::uint64_t, Writing> writing_;
  std::uint64_t next_tag_ = 0;
  std::uint64_t opened_ = 0;
  bool high_ = false;
};

}  // namespace faultline::nic
