// SPDX-License-Identifier: Apache-2.0
#include "src/explain/story_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "models/sim/units.hpp"
#include "src/explain/explanation.hpp"
#include "src/explain/glossary.hpp"
#include "src/results/text_table.hpp"

namespace faultline::explain {

std::string us_text(std::int64_t ps) { return fmt::format("{:.3f}", static_cast<double>(ps) / 1e6); }

namespace {

// A pattern that comes back more often is told once.
constexpr std::size_t kFoldFrom = 3;
constexpr std::size_t kLeastText = 24;  // columns

std::string text(const Json& json, const char* key) { return json.value(key, std::string()); }

// One line of the story.
struct Line {
  std::int64_t at = 0;  // ps since the post
  std::int64_t took = 0;
  std::string who;  // "node 1, kernel"
  std::string what;
  std::string cost;
  std::uint64_t attempt = 0;
  bool is_fault = false;
};

std::string cost_text(const Json& told, const Json& parameters) {
  std::string list;
  for (const Json& each : told.value("cost", Json::array())) {
    const std::string cost = each;
    const auto known = parameters.find(parameter_of(cost));
    list += list.empty() ? "" : ", ";
    list += known == parameters.end() ? cost : fmt::format("{} = {}", cost, (*known)["value"].get<std::string>());
  }
  return list;
}

std::vector<Line> lines_of(const Json& story, const Json& parameters) {
  std::vector<Line> lines;
  for (const Json& told : story.value("told", Json::array())) {
    lines.push_back({.at = told["at"],
                     .took = told["took"],
                     .who = fmt::format("node {} {}", told["node"].get<unsigned>(), text(told, "who")),
                     .what = text(told, "text"),
                     .cost = cost_text(told, parameters),
                     .attempt = told["attempt"],
                     .is_fault = told["fault"]});
  }
  return lines;
}

// Word for word, but for numbers.
bool is_alike(const Line& a, const Line& b) {
  const auto without_numbers = [](const std::string& s) {
    std::string kept;
    bool in_number = false;
    for (const char c : s) {
      const bool digit = c >= '0' && c <= '9';
      if (digit || (in_number && c >= 'a' && c <= 'f')) {
        in_number = true;
      } else if (!(in_number && c == 'x')) {
        in_number = false;
        kept += c;
      }
    }
    return kept;
  };
  return a.who == b.who && without_numbers(a.what) == without_numbers(b.what);
}

// How many times the `period` lines from `first` on come again right after themselves.
std::size_t repetitions(const std::vector<Line>& lines, std::size_t first, std::size_t period) {
  std::size_t count = 0;
  for (std::size_t at = first + period; at + period <= lines.size(); at += period, ++count) {
    for (std::size_t i = 0; i < period; ++i) {
      if (!is_alike(lines[at + i], lines[first + i])) return count;
    }
  }
  return count;
}

// A stretch that comes back several times in a row, as retries do, stands once, and a line says how often it came.
std::vector<Line> folded(const std::vector<Line>& lines) {
  constexpr std::size_t kLongest = 64;
  std::vector<Line> kept;
  for (std::size_t at = 0; at < lines.size();) {
    std::size_t best_period = 0;
    std::size_t best = 0;
    for (std::size_t period = 1; period <= std::min(kLongest, lines.size() - at); ++period) {
      const std::size_t count = repetitions(lines, at, period);
      if (count + 1 >= kFoldFrom && count * period > best * best_period) {
        best = count;
        best_period = period;
      }
    }
    const std::size_t period = std::max<std::size_t>(best_period, 1);
    kept.insert(kept.end(), lines.begin() + static_cast<std::ptrdiff_t>(at),
                lines.begin() + static_cast<std::ptrdiff_t>(at + period));
    if (best > 0) {
      const Line& last = lines[at + period * (best + 1) - 1];
      const std::int64_t took = last.at - lines[at + period - 1].at;
      Line more;
      more.at = last.at;
      more.took = took;
      more.what = fmt::format("... and so {} more time{} ({} lines; --all shows them).", best, best == 1 ? "" : "s",
                              best * period);
      kept.push_back(std::move(more));
    }
    at += period * (best + 1);
  }
  return kept;
}

std::vector<std::string> wrapped(const std::string& what, std::size_t width) {
  std::vector<std::string> lines;
  const std::string all = results::wrap(what, std::max(width, kLeastText), 0);
  for (std::size_t at = 0; at <= all.size();) {
    const std::size_t end = std::min(all.find('\n', at), all.size());
    lines.push_back(all.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

}  // namespace

std::string buffer_text(const Json& buffer) {
  return fmt::format("{}: {} at {} of '{}' on node {}, {} page{}, translated by {}", text(buffer, "end"),
                     sim::format_bytes(buffer["bytes"].get<std::uint64_t>()), text(buffer, "address"),
                     text(buffer, "process"), buffer["node"].get<unsigned>(), buffer["page_count"].get<std::uint64_t>(),
                     buffer["page_count"] == 1 ? "" : "s", text(buffer, "table"));
}

namespace {

std::string outcome_text(const Json& story) {
  const std::string outcome = text(story, "outcome");
  const std::int64_t latency = story["end"].get<std::int64_t>() - story["begin"].get<std::int64_t>();
  if (outcome == "done")
    return fmt::format("It took {} us, from the program's first step for it to its last.", us_text(latency));
  const std::string why = text(story, "why").empty() ? "" : ": " + text(story, "why");
  if (outcome == "failed") return fmt::format("It FAILED after {} us{}.", us_text(latency), why);
  if (outcome == "refused") return fmt::format("It was REFUSED: the queue of the device was full{}.", why);
  return fmt::format("It did NOT END: the run was over {} us after the program's first step for it{}.",
                     us_text(latency), why);
}

// What there is to know before the first line.
std::string head_of(const Json& document, const Json& story, std::size_t width) {
  std::string head;
  const auto add = [&](const std::string& line) { head += results::wrap(line, width, 2) + "\n"; };
  add(fmt::format("strategy {}: {}", text(story, "strategy"), text(story, "meaning")));
  add(fmt::format("transfer {} of experiment {}: {}; seed {}", story["number"].get<std::uint64_t>(),
                  text(document, "experiment"), text(story, "point"), document["seed"].get<std::uint64_t>()));
  for (const Json& buffer : story["buffers"]) add(buffer_text(buffer));
  add(outcome_text(story));
  const bool faults =
      std::ranges::any_of(story.value("told", Json::array()), [](const Json& t) { return t["fault"].get<bool>(); });
  if (!faults && !story["buffers"].empty())
    add(fmt::format("The device met no page fault in these buffers{}.",
                    text(story, "outcome") == "done" ? ": its translations were all there" : ""));
  if (!text(story, "cut").empty()) add(text(story, "cut"));
  return head;
}

std::string totals_text(const Json& stories) {
  std::vector<results::Column> columns{results::left("where the time went")};
  // What a cause is made of stands below it, in rows of its own.
  std::vector<std::pair<std::string, std::vector<std::string>>> causes;
  std::vector<std::map<std::pair<std::string, std::string>, std::int64_t>> times(stories.size());
  for (std::size_t s = 0; s < stories.size(); ++s) {
    const std::string name = stories.size() > 1 ? text(stories[s], "strategy") : "time";
    columns.push_back(results::right(name, "[us]"));
    columns.push_back(results::right("share", "[%]"));
    for (const Json& total : stories[s].value("totals", Json::array())) {
      const std::string cause = total["cause"];
      auto known = std::ranges::find(causes, cause, &decltype(causes)::value_type::first);
      if (known == causes.end()) known = causes.insert(known, {cause, {}});
      times[s][{cause, ""}] = total["ps"];
      for (const Json& step : total["steps"]) {
        const std::string part = step["step"];
        if (std::ranges::find(known->second, part) == known->second.end()) known->second.push_back(part);
        times[s][{cause, part}] = step["ps"];
      }
    }
  }
  results::TextTable table(columns);
  const auto row = [&](const std::string& name, auto time_of) {
    std::vector<std::string> cells{name};
    for (std::size_t s = 0; s < stories.size(); ++s) {
      const std::int64_t all = stories[s]["end"].get<std::int64_t>() - stories[s]["begin"].get<std::int64_t>();
      const std::int64_t time = time_of(s, all);
      cells.push_back(time == 0 ? "-" : us_text(time));
      cells.push_back(time == 0 || all == 0
                          ? "-"
                          : fmt::format("{:.1f}", 100.0 * static_cast<double>(time) / static_cast<double>(all)));
    }
    table.add(std::move(cells));
  };
  const auto add = [&](const std::string& shown, const std::string& cause, const std::string& step) {
    row(shown, [&](std::size_t s, std::int64_t) {
      const auto found = times[s].find({cause, step});
      return found == times[s].end() ? 0 : found->second;
    });
  };
  for (const auto& [cause, steps] : causes) {
    add(cause, cause, "");
    if (steps.size() < 2) continue;
    for (const std::string& step : steps) add("  of it: " + step, cause, step);
  }
  table.gap();
  row("in all", [](std::size_t, std::int64_t all) { return all; });
  return table.text();
}

}  // namespace

std::string story_text(const Json& document, const TextStyle& style) {
  const Json& story = document["stories"][0];
  std::string out = text(document, "title") + "\n" + head_of(document, story, style.width) + "\n";
  std::vector<Line> lines = lines_of(story, document["parameters"]);
  if (!style.all) lines = folded(lines);
  std::size_t who = 4;
  for (const Line& line : lines) who = std::max(who, line.who.size());
  const std::size_t before = 12 + 11 + 2 + who + 2;
  out +=
      fmt::format("{:>12}{:>11}  {:<{}}  what was done when the time was over\n", "time [us]", "took [us]", "who", who);
  out += std::string(std::min(style.width, before + 60), '-') + "\n";
  for (const Line& line : lines) {
    const std::string cost = style.costs && !line.cost.empty() ? fmt::format(" [{}]", line.cost) : "";
    bool first = true;
    for (const std::string& part : wrapped(line.what + cost, style.width > before ? style.width - before : 0)) {
      const std::string took = line.took == 0 ? "" : us_text(line.took);
      out += first ? fmt::format("{:>12}{:>11}  {:<{}}  {}\n", us_text(line.at), took, line.who, who, part)
                   : fmt::format("{:{}}{}\n", "", before, part);
      first = false;
    }
  }
  return out + "\n" + totals_text(document["stories"]);
}

namespace {

// The width of either side, beside the column of times.
std::size_t width_of_side(std::size_t width) { return (std::max<std::size_t>(width, 80) - 12 - 5) / 2; }

// Lines of the same instant stand beside each other.
std::string side_by_side(const std::vector<Line>& left, const std::vector<Line>& right, std::size_t width) {
  const std::size_t column = width_of_side(width);
  const auto cell = [&](const Line* line) {
    if (line == nullptr) return std::vector<std::string>();
    const std::string took = line->took == 0 ? "" : fmt::format(" ({} us)", us_text(line->took));
    return wrapped(fmt::format("{}: {}{}", line->who, line->what, took), column);
  };
  std::string out;
  std::size_t l = 0;
  std::size_t r = 0;
  while (l < left.size() || r < right.size()) {
    const bool has_left = l < left.size() && (r == right.size() || left[l].at <= right[r].at);
    const bool has_right = r < right.size() && (l == left.size() || right[r].at <= left[l].at);
    const std::int64_t at = has_left ? left[l].at : right[r].at;
    const auto left_cell = cell(has_left ? &left[l] : nullptr);
    const auto right_cell = cell(has_right ? &right[r] : nullptr);
    for (std::size_t i = 0; i < std::max(left_cell.size(), right_cell.size()); ++i) {
      const std::string& a = i < left_cell.size() ? left_cell[i] : "";
      const std::string& b = i < right_cell.size() ? right_cell[i] : "";
      const std::size_t pad = column - std::min(column, results::shown_width(a));
      out += fmt::format("{:>12}  {}{} |{}{}\n", i == 0 ? us_text(at) : "", a, std::string(pad, ' '),
                         b.empty() ? "" : " ", b);
    }
    l += has_left ? 1 : 0;
    r += has_right ? 1 : 0;
  }
  return out;
}

}  // namespace

std::string comparison_text(const Json& document, const TextStyle& style) {
  const Json& stories = document["stories"];
  std::string out = text(document, "title") + ", under two strategies\n";
  std::vector<std::vector<Line>> lines;
  for (const Json& story : stories) {
    out += "\n" + head_of(document, story, style.width);
    lines.push_back(lines_of(story, document["parameters"]));
    if (!style.all) lines.back() = folded(lines.back());
  }
  const std::size_t column = width_of_side(style.width);
  out += fmt::format("\n{:>12}  {:<{}} | {}\n", "time [us]", text(stories[0], "strategy"), column,
                     text(stories[1], "strategy"));
  out += std::string(style.width, '-') + "\n";
  return out + side_by_side(lines[0], lines[1], style.width) + "\n" + totals_text(stories);
}

std::string terms_text(const Json& document, const TextStyle& style) {
  std::string out = "Terms (docs/glossary.md):\n";
  for (const auto& [name, meaning] : document["terms"].items()) {
    const std::string line = fmt::format("{} ({}): {}", name, Term{name, ""}.anchor(), meaning.get<std::string>());
    out += "  " + results::wrap(line, style.width > 4 ? style.width - 2 : style.width, 4) + "\n";
  }
  return out;
}

}  // namespace faultline::explain
