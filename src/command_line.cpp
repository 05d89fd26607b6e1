// SPDX-License-Identifier: Apache-2.0
#include "src/command_line.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <optional>
#include <sstream>
#include <type_traits>
#include <utility>

#include "src/command_table.hpp"
#include "src/experiment/diagnostics.hpp"
#include "src/experiment/input_limits.hpp"
#include "src/experiment/quantity.hpp"

namespace faultline::app {
namespace po = boost::program_options;
namespace {

constexpr unsigned kMostJobs = 4096;
constexpr unsigned kMostLevels = 100;
constexpr unsigned kMostSamples = 10'000;
constexpr std::uint64_t kMostSeconds = 100'000'000;  // three years
constexpr std::uint64_t kMostTransfers = 1'000'000'000'000;
constexpr std::uint64_t kMostMostPoints = 1'000'000'000;

void add_option(po::options_description& options, const OptionRow& row) {
  const std::string names = row.letter == 0 ? row.name : fmt::format("{},{}", row.name, row.letter);
  auto add = options.add_options();
  if (row.value == nullptr) {
    add(names.c_str(), row.text);
  } else if (row.is_repeated) {
    auto* values = po::value<std::vector<std::string>>()->value_name(row.value);
    // "S1 S2"
    add(names.c_str(), std::string_view(row.value).find(' ') == std::string_view::npos ? values : values->multitoken(),
        row.text);
  } else {
    add(names.c_str(), po::value<std::string>()->value_name(row.value), row.text);
  }
}

po::options_description described_options(const CommandRow& command) {
  po::options_description options("Options", 110, 70);
  for (const std::string& name : options_of(command)) add_option(options, option_row(name, command.name));
  return options;
}

// What the user has given, by the options' names.
class Given {
 public:
  explicit Given(const po::variables_map& values) : values_(values) {}
  bool has(const std::string& name) const { return values_.count(name) != 0; }
  std::string text(const std::string& name) const { return has(name) ? values_[name].as<std::string>() : ""; }
  std::vector<std::string> texts(const std::string& name) const {
    return has(name) ? values_[name].as<std::vector<std::string>>() : std::vector<std::string>();
  }
  // A whole number, where it is given; else `number` stays as it is.
  template <typename Number>
  void read(const std::string& name, std::uint64_t low, std::uint64_t high, Number& number) const {
    if (!has(name)) return;
    const auto whole = experiment::whole(text(name));
    if (!whole || *whole < low || *whole > high)
      throw UserError("--{}: '{}'; allowed: a whole number from {} to {}", name, text(name), low, high);
    number = static_cast<std::remove_cvref_t<decltype(*std::optional(number))>>(*whole);
  }
  // The place of what is given among the names.
  std::size_t choice(const std::string& name, const std::vector<std::string>& names) const {
    const auto found = std::ranges::find(names, text(name));
    if (found == names.end())
      throw UserError("--{}: '{}'; {}", name, text(name), experiment::allowed_names(text(name), names));
    return static_cast<std::size_t>(found - names.begin());
  }
  // A text in which something may be wrong, which `why_not` says.
  std::string checked(const std::string& name, std::string (*why_not)(const std::string&)) const {
    const std::string why = has(name) ? why_not(text(name)) : "";
    if (!why.empty()) throw UserError("--{}: {}", name, why);
    return text(name);
  }

