// SPDX-License-Identifier: Apache-2.0
// What Slurm is asked for on behalf of an experiment: [slurm] in its file, or --slurm-... on the command line. None of
// it changes a result.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/experiment/toml_document.hpp"

namespace faultline::experiment {

struct SlurmSettings {
  std::string partition;            // empty: the cluster's default; so for time and memory
  std::string time;                 // of a task, as sbatch --time takes it
  std::string memory;               // of a task, as sbatch --mem takes it
  std::optional<unsigned> tasks;    // of the array
  std::optional<unsigned> cpus;     // of a task: points that it simulates at a time
  std::vector<std::string> sbatch;  // arguments more, as they stand
};

constexpr unsigned kMostSlurmTasks = 1'000'000;
constexpr unsigned kMostSlurmCpus = 4096;
constexpr unsigned kUsualSlurmTasks = 16;

// Why sbatch would not take a value: empty where it would.
std::string why_no_slurm_time(const std::string& text);
std::string why_no_slurm_memory(const std::string& text);

SlurmSettings read_slurm(const Node& table, Diagnostics& diagnostics);
// As [slurm]; empty where nothing is set.
std::string to_toml(const SlurmSettings& settings);
// `above` wins; its further arguments follow those below.
SlurmSettings over(SlurmSettings below, const SlurmSettings& above);

}  // namespace faultline::experiment
