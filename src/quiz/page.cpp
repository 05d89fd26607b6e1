// SPDX-License-Identifier: Apache-2.0
#include "src/quiz/page.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/sim/units.hpp"
#include "src/explain/explanation.hpp"
#include "src/explain/story_text.hpp"
#include "src/quiz/story_facts.hpp"
#include "src/results/text_table.hpp"

namespace faultline::quiz {
namespace {

char letter(std::size_t option) { return static_cast<char>('a' + option); }

// "pages 0-2: no entry; page 3: present"
std::string states_text(const std::map<std::uint32_t, std::string>& states) {
  std::string text;
  for (auto first = states.begin(); first != states.end();) {
    auto next = first;
    auto last = first;
    for (; next != states.end() && next->second == first->second; ++next) last = next;
    text += text.empty() ? "" : "; ";
    text +=
        first == last ? fmt::format("page {}", first->first) : fmt::format("pages {}-{}", first->first, last->first);
    text += ": " + first->second;
    first = next;
  }
  return text;
}

std::string answer_text(const Question& question) {
  return fmt::format("Answer: {}. {}", letter(question.right), question.why);
}

}  // namespace

std::vector<std::string> scene_text(const Scene& scene, const experiment::Simulator& simulator) {
  const Told& told = scene.told;
  const Json& story = told.story;
  std::vector<std::string> lines{explain::title_of(story) + ".",
                                 fmt::format("Strategy {}: {}.", told.point.strategy, told.meaning)};
  const auto machine = configure(told.point, simulator);
  for (const experiment::NamedText& axis : told.point.axes) {
    const sim::Parameter* parameter = machine->parameters().find(axis.name);
    lines.push_back(fmt::format("{} = {} ({})", axis.name, axis.text, parameter->doc.meaning));
  }
  if (const auto reused = told.metric("buffers_reused")) {
    lines.emplace_back(*reused > 0 ? "The programs have used this pair of buffers before."
                                   : "The programs have just mapped this pair of buffers anew.");
  }
  for (const Json& buffer : story.at("buffers")) {
    const std::string end = buffer.at("end");
    lines.push_back(fmt::format("{}, when the transfer is posted: {}.", explain::buffer_text(buffer),
                                states_text(pages_at(story, end, "entry", 0))));
  }
  return lines;
}

std::string page_text(const Page& page, bool answers, std::size_t width) {
  const auto indented = [&](const std::string& line, std::size_t next) {
    return "   " + results::wrap(line, std::max<std::size_t>(width, 40) - 3, next) + "\n";
  };
  std::string text = fmt::format("Quiz {} ({}; lab {}), seed {}{}\n\n", page.topic.name, page.topic.title,
                                 page.topic.lab, page.seed, page.has_secret ? ", with a secret" : "");
  for (const std::string& line : page.scene) text += results::wrap(line, width, 2) + "\n";
  for (std::size_t q = 0; q < page.questions.size(); ++q) {
    const Question& question = page.questions[q];
    text += "\n" + results::wrap(fmt::format("{}. {}", q + 1, question.text), width, 3) + "\n";
    for (std::size_t i = 0; i < question.options.size(); ++i)
      text += indented(fmt::format("{}) {}", letter(i), question.options[i]), 6);
    if (answers) text += indented(answer_text(question), 3);
  }
  if (answers) text += "\nTo see it happen:\n   " + page.command + "\n";
  return text;
}

Json page_json(const Page& page, bool answers) {
  Json made{
      {"format", "faultline-quiz-1"}, {"topic", page.topic.name}, {"lab", page.topic.lab},     {"seed", page.seed},
      {"secret", page.has_secret},    {"scene", page.scene},      {"questions", Json::array()}};
  for (const Question& question : page.questions) {
    Json& one = made["questions"].emplace_back(Json{{"text", question.text}, {"options", question.options}});
    if (!answers) continue;
    one["answer"] = std::string(1, letter(question.right));
    one["why"] = question.why;
  }
  if (answers) made["command"] = page.command;
  return made;
}

}  // namespace faultline::quiz
