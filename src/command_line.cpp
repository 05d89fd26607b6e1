// SPDX-License-Identifier: Apache-2.0
#include "src/command_line.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <sstream>

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
constexpr std::uint64_t kMostMostPoints = 1'000'000'000;

void add_option(po::options_description& options, const OptionRow& row) {
  const std::string names = row.letter == 0 ? row.name : fmt::format("{},{}", row.name, row.letter);
  auto add = options.add_options();
  if (row.value == nullptr) {
    add(names.c_str(), row.text);
  } else if (row.is_repeated) {
    add(names.c_str(), po::value<std::vector<std::string>>()->value_name(row.value), row.text);
  } else {
    add(names.c_str(), po::value<std::string>()->value_name(row.value), row.text);
  }
}

po::options_description options_of(const CommandRow& command) {
  po::options_description options("Options", 110, 70);
  for (const char* name : command.options) add_option(options, option_row(name, command.name));
  for (const char* name : common_options()) add_option(options, option_row(name, command.name));
  return options;
}

std::uint64_t whole_number(const std::string& option, const std::string& text, std::uint64_t low, std::uint64_t high) {
  if (const auto number = experiment::whole(text); number && *number >= low && *number <= high) return *number;
  throw UserError("--{}: '{}'; allowed: a whole number from {} to {}", option, text, low, high);
}

Format format_of(const std::string& text) {
  const std::vector<std::string> names{"table", "json", "csv"};
  const auto it = std::ranges::find(names, text);
  if (it != names.end()) return static_cast<Format>(it - names.begin());
  throw UserError("--format: '{}'; {}", text, experiment::allowed_names(text, names));
}

// What the user typed as an option that the command does not have.
std::string unknown_option(const std::string& typed, const CommandRow& entry) {
  std::vector<std::string> known;
  for (const char* name : common_options()) known.push_back(std::string("--") + name);
  for (const char* name : entry.options) known.push_back(std::string("--") + name);
  std::ranges::sort(known);
  return fmt::format("{}: no such option of 'faultline {}'; {}", typed, entry.name,
                     experiment::allowed_names(typed, known));
}

std::string checked(const std::string& option, const std::string& text, std::string (*why_not)(const std::string&)) {
  if (const std::string why = why_not(text); !why.empty()) throw UserError("--{}: {}", option, why);
  return text;
}

void read_slurm_options(const po::variables_map& values, Options& options) {
  const auto text = [&](const char* name) { return values[name].as<std::string>(); };
  if (values.count("on") != 0) {
    const std::vector<std::string> places{"here", "slurm"};
    if (std::ranges::find(places, text("on")) == places.end())
      throw UserError("--on: '{}'; {}", text("on"), experiment::allowed_names(text("on"), places));
    options.on_slurm = text("on") == "slurm";
  }
  for (const char* other : {"dry-run", "prepare", "profile", "jobs", "trace", "vcd"}) {
    if (options.on_slurm && values.count(other) != 0)
      throw UserError("--on slurm and --{}: choose one{}", other,
                      std::string(other) == "jobs" ? "; --slurm-cpus is what a task simulates at a time" : "");
  }
  for (const auto& [name, value] : values) {
    if (name.starts_with("slurm-") && !options.on_slurm) throw UserError("--{}: needs --on slurm", name);
  }
  if (values.count("slurm-partition") != 0) options.slurm.partition = text("slurm-partition");
  if (values.count("slurm-time") != 0)
    options.slurm.time = checked("slurm-time", text("slurm-time"), experiment::why_no_slurm_time);
  if (values.count("slurm-memory") != 0)
    options.slurm.memory = checked("slurm-memory", text("slurm-memory"), experiment::why_no_slurm_memory);
  if (values.count("slurm-tasks") != 0)
    options.slurm.tasks =
        static_cast<unsigned>(whole_number("slurm-tasks", text("slurm-tasks"), 1, experiment::kMostSlurmTasks));
  if (values.count("slurm-cpus") != 0)
    options.slurm.cpus =
        static_cast<unsigned>(whole_number("slurm-cpus", text("slurm-cpus"), 1, experiment::kMostSlurmCpus));
  if (values.count("slurm-sbatch") != 0) options.slurm.sbatch = values["slurm-sbatch"].as<std::vector<std::string>>();
}