 private:
  const po::variables_map& values_;
};

// What the user typed as an option that the command does not have.
std::string unknown_option(const std::string& typed, const CommandRow& entry) {
  std::vector<std::string> known;
  for (const std::string& name : options_of(entry)) known.push_back("--" + name);
  std::ranges::sort(known);
  return fmt::format("{}: no such option of 'faultline {}'; {}", typed, entry.name,
                     experiment::allowed_names(typed, known));
}

void read_slurm_options(const Given& given, const po::variables_map& values, Options& options) {
  options.on_slurm = given.has("on") && given.choice("on", {"here", "slurm"}) == 1;
  for (const std::string other : {"dry-run", "prepare", "profile", "jobs", "trace", "vcd"}) {
    if (options.on_slurm && given.has(other))
      throw UserError("--on slurm and --{}: choose one{}", other,
                      other == "jobs" ? "; --slurm-cpus is what a task simulates at a time" : "");
  }
  for (const auto& [name, value] : values) {
    if (name.starts_with("slurm-") && !options.on_slurm) throw UserError("--{}: needs --on slurm", name);
  }
  experiment::SlurmSettings& slurm = options.slurm;
  slurm.partition = given.text("slurm-partition");
  slurm.time = given.checked("slurm-time", experiment::why_no_slurm_time);
  slurm.memory = given.checked("slurm-memory", experiment::why_no_slurm_memory);
  given.read("slurm-tasks", 1, experiment::kMostSlurmTasks, slurm.tasks);
  given.read("slurm-cpus", 1, experiment::kMostSlurmCpus, slurm.cpus);
  slurm.sbatch = given.texts("slurm-sbatch");
}

TraceOptions trace_options(const Given& given) {
  TraceOptions options;
  for (const char* file : {"trace", "vcd"}) {
    if (given.has(file) && given.text(file).empty()) throw UserError("--{}: needs a file", file);
  }
  options.request.perfetto = given.text("trace");
  options.vcd = given.text("vcd");
  if (given.has("vcd")) options.request.vcd = vcd_file(options.vcd);
  for (const char* name : {"trace-point", "trace-nodes", "trace-transfers", "trace-time", "trace-limit"}) {
    if (given.has(name) && !options.any()) throw UserError("--{}: needs --trace FILE or --vcd FILE", name);
  }
  if (given.has("trace-transfers") && !given.has("trace")) throw UserError("--trace-transfers: needs --trace FILE");
  if (options.any() && given.has("dry-run")) throw UserError("--dry-run records nothing: leave out --trace and --vcd");
  options.point = given.text("trace-point");
  trace::TraceFilter& filter = options.request.filter;
  if (given.has("trace-nodes")) filter.nodes = number_ranges("trace-nodes", given.text("trace-nodes"));
  if (given.has("trace-transfers")) filter.transfers = transfer_ranges(given.text("trace-transfers"));
  if (given.has("trace-time")) set_window(filter, given.text("trace-time"));
  if (given.has("trace-limit")) filter.limit = trace_limit(given.text("trace-limit"));
  return options;
}

// What stands behind the two strategies that are compared is no third one.
void take_compared(const std::vector<std::string>& given, Options& options) {
  if (given.size() > 1 && given[0] == given[1])
    throw UserError("--compare: '{}' twice; allowed: two different strategies", given[0]);
  if (given.size() == 1) throw UserError("--compare: needs two strategies: --compare S1 S2");
  options.compare.assign(given.begin(), given.begin() + std::min<std::ptrdiff_t>(2, std::ssize(given)));
  options.arguments.insert(options.arguments.end(), given.begin() + std::ssize(options.compare), given.end());
  if (!options.compare.empty() && !options.strategies.empty()) throw UserError("--compare and --strategy: choose one");
}

void check_combinations(const Given& given, const Options& options) {
  if (options.quiet && options.verbose) throw UserError("--quiet and --verbose: choose one");
  for (const char* other : {"dry-run", "profile", "jobs", "timeout", "format", "trace", "vcd"}) {
    if (options.prepare && given.has(other)) throw UserError("--prepare and --{}: --prepare simulates nothing", other);
  }
  if (options.command == "plot" && options.by.size() > 1) throw UserError("--by: a figure takes one");
  if (given.has("sql") && options.sql.empty()) throw UserError("--sql: needs a SELECT");
  if (given.has("out") && options.out.empty()) throw UserError("--out: needs a name");
  if (given.has("html") && options.html.empty()) throw UserError("--html: needs a file");
  if (given.has("secret") && options.secret.empty()) throw UserError("--secret: needs a key");
  for (const char* other : {"terms", "all", "format"}) {
    if (given.has("html") && given.has(other))
      throw UserError("--html and --{}: the page has all of it; choose one", other);
  }
  if (given.has("samples") && !options.bands) throw UserError("--samples: needs --bands");
}

Options interpret(const po::variables_map& values, Options options) {
  const Given given(values);
  options.version = given.has("version");
  options.help = given.has("help");
  options.quiet = given.has("quiet");
  options.verbose = given.has("verbose");
  options.all = given.has("all");
  options.dry_run = given.has("dry-run");
  options.prepare = given.has("prepare");
  options.replace = given.has("replace");
  options.profile = given.has("profile");
  options.changed = given.has("changed");
  options.bands = given.has("bands");
  options.jobs_chosen = given.has("jobs");
  options.sql = given.text("sql");
  options.out = given.text("out");
  options.metric = given.text("metric");
  options.baseline = given.text("baseline");
  options.figure = given.text("figure");
  options.x_axis = given.text("x");
  options.configs = given.text("configs");
  options.overrides = given.texts("set");
  options.by = given.texts("by");
  options.where = given.texts("where");
  options.strategies = given.texts("strategy");
  options.arguments = given.texts("argument");
  options.point = given.text("point");
  options.html = given.text("html");
  options.terms = given.has("terms");
  options.answers = given.has("answers");
  options.secret = given.text("secret");
  take_compared(given.texts("compare"), options);
  options.trace = trace_options(given);
  check_combinations(given, options);
  if (given.has("format")) {
    const bool tells = options.command == "explain" || options.command == "quiz";  // text, which has no columns
    std::vector<std::string> formats = {"table", "json", "csv"};
    if (tells) formats.pop_back();
    options.format = static_cast<Format>(given.choice("format", formats));
  }
  given.read("transfer", 1, kMostTransfers, options.transfer);
  given.read("levels", 2, kMostLevels, options.levels);
  given.read("samples", 1, kMostSamples, options.samples);
  given.read("seed", 0, experiment::kMostSeed, options.seed);
  given.read("repetitions", 1, experiment::kMostRepetitions, options.repetitions);
  given.read("timeout", 1, kMostSeconds, options.timeout);
  given.read("max-points", 1, kMostMostPoints, options.most_points);
  read_slurm_options(given, values, options);
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  options.jobs = cores > 0 ? static_cast<unsigned>(cores) : 1;
  given.read("jobs", 1, kMostJobs, options.jobs);
  return options;
}

// The first word that is neither an option nor an option's value.
std::vector<std::string>::const_iterator find_command(const std::vector<std::string>& arguments) {
  auto at = arguments.begin();
  while (at != arguments.end() && at->starts_with('-')) at += takes_value(*at) && at + 1 != arguments.end() ? 2 : 1;
  return at;
}

}  // namespace

Options parse_command_line(const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    if (const std::string shown = experiment::printable(argument); shown != argument)
      throw UserError("'{}' has control characters, or is no UTF-8; allowed: arguments of printable UTF-8", shown);
  }
  const auto command = find_command(arguments);
  Options options;
  // Without a command, only --version and --help mean something.
  options.command = command == arguments.end() ? "help" : *command;
  const CommandRow& entry = command_row(options.command);
  std::vector<std::string> rest(arguments.begin(), command);
  if (command != arguments.end()) rest.insert(rest.end(), command + 1, arguments.end());

