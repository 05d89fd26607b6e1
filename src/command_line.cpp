// SPDX-License-Identifier: Apache-2.0
#include "src/command_line.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/program_options.hpp>
#include <charconv>
#include <sstream>

#include "models/sim/parameters.hpp"
#include "src/experiment/diagnostics.hpp"
#include "src/help_texts.hpp"

namespace faultline::app {
namespace po = boost::program_options;
namespace {

constexpr unsigned kMostJobs = 4096;
constexpr unsigned kMostLevels = 100;
constexpr std::uint64_t kMostSeconds = 100'000'000;  // three years
constexpr std::size_t kMostMetrics = 1000;
constexpr std::uint64_t kMostMostPoints = 1'000'000'000;

// Which options a command takes; the rest would be silently useless, and so is refused.
struct CommandOptions {
  const char* command;
  std::vector<const char*> options;
  std::size_t least_arguments;
  std::size_t most_arguments;
};
const std::vector<CommandOptions> kCommands{
    {"run",
     {"set", "format", "out", "seed", "jobs", "timeout", "max-points", "dry-run", "prepare", "profile", "on",
      "slurm-partition", "slurm-time", "slurm-memory", "slurm-tasks", "slurm-cpus", "slurm-sbatch"},
     1,
     1},
    {"worker", {"jobs", "timeout"}, 1, 1},
    {"sensitivity",
     {"metric", "strategy", "levels", "set", "format", "out", "seed", "jobs", "timeout", "max-points", "dry-run"},
     1,
     1},
    {"plot", {"figure", "out", "metric", "x", "by", "where"}, 1, 1},
    {"status", {"format"}, 1, 1},
    {"query", {"by", "where", "sql", "format"}, 1, kMostMetrics},
    {"diff", {"where", "format", "all"}, 2, kMostMetrics},
    {"list", {"format"}, 0, 2},
    {"config", {"set", "format", "max-points", "all", "changed"}, 1, 1},
    {"validate", {"set", "format", "seed", "jobs"}, 0, 1},
    {"help", {}, 0, 1},
};

const CommandOptions& entry_of(const std::string& command) {
  const auto it = std::find_if(kCommands.begin(), kCommands.end(), [&](const auto& c) { return command == c.command; });
  if (it != kCommands.end()) return *it;
  const std::vector<std::string> names = command_names();
  throw UserError(fmt::format("no command '{}'; allowed: {}{}", command, fmt::join(names, ", "),
                              did_you_mean(sim::nearest_name(command, names))));
}

void add_slurm_option(po::options_description& options, const std::string& name) {
  const auto text = [](const char* value) { return po::value<std::string>()->value_name(value); };
  if (name == "slurm-partition") {
    options.add_options()("slurm-partition", text("NAME"), "with --on slurm; so are the following");
  } else if (name == "slurm-time") {
    options.add_options()("slurm-time", text("TIME"), "of each task, such as 2:00:00");
  } else if (name == "slurm-memory") {
    options.add_options()("slurm-memory", text("SIZE"), "of each task, such as 4G");
  } else if (name == "slurm-tasks") {
    options.add_options()("slurm-tasks", text("N"),
                          "of the array: workers (default: 16, or as many as there are points)");
  } else if (name == "slurm-cpus") {
    options.add_options()("slurm-cpus", text("N"), "of each task: points at a time (default: 1)");
  } else if (name == "slurm-sbatch") {
    options.add_options()("slurm-sbatch", po::value<std::vector<std::string>>()->value_name("ARGUMENT"),
                          "one more argument for sbatch, such as --account=x; may be repeated");
  }
}

void add_option(po::options_description& options, const std::string& name, const std::string& command) {
  const auto text = [] { return po::value<std::string>(); };
  if (name == "set") {
    options.add_options()("set", po::value<std::vector<std::string>>()->value_name("KEY=VALUE"),
                          "set a parameter, over every file; may be repeated");
  } else if (name == "format") {
    options.add_options()("format", text()->value_name("FORMAT"), "table (default), json or csv, on standard output");
  } else if (name == "out") {
    options.add_options()("out", text()->value_name("PATH"),
                          "the run folder, new, empty or a run's (default runs/EXPERIMENT-N); plot: the .pdf or .png");
  } else if (name == "seed") {
    options.add_options()("seed", text()->value_name("N"), "of the random streams (default: the experiment's, or 1)");
  } else if (name == "jobs") {
    options.add_options()("jobs,j", text()->value_name("N"), "points at a time (default: one a core)");
  } else if (name == "timeout") {
    options.add_options()("timeout", text()->value_name("SECONDS"),
                          "end a point that takes longer; it is a row with its reason (default: none)");
  } else if (name == "max-points") {
    options.add_options()("max-points", text()->value_name("N"),
                          "refuse an experiment of more points (default: 1000000)");
  } else if (name == "dry-run") {
    options.add_options()("dry-run",
                          "print the points and estimate time and memory from a few of them; leaves nothing");
  } else if (name == "prepare") {
    options.add_options()("prepare", "make the run folder and print its name; workers simulate the points");
  } else if (name == "on") {
    options.add_options()("on", text()->value_name("WHERE"), "here (default), or slurm: by a job array of workers");
  } else if (name.starts_with("slurm-")) {
    add_slurm_option(options, name);
  } else if (name == "profile") {
    options.add_options()("profile",
                          "print on standard error where host time went, by part of the model and by process");
  } else if (name == "metric") {
    options.add_options()("metric", text()->value_name("NAME"),
                          "what is compared or drawn (default latency_mean, or goodput)");
  } else if (name == "figure") {
    options.add_options()("figure", text()->value_name("NAME"), "latency, bandwidth, breakdown, heatmap or tornado");
  } else if (name == "x") {
    options.add_options()("x", text()->value_name("AXIS"),
                          "what goes along x (default workload.size, or the first axis that there is)");
  } else if (name == "by") {
    options.add_options()(
        "by", po::value<std::vector<std::string>>()->value_name("AXIS"),
        command == "plot" ? "what the lines differ by, or of a heat map the rows (default strategy)"
                          : "a row for each value of this parameter, 'strategy' or 'seed'; may be repeated (default: "
                            "strategy and all axes)");
  } else if (name == "where" && command == "plot") {
    options.add_options()("where", po::value<std::vector<std::string>>()->value_name("AXIS=VALUE"),
                          "only points that have it; may be repeated");
  } else if (name == "where") {
    options.add_options()("where", po::value<std::vector<std::string>>()->value_name("KEY=VALUE"),
                          "only such points; KEY is a parameter, strategy, seed or status; also !=, <, <=, >, >=; may "
                          "be repeated");
  } else if (name == "sql") {
    options.add_options()("sql", text()->value_name("SELECT"), "a question in SQL instead of metrics: docs/results.md");
  } else if (name == "strategy") {
    options.add_options()("strategy", po::value<std::vector<std::string>>()->value_name("NAME"),
                          "only this one of the experiment's strategies; may be repeated");
  } else if (name == "levels") {
    options.add_options()("levels", text()->value_name("N"),
                          "values of each number, from its lowest to its highest (default 2)");
  } else if (name == "all" && command == "diff") {
    options.add_options()("all", "metrics that are equal, too");
  } else if (name == "all") {
    options.add_options()("all", "every point, not only the first");
  } else if (name == "changed") {
    options.add_options()("changed", "only values that are not the default");
  }
}

po::options_description options_of(const CommandOptions& entry) {
  po::options_description options("Options", 110, 70);
  for (const char* name : entry.options) add_option(options, name, entry.command);
  options.add_options()("configs", po::value<std::string>()->value_name("FOLDER"),
                        "platforms, strategies and experiments (default: what ships, or $FAULTLINE_CONFIGS)");
  options.add_options()("quiet,q", "no progress, no hints")("verbose,v", "say more of what is done");
  options.add_options()("version", "print the version")("help,h", "print this help");
  return options;
}

std::uint64_t whole_number(const std::string& option, const std::string& text, std::uint64_t low, std::uint64_t high) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc{} && end == text.data() + text.size() && number >= low && number <= high) return number;
  throw UserError(fmt::format("--{}: '{}'; allowed: a whole number from {} to {}", option, text, low, high));
}

