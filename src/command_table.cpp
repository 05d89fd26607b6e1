// SPDX-License-Identifier: Apache-2.0
#include "src/command_table.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "src/command_line.hpp"
#include "src/experiment/diagnostics.hpp"

namespace faultline::app {
namespace {

constexpr std::size_t kMostMetrics = 1000;

constexpr const char* kExperiment = "an experiment: a file or a name from 'faultline list experiments'";
constexpr const char* kRun = "a run folder, such as runs/NAME-1";
constexpr const char* kTwoRuns = "two runs, such as runs/NAME-1 runs/NAME-2";

const std::vector<CommandRow> kCommands{
    {"run", "EXPERIMENT", "simulate every point of an experiment and print its tables",
     "set format repetitions out seed jobs timeout max-points dry-run prepare profile on slurm-partition slurm-time "
     "slurm-memory slurm-tasks slurm-cpus slurm-sbatch trace vcd trace-point trace-nodes trace-transfers trace-time "
     "trace-limit replace",
     1, 1, kExperiment, kRunHelp},
    {"worker", "RUN", "help with a run's points, on this machine or another one", "jobs timeout", 1, 1, kRun,
     kWorkerHelp},
    {"sensitivity", "EXPERIMENT", "which of the parameters without a published source matter, and how much",
     "metric baseline strategy levels set format out replace seed repetitions jobs timeout max-points dry-run", 1, 1,
     kExperiment, kSensitivityHelp},
    {"plot", "RUN --figure NAME", "a figure for a paper, as PDF and PNG", "figure out metric x by where", 1, 1, kRun,
     kPlotHelp},
    {"status", "RUN", "how far a run is, from another terminal", "format", 1, 1, kRun, kStatusHelp},
    {"query", "RUN METRIC", "what a run has measured, by axis", "by where sql format", 1, kMostMetrics, kRun,
     kQueryHelp},
    {"diff", "A B", "what tells two runs, or two points, apart", "where format all", 2, kMostMetrics, kTwoRuns,
     kDiffHelp},
    {"report", "RUN", "one HTML page with the charts and tables of a run", "out", 1, 1, kRun, kReportHelp},
    {"list", "", "what there is: platforms, strategies, workloads, experiments, parameters, ...", "format", 0, 2, "",
     kListHelp},
    {"config", "EXPERIMENT", "what an experiment would simulate, and who set which value",
     "set format repetitions max-points all changed", 1, 1, kExperiment, kConfigHelp},
    {"validate", "", "published figures beside simulated ones", "bands samples set format seed jobs", 0, 1, "",
     kValidateHelp},
    {"help", "COMMAND", "more about one of them, with examples", "", 0, 1, "", ""},
};

constexpr const char* kOfAllCommands = "configs quiet verbose version help";

// A command's own meaning of an option stands before everybody else's.
const std::vector<OptionRow> kOptions{
    {"set", nullptr, 0, "KEY=VALUE", true, "set a parameter, over every file; may be repeated"},
    {"format", nullptr, 0, "FORMAT", false, "table (default), json or csv, on standard output"},
    {"out", "report", 0, "FILE", false, "the page (default RUN/report.html)"},
    {"out", "plot", 0, "FILE", false, "the figure, .pdf or .png (default RUN/figures/NAME, both)"},
    {"out", nullptr, 0, "FOLDER", false, "the run folder, new, empty or a run's (default runs/EXPERIMENT-N)"},
    {"replace", nullptr, 0, nullptr, false,
     "put another experiment's run into the folder that --out names, in place of the tables that are there"},
    {"seed", nullptr, 0, "N", false, "of the random streams (default: the experiment's, or 1)"},
    {"repetitions", nullptr, 0, "N", false,
     "simulate each combination with N seeds, from the first on (default: the experiment's, or 1)"},
    {"jobs", nullptr, 'j', "N", false, "points at a time (default: one a core)"},
    {"timeout", nullptr, 0, "SECONDS", false,
     "end a point that takes longer; it is a row with its reason (default: none)"},
    {"max-points", nullptr, 0, "N", false, "refuse an experiment of more points (default: 1000000)"},
    {"dry-run", nullptr, 0, nullptr, false,
     "print the points and estimate time and memory from a few of them; leaves nothing"},
    {"prepare", nullptr, 0, nullptr, false, "make the run folder and print its name; workers simulate the points"},
    {"profile", nullptr, 0, nullptr, false,
     "print on standard error where host time went, by part of the model and by process"},
    {"on", nullptr, 0, "WHERE", false, "here (default), or slurm: by a job array of workers"},
    {"slurm-partition", nullptr, 0, "NAME", false, "with --on slurm; so are the following"},
    {"slurm-time", nullptr, 0, "TIME", false, "of each task, such as 2:00:00"},
    {"slurm-memory", nullptr, 0, "SIZE", false, "of each task, such as 4G"},
    {"slurm-tasks", nullptr, 0, "N", false, "of the array: workers (default: 16, or as many as there are points)"},
    {"slurm-cpus", nullptr, 0, "N", false, "of each task: points at a time (default: 1)"},
    {"slurm-sbatch", nullptr, 0, "ARGUMENT", true,
     "one more argument for sbatch, such as --account=x; may be repeated"},
    {"trace", nullptr, 0, "FILE", false, "record one point for ui.perfetto.dev: docs/traces.md"},
    {"vcd", nullptr, 0, "FILE", false, "record a few signals of one point for a wave viewer"},
    {"trace-point", nullptr, 0, "POINT", false,
     "which: its number in the list, or how its id begins (needed when there are several)"},
    {"trace-nodes", nullptr, 0, "LIST", false, "nodes and routers, such as 0,4-7 (default: all)"},
    {"trace-transfers", nullptr, 0, "LIST", false,
     "transfers, counted from 1 in the order in which they begin (default: all)"},
    {"trace-time", nullptr, 0, "FROM..TO", false,
     "of simulated time, such as 10us..2ms, 10us.. or ..2ms (default: all)"},
    {"trace-limit", nullptr, 0, "SIZE", false,
     "bytes of a file; what no longer fits is left out, and a note says so (default 256 MiB)"},
    {"metric", nullptr, 0, "NAME", false, "what is compared or drawn (default latency_mean, or goodput)"},
    {"baseline", nullptr, 0, "STRATEGY", false,
     "rank the ratio of the metric to what this one of the experiment's strategies has"},
    {"strategy", nullptr, 0, "NAME", true, "only this one of the experiment's strategies; may be repeated"},
    {"levels", nullptr, 0, "N", false, "values of each number, from its lowest to its highest (default 2)"},
    {"bands", nullptr, 0, nullptr, false,
     "how far each figure spreads over the plausible values of what no source states"},
    {"samples", nullptr, 0, "N", false, "of the bands (default 40)"},
    {"figure", nullptr, 0, "NAME", false, "latency, bandwidth, breakdown, heatmap or tornado"},
    {"x", nullptr, 0, "AXIS", false, "what goes along x (default workload.size, or the first axis that there is)"},
    {"by", "plot", 0, "AXIS", true, "what the lines differ by, or of a heat map the rows (default strategy)"},
    {"by", nullptr, 0, "AXIS", true,
     "a row for each value of this parameter, 'strategy' or 'seed'; may be repeated (default: strategy and all axes)"},
    {"where", "plot", 0, "KEY=VALUE", true,
     "only such points; KEY is a parameter or strategy; also !=, <, <=, >, >=; may be repeated"},
    {"where", nullptr, 0, "KEY=VALUE", true,
     "only such points; KEY is a parameter, strategy, seed or status; also !=, <, <=, >, >=; may be repeated"},
    {"sql", nullptr, 0, "SELECT", false, "a question in SQL instead of metrics: docs/results.md"},
    {"all", "diff", 0, nullptr, false, "metrics that are equal, too"},
    {"all", nullptr, 0, nullptr, false, "every point, not only the first"},
    {"changed", nullptr, 0, nullptr, false, "only values that are not the default"},
    {"configs", nullptr, 0, "FOLDER", false,
     "platforms, strategies and experiments (default: what ships, or $FAULTLINE_CONFIGS)"},
    {"quiet", nullptr, 'q', nullptr, false, "no progress, no hints"},
    {"verbose", nullptr, 'v', nullptr, false, "say more of what is done"},
    {"version", nullptr, 0, nullptr, false, "print the version"},
    {"help", nullptr, 'h', nullptr, false, "print this help"},
};

}  // namespace

const std::vector<CommandRow>& command_rows() { return kCommands; }

const CommandRow& command_row(const std::string& command) {
  const auto it = std::ranges::find_if(kCommands, [&](const auto& c) { return command == c.name; });
  if (it != kCommands.end()) return *it;
  const std::vector<std::string> names = command_names();
  throw UserError("no command '{}'; {}", command, experiment::allowed_names(command, names));
}

const OptionRow& option_row(const std::string& name, const std::string& command) {
  const auto it = std::ranges::find_if(kOptions, [&](const OptionRow& row) {
    return name == row.name && (row.command == nullptr || command == row.command);
  });
  if (it == kOptions.end()) throw std::logic_error("no such option: " + name);
  return *it;
}

std::vector<std::string> options_of(const CommandRow& command) {
  std::vector<std::string> names;
  std::istringstream words(std::string(command.options) + " " + kOfAllCommands);
  for (std::string name; words >> name;) names.push_back(name);
  return names;
}

bool takes_value(const std::string& typed) {
  return std::ranges::any_of(kOptions, [&](const OptionRow& row) {
    const bool is_it =
        typed == std::string("--") + row.name || (row.letter != 0 && typed == std::string{'-', row.letter});
    return row.value != nullptr && is_it;
  });
}

}  // namespace faultline::app