TraceOptions trace_options(const po::variables_map& values) {
  TraceOptions options;
  const auto given = [&](const char* name) { return values.count(name) != 0; };
  const auto text = [&](const char* name) { return given(name) ? values[name].as<std::string>() : std::string(); };
  for (const char* file : {"trace", "vcd"}) {
    if (given(file) && text(file).empty()) throw UserError("--{}: needs a file", file);
  }
  options.request.perfetto = text("trace");
  options.vcd = text("vcd");
  if (given("vcd")) options.request.vcd = vcd_file(options.vcd);
  for (const char* name : {"trace-point", "trace-nodes", "trace-transfers", "trace-time", "trace-limit"}) {
    if (given(name) && !options.any()) throw UserError("--{}: needs --trace FILE or --vcd FILE", name);
  }
  if (given("trace-transfers") && !given("trace")) throw UserError("--trace-transfers: needs --trace FILE");
  if (options.any() && given("dry-run")) throw UserError("--dry-run records nothing: leave out --trace and --vcd");
  options.point = text("trace-point");
  trace::TraceFilter& filter = options.request.filter;
  if (given("trace-nodes")) filter.nodes = number_ranges("trace-nodes", text("trace-nodes"));
  if (given("trace-transfers")) filter.transfers = transfer_ranges(text("trace-transfers"));
  if (given("trace-time")) set_window(filter, text("trace-time"));
  if (given("trace-limit")) filter.limit = trace_limit(text("trace-limit"));
  return options;
}

Options interpret(const po::variables_map& values, Options options) {
  const auto text = [&](const char* name) {
    return values.count(name) != 0 ? values[name].as<std::string>() : std::string();
  };
  options.version = values.count("version") != 0;
  options.help = values.count("help") != 0;
  options.quiet = values.count("quiet") != 0;
  options.verbose = values.count("verbose") != 0;
  options.all = values.count("all") != 0;
  options.dry_run = values.count("dry-run") != 0;
  options.prepare = values.count("prepare") != 0;
  options.replace = values.count("replace") != 0;
  options.profile = values.count("profile") != 0;
  options.changed = values.count("changed") != 0;
  options.trace = trace_options(values);
  if (options.quiet && options.verbose) throw UserError("--quiet and --verbose: choose one");
  for (const char* other : {"dry-run", "profile", "jobs", "timeout", "format", "trace", "vcd"}) {
    if (options.prepare && values.count(other) != 0)
      throw UserError("--prepare and --{}: --prepare simulates nothing", other);
  }
  if (values.count("set") != 0) options.overrides = values["set"].as<std::vector<std::string>>();
  if (values.count("by") != 0) options.by = values["by"].as<std::vector<std::string>>();
  if (values.count("where") != 0) options.where = values["where"].as<std::vector<std::string>>();
  if (options.command == "plot" && options.by.size() > 1) throw UserError("--by: a figure takes one");
  options.sql = text("sql");
  if (values.count("sql") != 0 && options.sql.empty()) throw UserError("--sql: needs a SELECT");
  if (values.count("format") != 0) options.format = format_of(text("format"));
  if (values.count("out") != 0 && text("out").empty()) throw UserError("--out: needs a name");
  options.out = text("out");
  options.metric = text("metric");
  options.baseline = text("baseline");
  options.figure = text("figure");
  options.x_axis = text("x");
  if (values.count("strategy") != 0) options.strategies = values["strategy"].as<std::vector<std::string>>();
  if (values.count("levels") != 0)
    options.levels = static_cast<unsigned>(whole_number("levels", text("levels"), 2, kMostLevels));
  options.bands = values.count("bands") != 0;
  if (values.count("samples") != 0) {
    if (!options.bands) throw UserError("--samples: needs --bands");
    options.samples = static_cast<unsigned>(whole_number("samples", text("samples"), 1, kMostSamples));
  }
  options.configs = text("configs");
  if (values.count("seed") != 0) options.seed = whole_number("seed", text("seed"), 0, experiment::kMostSeed);
  if (values.count("repetitions") != 0)
    options.repetitions =
        static_cast<unsigned>(whole_number("repetitions", text("repetitions"), 1, experiment::kMostRepetitions));
  if (values.count("timeout") != 0)
    options.timeout = std::chrono::seconds(whole_number("timeout", text("timeout"), 1, kMostSeconds));
  if (values.count("max-points") != 0)
    options.most_points = whole_number("max-points", text("max-points"), 1, kMostMostPoints);
  read_slurm_options(values, options);
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  options.jobs = cores > 0 ? static_cast<unsigned>(cores) : 1;
  options.jobs_chosen = values.count("jobs") != 0;
  if (options.jobs_chosen) options.jobs = static_cast<unsigned>(whole_number("jobs", text("jobs"), 1, kMostJobs));
  return options;
}

// The first word that is neither an option nor an option's value.
std::vector<std::string>::const_iterator find_command(const std::vector<std::string>& arguments) {
  auto at = arguments.begin();
  while (at != arguments.end() && at->starts_with('-')) {
    at += takes_value(*at) && at + 1 != arguments.end() ? 2 : 1;
  }
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

  po::options_description described = options_of(entry);
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
  if (values.count("argument") != 0) options.arguments = values["argument"].as<std::vector<std::string>>();
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
  options << options_of(row);
  return (row.help.empty() ? general_help() : std::string(row.help)) + "\n" + options.str();
}

}  // namespace faultline::app
