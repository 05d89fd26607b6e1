// SPDX-License-Identifier: Apache-2.0
#include "tests/properties/survey.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace faultline::test {
namespace {

// Simulations that one kind may cost to get small.
constexpr int kShrinkingRuns = 150;

std::size_t size_of(const Case& c) { return c.settings.size() + 3 * c.flows.size(); }

}  // namespace

Survey::Survey(const Domain& domain, int cases, std::uint64_t seed)
    : compare_(domain.counters ? Compare::all : Compare::times), cases_(cases) {
  const rc::Gen<Case> generator = any_case(domain);
  rc::Random random(seed);
  for (int i = 0; i < cases; ++i) look_at(generator(random.split(), rc::kNominalSize));
  for (auto& [name, kind] : kinds_) shrink(name, kind);
}

void Survey::look_at(const Found& found) {
  const Difference d = difference_of(found.value());
  if (!d) return;
  const auto [at, added] = kinds_.try_emplace(d.kind, Kind{0, found, d.text});
  Kind& kind = at->second;
  ++kind.cases;
  if (size_of(found.value()) < size_of(kind.smallest.value())) {
    kind.smallest = found;
    kind.text = d.text;
  }
}

// Steps to the first simpler case of the same kind as long as there is one.
void Survey::shrink(const std::string& name, Kind& kind) {
  int runs = 0;
  for (bool smaller = true; smaller && runs < kShrinkingRuns;) {
    smaller = false;
    auto simpler = kind.smallest.shrinks();
    while (!smaller && runs < kShrinkingRuns) {
      const auto candidate = simpler.next();
      if (!candidate) break;
      ++runs;
      const Difference d = difference_of(candidate->value());
      if (d.kind != name) continue;
      kind.smallest = *candidate;
      kind.text = d.text;
      smaller = true;
    }
  }
}

int Survey::different() const {
  int sum = 0;
  for (const auto& [name, kind] : kinds_) sum += kind.cases;
  return sum;
}

std::string Survey::report() const {
  std::vector<std::pair<std::string, const Kind*>> sorted;
  for (const auto& [name, kind] : kinds_) sorted.emplace_back(name, &kind);
  std::stable_sort(sorted.begin(), sorted.end(), [](auto& a, auto& b) { return a.second->cases > b.second->cases; });
  std::string text = fmt::format("{} of {} cases differ\n", different(), cases_);
  for (const auto& [name, kind] : sorted) text += fmt::format("{:6}  {}\n", kind->cases, name);
  for (const auto& [name, kind] : sorted) {
    text +=
        fmt::format("\n--- {} cases: {}\n{}{}", kind->cases, name, experiment_file(kind->smallest.value()), kind->text);
  }
  return text;
}

}  // namespace faultline::test
