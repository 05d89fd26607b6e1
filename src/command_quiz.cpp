// SPDX-License-Identifier: Apache-2.0
// faultline quiz
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "src/application.hpp"
#include "src/experiment/diagnostics.hpp"
#include "src/quiz/page.hpp"

namespace faultline::app {
namespace {

using experiment::Point;

// Scenes with fewer questions are passed over.
constexpr std::size_t kLeastQuestions = 3;
constexpr unsigned kMostScenes = 100;

const quiz::Topic& topic_named(const std::string& name) {
  const auto it = std::ranges::find(quiz::topics(), name, &quiz::Topic::name);
  if (it != quiz::topics().end()) return *it;
  std::vector<std::string> names;
  for (const quiz::Topic& topic : quiz::topics()) names.emplace_back(topic.name);
  throw UserError("no topic '{}'; {}", name, experiment::allowed_names(name, names));
}

quiz::Json topics_json() {
  quiz::Json all = quiz::Json::array();
  for (const quiz::Topic& topic : quiz::topics())
    all.push_back({{"topic", topic.name}, {"lab", topic.lab}, {"title", topic.title}});
  return all;
}

std::string topics_text() {
  std::string text;
  for (const quiz::Topic& topic : quiz::topics())
    text += fmt::format("  {:<12} lab {:>2}  {}\n", topic.name, topic.lab, topic.title);
  return text;
}

// The same point under another strategy, which is drawn; nullptr: there is none.
const Point* drawn_other(const std::vector<Point>& points, const Point& point, quiz::Draws& draws) {
  std::vector<const Point*> others;
  for (const Point& each : points) {
    if (experiment::differ_by_strategy(each, point)) others.push_back(&each);
  }
  return others.empty() ? nullptr : others[draws.below(others.size())];
}

// Simulates the transfer under both strategies, each of them twice: for the story, and for what the run counts. False:
// interrupted, or a transfer has failed, and failed ones are not asked about.
bool simulate_scene(const std::vector<Point>& both, const experiment::Experiment& experiment, const Call& call,
                    quiz::Scene& scene, bool& interrupted) {
  const auto stories = simulate_points(both, call, workloads::StoryRequest{});
  const auto runs = simulate_points(both, call);
  for (std::size_t i = 0; i < both.size(); ++i) {
    for (const runs::PointOutcome* outcome : {&stories[i], &runs[i]}) {
      interrupted = interrupted || outcome->status == runs::PointStatus::not_run;
      if (outcome->status == runs::PointStatus::bug)
        throw std::runtime_error(fmt::format("{}: {}", both[i].label(), outcome->error));
    }
    if (interrupted || stories[i].result.story.empty() || !runs[i].result.error.empty()) return false;
    quiz::Told told{both[i],
                    experiment.strategy_named(both[i].strategy).description,
                    quiz::Json::parse(stories[i].result.story),
                    runs[i].result,
                    {}};
    if (told.story["outcome"] != "done") return false;
    const auto machine = configure(both[i], call.simulator);
    for (const sim::Parameter& parameter : machine->parameters().all())
      told.values.push_back({parameter.name, parameter.get()});
    (i == 0 ? scene.told : scene.other) = std::move(told);
  }
  return true;
}

// Both ways to find an answer must agree: a wrong answer is a bug, and it is not shown to a student.
void check(const std::vector<quiz::Question>& questions, const Point& point) {
  for (const quiz::Question& question : questions) {
    if (question.is_sure()) continue;
    throw std::logic_error(fmt::format("{}: '{}' has two answers: '{}' and '{}'", point.label(), question.text,
                                       question.answer(), question.check));
  }
}

}  // namespace

int quiz_command(const Call& call) {
  const Options& options = call.options;
  if (options.arguments.empty()) {
    if (options.seed || options.answers || !options.secret.empty())
      throw UserError("quiz: --seed, --answers and --secret need a topic; 'faultline quiz' lists them");
    call.console.out << (options.format == Format::json ? topics_json().dump(1) + "\n" : topics_text());
    return kFine;
  }
  const quiz::Topic& topic = topic_named(options.arguments.front());
  const auto file = call.library.folder() / "quizzes" / fmt::format("{}.toml", topic.name);
  const experiment::Experiment experiment = read_experiment(file, {}, call.library, call.simulator);
  const std::vector<Point> points = expand(experiment, call);
  const std::uint64_t seed = options.seed.value_or(1);
  quiz::Draws draws(sim::Seed(seed), fmt::format("quiz {} {}", topic.name, options.secret));
  for (unsigned drawn = 0; drawn < kMostScenes; ++drawn) {
    const std::size_t number = draws.below(points.size());
    std::vector<Point> both{points[number]};
    const Point* other = drawn_other(points, both.front(), draws);
    if (other == nullptr) continue;
    both.push_back(*other);
    const std::uint64_t simulated = 1 + draws.below(1'000'000);
    for (Point& point : both) point.seed = simulated;
    quiz::Scene scene;
    bool interrupted = false;
    if (!simulate_scene(both, experiment, call, scene, interrupted)) {
      if (!interrupted) continue;
      call.console.err << "interrupted: nothing is asked\n";
      return kInterrupted;
    }
    quiz::Page page{topic,
                    seed,
                    !options.secret.empty(),
                    scene_text(scene, call.simulator),
                    ask_all(topic, scene, draws),
                    fmt::format("faultline explain configs/quizzes/{}.toml --point {} --seed {}", topic.name,
                                number + 1, simulated)};
    check(page.questions, both.front());
    if (page.questions.size() < kLeastQuestions) continue;
    call.console.out << (options.format == Format::json ? page_json(page, options.answers).dump(1) + "\n"
                                                        : page_text(page, options.answers, call.console.width));
    return kFine;
  }
  throw std::runtime_error(
      fmt::format("quiz {}: none of {} scenes has {} questions", topic.name, kMostScenes, kLeastQuestions));
}

}  // namespace faultline::app
