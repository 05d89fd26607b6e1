// SPDX-License-Identifier: Apache-2.0
// The command line, read.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/experiment/slurm_settings.hpp"
#include "src/trace_options.hpp"

namespace faultline::app {

enum class Format { table, json, csv };

struct Options {
  std::string command;                 // as command_names(); without one "help"
  std::vector<std::string> arguments;  // after the command, without options
  std::vector<std::string> overrides;  // --set
  std::vector<std::string> by;         // query; plot: one
  std::vector<std::string> where;      // query, diff, plot
  std::string sql;                     // query
  Format format = Format::table;
  std::string out;
  std::string configs;
  std::optional<std::uint64_t> seed;
  std::optional<unsigned> repetitions;
  unsigned jobs = 1;
  bool jobs_chosen = false;                     // --jobs was given
  std::optional<std::chrono::seconds> timeout;  // of each point
  std::optional<std::size_t> most_points;
  bool replace = false;  // another experiment's tables
  bool prepare = false;
  bool on_slurm = false;
  experiment::SlurmSettings slurm;  // over the experiment's
  bool quiet = false;
  bool verbose = false;
  bool version = false;
  bool help = false;
  bool all = false;                     // config: every point; diff: metrics that are equal, too
  bool dry_run = false;                 // run: what would be simulated
  bool profile = false;                 // run: where host time goes
  TraceOptions trace;                   // run: what is recorded
  std::string metric;                   // sensitivity, plot; empty: what is usual
  std::vector<std::string> strategies;  // sensitivity: empty for all; explain: one at most
  std::string baseline;                 // sensitivity: a strategy; empty for none
  unsigned levels = 2;                  // sensitivity: values of a number, from its lowest to its highest
  bool bands = false;                   // validate
  unsigned samples = 40;                // validate: of the bands
  bool changed = false;                 // config: only what is not the default
  std::string figure;                   // plot, as are the following
  std::string x_axis;
  std::uint64_t transfer = 0;        // explain, as are the following; 0: the first that is measured
  std::string point;                 // empty: the first
  std::vector<std::string> compare;  // empty, or two strategies
  std::string html;                  // a file
  bool terms = false;
  bool answers = false;  // quiz
  std::string secret;    // quiz
};

// Throws UserError, with the nearest name for a misspelling and what the command takes.
Options parse_command_line(const std::vector<std::string>& arguments);

// All commands, and what `faultline help COMMAND` prints: use, options, examples.
std::vector<std::string> command_names();
std::string general_help();
std::string command_help(const std::string& command);

}  // namespace faultline::app
