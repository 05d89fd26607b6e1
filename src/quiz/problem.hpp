// SPDX-License-Identifier: Apache-2.0
// A small problem that the simulator has made: a transfer, and questions about it whose answers it knows twice.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/sim/random.hpp"
#include "src/experiment/point.hpp"
#include "workloads/experiment_point.hpp"

namespace faultline::quiz {

using Json = nlohmann::ordered_json;

// One transfer, simulated: what was told of it, and what the run has counted.
struct Told {
  experiment::Point point;
  std::string meaning;  // of its strategy
  Json story;           // workloads/story/story.hpp
  workloads::PointResult result;
  std::vector<experiment::NamedText> values;  // of all parameters

  // Of the run; nothing where it has no such metric.
  std::optional<double> metric(std::string_view name) const;
  const std::string& value(std::string_view parameter) const;
};

// The transfer that the questions are about, and the same one under another strategy.
struct Scene {
  Told told;
  Told other;
};

struct Question {
  std::string text;
  std::vector<std::string> options;
  std::size_t right = 0;  // of the options
  std::string why;
  // The right option's text, found in another way: from the story where the answer is the run's, or vice versa.
  std::string check;

  const std::string& answer() const { return options[right]; }
  bool is_sure() const { return answer() == check; }
};

// Draws that are the same wherever they are made.
using Draws = sim::RandomStream;

// One kind of question. Nothing: it does not apply here, or two options are as good.
struct QuestionKind {
  std::string_view name;
  std::optional<Question> (*ask)(const Scene& scene, Draws& draws);
};

// A topic is an experiment, configs/quizzes/NAME.toml, whose points are its scenes, and the kinds of questions that are
// asked about them.
struct Topic {
  std::string_view name;
  unsigned lab;  // docs/labs
  std::string_view title;
  std::vector<std::string_view> kinds;
};

const std::vector<Topic>& topics();
const std::vector<QuestionKind>& question_kinds();
const QuestionKind& question_kind(std::string_view name);

// At most four of the topic's questions, in an order that is drawn.
std::vector<Question> ask_all(const Topic& topic, const Scene& scene, Draws& draws);

}  // namespace faultline::quiz