  po::options_description described = described_options(entry);
  po::options_description hidden;
  hidden.add_options()("argument", po::value<std::vector<std::string>>());
  po::options_description all;
  all.add(described).add(hidden);
  po::positional_options_description positional;
  positional.add("argument", -1);
  po::variables_map values;
  try {
    const int style = po::command_line_style::default_style & ~po::command_line_style::allow_guessing;
    po::store(po::command_line_parser(rest).options(all).positional(positional).style(style).run(), values);
  } catch (const po::unknown_option& error) {
    throw UserError(unknown_option(error.get_option_name(), entry));
  } catch (const po::error& error) {
    throw UserError("{}; see 'faultline help {}'", error.what(), entry.name);
  }
  options = interpret(values, std::move(options));
  if (options.help || options.version) return options;
  if (options.arguments.size() < entry.least_arguments) {
    throw UserError("'faultline {0}' needs {1}; see 'faultline help {0}'", entry.name, entry.needs);
  }
  if (options.arguments.size() > entry.most_arguments) {
    throw UserError("'{}': 'faultline {}' takes at most {} argument{}; see 'faultline help {}'",
                    options.arguments[entry.most_arguments], entry.name, entry.most_arguments,
                    entry.most_arguments == 1 ? "" : "s", entry.name);
  }
  return options;
}

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const CommandRow& row : command_rows()) names.emplace_back(row.name);
  return names;
}

std::string general_help() {
  constexpr std::size_t kSummaryColumn = 33;
  std::string text(kHelpHead);
  for (const CommandRow& row : command_rows()) {
    std::string use = fmt::format("  faultline {} {}", row.name, row.arguments);
    if (use.size() >= kSummaryColumn) use += "\n" + std::string(kSummaryColumn, ' ');
    text += fmt::format("{:<{}}{}\n", use, kSummaryColumn, row.summary);
  }
  return text.append(kHelpTail);
}

std::string command_help(const std::string& command) {
  std::ostringstream options;
  const CommandRow& row = command_row(command);
  options << described_options(row);
  return (row.help.empty() ? general_help() : std::string(row.help)) + "\n" + options.str();
}

}  // namespace faultline::app