Format format_of(const std::string& text) {
  const std::vector<std::string> names{"table", "json", "csv"};
  const auto it = std::find(names.begin(), names.end(), text);
  if (it != names.end()) return static_cast<Format>(it - names.begin());
  throw UserError(fmt::format("--format: '{}'; allowed: {}{}", text, fmt::join(names, ", "),
                              did_you_mean(sim::nearest_name(text, names))));
}

// What the user typed as an option that the command does not have.
std::string unknown_option(const std::string& typed, const CommandOptions& entry) {
  std::vector<std::string> known{"--configs", "--quiet", "--verbose", "--version", "--help"};
  for (const char* name : entry.options) known.push_back(std::string("--") + name);
  std::sort(known.begin(), known.end());
  return fmt::format("{}: no such option of 'faultline {}'; allowed: {}{}", typed, entry.command,
                     fmt::join(known, ", "), did_you_mean(sim::nearest_name(typed, known)));
}

std::string checked(const std::string& option, const std::string& text, std::string (*why_not)(const std::string&)) {
  if (const std::string why = why_not(text); !why.empty()) throw UserError(fmt::format("--{}: {}", option, why));
  return text;
}

void read_slurm_options(const po::variables_map& values, Options& options) {
  const auto text = [&](const char* name) { return values[name].as<std::string>(); };
  if (values.count("on") != 0) {
    const std::vector<std::string> places{"here", "slurm"};
    if (std::find(places.begin(), places.end(), text("on")) == places.end())
      throw UserError(fmt::format("--on: '{}'; allowed: {}{}", text("on"), fmt::join(places, ", "),
                                  did_you_mean(sim::nearest_name(text("on"), places))));
    options.on_slurm = text("on") == "slurm";
  }
  for (const char* other : {"dry-run", "prepare", "profile", "jobs"}) {
    if (options.on_slurm && values.count(other) != 0)
      throw UserError(
          fmt::format("--on slurm and --{}: choose one{}", other,
                      std::string(other) == "jobs" ? "; --slurm-cpus is what a task simulates at a time" : ""));
  }
  for (const auto& [name, value] : values) {
    if (name.starts_with("slurm-") && !options.on_slurm) throw UserError(fmt::format("--{}: needs --on slurm", name));
  }
  if (values.count("slurm-partition") != 0) options.slurm.partition = text("slurm-partition");
  if (values.count("slurm-time") != 0)
    options.slurm.time = checked("slurm-time", text("slurm-time"), why_no_slurm_time);
  if (values.count("slurm-memory") != 0)
    options.slurm.memory = checked("slurm-memory", text("slurm-memory"), why_no_slurm_memory);
  if (values.count("slurm-tasks") != 0)
    options.slurm.tasks = static_cast<unsigned>(whole_number("slurm-tasks", text("slurm-tasks"), 1, kMostSlurmTasks));
  if (values.count("slurm-cpus") != 0)
    options.slurm.cpus = static_cast<unsigned>(whole_number("slurm-cpus", text("slurm-cpus"), 1, kMostSlurmCpus));
  if (values.count("slurm-sbatch") != 0) options.slurm.sbatch = values["slurm-sbatch"].as<std::vector<std::string>>();
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
  options.profile = values.count("profile") != 0;
  options.changed = values.count("changed") != 0;
  if (options.quiet && options.verbose) throw UserError("--quiet and --verbose: choose one");
  for (const char* other : {"dry-run", "profile", "jobs", "timeout", "format"}) {
    if (options.prepare && values.count(other) != 0)
      throw UserError(fmt::format("--prepare and --{}: --prepare simulates nothing", other));
  }
  if (values.count("set") != 0) options.overrides = values["set"].as<std::vector<std::string>>();
  if (values.count("by") != 0) options.by = values["by"].as<std::vector<std::string>>();
  if (values.count("where") != 0) options.where = values["where"].as<std::vector<std::string>>();
  if (options.command == "plot" && options.by.size() > 1) throw UserError("--by: a figure takes one");
  options.sql = text("sql");
  if (values.count("sql") != 0 && options.sql.empty()) throw UserError("--sql: needs a SELECT");
  if (values.count("format") != 0) options.format = format_of(text("format"));
  if (values.count("out") != 0 && text("out").empty()) throw UserError("--out: needs a folder");
  options.out = text("out");
  options.metric = text("metric");
  options.figure = text("figure");
  options.x_axis = text("x");
  if (values.count("strategy") != 0) options.strategies = values["strategy"].as<std::vector<std::string>>();
  if (values.count("levels") != 0)
    options.levels = static_cast<unsigned>(whole_number("levels", text("levels"), 2, kMostLevels));
  options.configs = text("configs");
  // Not beyond what a TOML integer holds, so that effective.toml can be read again.
  if (values.count("seed") != 0) options.seed = whole_number("seed", text("seed"), 0, INT64_MAX);
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

bool is_of_runs(const std::string& command) { return command == "status" || command == "worker" || command == "query"; }

// The first word that is neither an option nor an option's value.
std::vector<std::string>::const_iterator find_command(const std::vector<std::string>& arguments) {
  const std::vector<std::string> valued{"--set",
                                        "--format",
                                        "--out",
                                        "--seed",
                                        "--jobs",
                                        "-j",
                                        "--timeout",
                                        "--configs",
                                        "--metric",
                                        "--strategy",
                                        "--levels",
                                        "--figure",
                                        "--max-points",
                                        "--x",
                                        "--by",
                                        "--where",
                                        "--sql",
                                        "--on",
                                        "--slurm-partition",
                                        "--slurm-time",
                                        "--slurm-memory",
                                        "--slurm-tasks",
                                        "--slurm-cpus",
                                        "--slurm-sbatch"};
  auto at = arguments.begin();
  while (at != arguments.end() && at->starts_with('-')) {
    const bool takes_next = std::find(valued.begin(), valued.end(), *at) != valued.end();
    at += takes_next && at + 1 != arguments.end() ? 2 : 1;
  }
  return at;
}

}  // namespace

