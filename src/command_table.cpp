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
    {"explain", "EXPERIMENT", "the story of one transfer: who did what, when, for how long and why",
     "transfer strategy compare point set seed html terms format all timeout max-points", 1, 1, kExperiment,
     kExplainHelp},
    {"quiz", "[TOPIC]", "a problem that the simulator makes, with or without answers", "seed answers secret format", 0,
     1, "", kQuizHelp},
    {"config", "EXPERIMENT", "what an experiment would simulate, and who set which value",
     "set format repetitions max-points all changed", 1, 1, kExperiment, kConfigHelp},
    {"validate", "", "published figures beside simulated ones", "bands samples set format seed jobs", 0, 1, "",
     kValidateHelp},
    {"help", "COMMAND", "more about one of them, with examples", "", 0, 1, "", ""},
};

constexpr const char* kOfAllCommands = "configs quiet verbose version help";

// A command's own meaning of an option stands before everybody else's.
const std::vector<OptionRow> kOptions{
    {"set", "KEY=VALUE", "set a parameter, over every file; may be repeated", nullptr, true},
    {"format", "FORMAT", "table (default: the story in sentences) or json, on standard output", "explain"},
    {"format", "FORMAT", "table (default: text) or json, on standard output", "quiz"},
    {"format", "FORMAT", "table (default), json or csv, on standard output"},
    {"out", "FILE", "the page (default RUN/report.html)", "report"},
    {"out", "FILE", "the figure, .pdf or .png (default RUN/figures/NAME, both)", "plot"},
    {"out", "FOLDER", "the run folder, new, empty or a run's (default runs/EXPERIMENT-N)"},
    {"replace", nullptr,
     "put another experiment's run into the folder that --out names, in place of the tables that are there"},
    {"seed", "N", "which problem (default 1)", "quiz"},
    {"answers", nullptr, "the same page with its answers"},
    {"secret", "KEY", "a teacher's: other problems for the same seeds, whose answers only the key gives"},
    {"seed", "N", "of the random streams (default: the experiment's, or 1)"},
    {"repetitions", "N", "simulate each combination with N seeds, from the first on (default: the experiment's, or 1)"},
    {"jobs", "N", "points at a time (default: one a core)", nullptr, false, 'j'},
    {"timeout", "SECONDS", "end a point that takes longer; it is a row with its reason (default: none)"},
    {"max-points", "N", "refuse an experiment of more points (default: 1000000)"},
    {"dry-run", nullptr, "print the points and estimate time and memory from a few of them; leaves nothing"},
    {"prepare", nullptr, "make the run folder and print its name; workers simulate the points"},
    {"profile", nullptr, "print on standard error where host time went, by part of the model and by process"},
    {"on", "WHERE", "here (default), or slurm: by a job array of workers"},
    {"slurm-partition", "NAME", "with --on slurm; so are the following"},
    {"slurm-time", "TIME", "of each task, such as 2:00:00"},
    {"slurm-memory", "SIZE", "of each task, such as 4G"},
    {"slurm-tasks", "N", "of the array: workers (default: 16, or as many as there are points)"},
    {"slurm-cpus", "N", "of each task: points at a time (default: 1)"},
    {"slurm-sbatch", "ARGUMENT", "one more argument for sbatch, such as --account=x; may be repeated", nullptr, true},
    {"trace", "FILE", "record one point for ui.perfetto.dev: docs/traces.md"},
    {"vcd", "FILE", "record a few signals of one point for a wave viewer"},
    {"trace-point", "POINT", "which: its number in the list, or how its id begins (needed when there are several)"},
    {"trace-nodes", "LIST", "nodes and routers, such as 0,4-7 (default: all)"},
    {"trace-transfers", "LIST", "transfers, counted from 1 in the order in which they begin (default: all)"},
    {"trace-time", "FROM..TO", "of simulated time, such as 10us..2ms, 10us.. or ..2ms (default: all)"},
    {"trace-limit", "SIZE", "bytes of a file; what no longer fits is left out, and a note says so (default 256 MiB)"},
    {"metric", "NAME", "what is compared or drawn (default latency_mean, or goodput)"},
    {"baseline", "STRATEGY", "rank the ratio of the metric to what this one of the experiment's strategies has"},
    {"transfer", "N", "which: counted from 1 in the order in which programs begin them (default: the first measured)"},
    {"strategy", "NAME", "whose: any that 'faultline list strategies' shows (default: the experiment's first)",
     "explain", true},
    {"strategy", "NAME", "only this one of the experiment's strategies; may be repeated", nullptr, true},
    {"compare", "S1 S2", "two strategies side by side, on one clock that begins when the transfer is posted", nullptr,
     true},
    {"point", "POINT", "which: its number in the list, or how its id begins (default: the first)"},
    {"html", "FILE", "a page that steps through the story both ways, instead of the text"},
    {"terms", nullptr, "also what the terms mean: docs/glossary.md"},
    {"levels", "N", "values of each number, from its lowest to its highest (default 2)"},
    {"bands", nullptr, "how far each figure spreads over the plausible values of what no source states"},
    {"samples", "N", "of the bands (default 40)"},
    {"figure", "NAME", "latency, bandwidth, breakdown, heatmap or tornado"},
    {"x", "AXIS", "what goes along x (default workload.size, or the first axis that there is)"},
    {"by", "AXIS", "what the lines differ by, or of a heat map the rows (default strategy)", "plot", true},
    {"by", "AXIS",
     "a row for each value of this parameter, 'strategy' or 'seed'; may be repeated (default: strategy and all axes)",
     nullptr, true},
    {"where", "KEY=VALUE", "only such points; KEY is a parameter or strategy; also !=, <, <=, >, >=; may be repeated",
     "plot", true},
    {"where", "KEY=VALUE",
     "only such points; KEY is a parameter, strategy, seed or status; also !=, <, <=, >, >=; may be repeated", nullptr,
     true},
    {"sql", "SELECT", "a question in SQL instead of metrics: docs/results.md"},
    {"all", nullptr, "metrics that are equal, too", "diff"},
    {"all", nullptr, "also what repeats itself, as retries do", "explain"},
    {"all", nullptr, "every point, not only the first"},
    {"changed", nullptr, "only values that are not the default"},
    {"configs", "FOLDER", "platforms, strategies and experiments (default: what ships, or $FAULTLINE_CONFIGS)"},
    {"quiet", nullptr, "no progress, no hints", nullptr, false, 'q'},
    {"verbose", nullptr, "say more of what is done", nullptr, false, 'v'},
    {"version", nullptr, "print the version"},
    {"help", nullptr, "print this help", nullptr, false, 'h'},
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
