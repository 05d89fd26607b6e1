// SPDX-License-Identifier: Apache-2.0
// A page of a quiz: a scene in words, and its questions, without or with their answers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/quiz/problem.hpp"

namespace faultline::quiz {

struct Page {
  const Topic& topic;
  std::uint64_t seed;
  bool has_secret;  // the problem is not the one of the seed alone
  std::vector<std::string> scene;
  std::vector<Question> questions;
  std::string command;  // that tells the story of the transfer
};

// What one has to know of a scene: strategy, settings that the topic varies, buffers, pages at the post.
std::vector<std::string> scene_text(const Scene& scene, const experiment::Simulator& simulator);

// What only the page with answers has: lines that begin with "   Answer", and the command at the end.
std::string page_text(const Page& page, bool answers, std::size_t width);
Json page_json(const Page& page, bool answers);

}  // namespace faultline::quiz