Options parse_command_line(const std::vector<std::string>& arguments) {
  const auto command = find_command(arguments);
  Options options;
  // Without a command, only --version and --help mean something.
  options.command = command == arguments.end() ? "help" : *command;
  const CommandOptions& entry = entry_of(options.command);
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
    throw UserError(fmt::format("{}; see 'faultline help {}'", error.what(), entry.command));
  }
  options = interpret(values, std::move(options));
  if (values.count("argument") != 0) options.arguments = values["argument"].as<std::vector<std::string>>();
  if (options.help || options.version) return options;
  if (options.arguments.size() < entry.least_arguments) {
    throw UserError(fmt::format("'faultline {0}' needs {1}; see 'faultline help {0}'", entry.command,
                                options.command == "diff" ? "two runs, such as runs/NAME-1 runs/NAME-2"
                                : is_of_runs(options.command)
                                    ? "a run folder, such as runs/NAME-1"
                                    : "an experiment: a file or a name from 'faultline list experiments'"));
  }
  if (options.arguments.size() > entry.most_arguments) {
    throw UserError(fmt::format("'{}': 'faultline {}' takes at most {} argument{}; see 'faultline help {}'",
                                options.arguments[entry.most_arguments], entry.command, entry.most_arguments,
                                entry.most_arguments == 1 ? "" : "s", entry.command));
  }
  return options;
}

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  names.reserve(kCommands.size());
  for (const CommandOptions& entry : kCommands) names.emplace_back(entry.command);
  return names;
}

std::string general_help() { return std::string(kGeneralHelp); }

std::string command_help(const std::string& command) {
  const CommandOptions& entry = entry_of(command);
  std::ostringstream options;
  options << options_of(entry);
  return std::string(help_text(command)) + "\n" + options.str();
}

}  // namespace faultline::app
