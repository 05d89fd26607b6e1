// SPDX-License-Identifier: Apache-2.0
#include "src/quiz/problem.hpp"

#include <algorithm>
#include <stdexcept>

#include "src/quiz/forms.hpp"

namespace faultline::quiz {

constexpr std::size_t kMostQuestions = 4;

std::optional<double> Told::metric(std::string_view name) const {
  const auto it = std::ranges::find(result.metrics, name, &workloads::Metric::name);
  return it == result.metrics.end() ? std::nullopt : std::optional(it->value);
}

const std::string& Told::value(std::string_view parameter) const {
  const auto it = std::ranges::find(values, parameter, &experiment::NamedText::name);
  if (it == values.end())
    throw std::logic_error("a question asks for a parameter that there is not: " + std::string(parameter));
  return it->text;
}

const std::vector<Topic>& topics() {
  static const std::vector<Topic> topics{
      {"time", 1, "where the microseconds go", {"longest-step", "faster", "walks", "where"}},
      {"pinning", 2, "what pinning costs", {"pinned", "prepared", "faster", "brought", "where"}},
      {"first-fault", 3, "the first fault", {"where", "cause", "who", "brought", "walks", "sends"}},
      {"touch-ahead", 4, "touching ahead", {"brought", "walks", "who", "faster", "where"}},
      {"timeouts", 5, "timeouts against requests", {"timeouts", "sends", "longest-step", "faster", "cause"}},
      {"locks", 6, "locks, pins and mappings", {"where", "cause", "locked", "pinned", "stale", "faster"}},
      {"owners", 7, "who pays for pinned memory", {"pinned", "locked", "brought", "prepared", "faster"}},
      {"pin-cache", 8, "the cache of pins", {"hits", "prepared", "faster", "walks", "where"}},
      {"stalls", 9, "resend or stall", {"answered", "where", "longest-step", "faster", "sends", "walks"}},
      {"strategies", 10, "which strategy here", {"faster", "where", "prepared", "brought", "longest-step"}}};
  return topics;
}

const QuestionKind& question_kind(std::string_view name) {
  const auto it = std::ranges::find(question_kinds(), name, &QuestionKind::name);
  if (it == question_kinds().end()) throw std::logic_error("no such question: " + std::string(name));
  return *it;
}

std::vector<Question> ask_all(const Topic& topic, const Scene& scene, Draws& draws) {
  std::vector<std::string_view> kinds = topic.kinds;
  shuffle(kinds, draws);
  std::vector<Question> asked;
  for (const std::string_view kind : kinds) {
    if (asked.size() == kMostQuestions) break;
    if (auto question = question_kind(kind).ask(scene, draws)) asked.push_back(std::move(*question));
  }
  return asked;
}

}  // namespace faultline::quiz
