// SPDX-License-Identifier: Apache-2.0
#include "src/command_table.hpp"

namespace faultline::app {

const std::string_view kHelpHead =
    R"(Faultline simulates RDMA on virtual addresses: what does it cost when a page is not there?

)";

const std::string_view kHelpTail = R"(
Start with:

  faultline list experiments
  faultline run pinning-vs-faults

An experiment of your own is a file of five lines: docs/experiments.md.
Exit codes: 0 fine, 1 a check failed, 2 the command line or a file is wrong, 3 a bug of the simulator,
130 interrupted.
)";

const std::string_view kRunHelp = R"(faultline run EXPERIMENT [options]

Simulates every point of EXPERIMENT (a file, or a name from 'faultline list experiments'), each in a process
of its own, prints the tables that the experiment asks for and leaves a run folder with all results.
Ctrl-C keeps the points that are complete, and so does whatever else ends a run: the same command goes on from there.
A run of more than two seconds tells how far it is: events, cell-hops (cells
that crossed a link, each link counted) and simulated time, and each of them per second of host time; meta.json has
them for the run and for each point.

  faultline run latency-vs-size                       an experiment that ships
  faultline run mine.toml -j 4                        one's own, four points at a time
  faultline run mine.toml --set workload.iterations=10 --set workload.size="64 KiB"
                                                      other values; an axis shrinks to the one that is set
  faultline run mine.toml --format json > mine.json   one array of points, for programs
  faultline run mine.toml --repetitions 5             each combination with five seeds; into a folder that has some
                                                      (--out) those that it lacks
  faultline run mine.toml --out results/monday        choose the run folder: new, empty, or a run's, which then goes on
  faultline run other.toml --out results/monday --replace
                                                      in place of another experiment's run that the folder holds
  faultline run runs/mine-1/effective.toml            the same run again
  faultline run mine.toml --dry-run                   how many points, and about how long?
  faultline run mine.toml --timeout 600               no point may take longer than ten minutes
  faultline run mine.toml --prepare --out /shared/x   only make the folder, for workers (see 'faultline help worker')
  faultline run /shared/x                             what is missing of a run, and its tables
  faultline run mine.toml --on slurm --slurm-time 2:00:00 --slurm-memory 4G --slurm-tasks 50
                                                      by a job array of 50 workers (docs/clusters.md)
  faultline run mine.toml -j 1 --profile              where does host time go?
  faultline run mine.toml --trace t.perfetto --trace-point 3
                                                      every step of the third point, for ui.perfetto.dev
  faultline run mine.toml --trace t.perfetto --trace-time 1ms..2ms --trace-nodes 0-3 --trace-transfers 10-20
                                                      less of it: what fits the window, the nodes and the transfers
  faultline run mine.toml --vcd waves.vcd             queues, interrupts and links as signals, for gtkwave

--profile prints two tables on standard error and changes no result. By part: parts of the model as room::Class, the
software of simulated threads, the event loop, SystemC's kernel; they add up to the whole. By process: the host's
process of each point, with its CPU time and memory. Processors that other points share (-j) blur the times.

--trace and --vcd record one point while it is simulated, again if its result is there, and change no result. Of an
experiment with several points --trace-point says which; without it the list is printed. A file that reaches
--trace-limit holds what happened before, and a note. docs/traces.md shows what is in them and how to open them.
)";

const std::string_view kWorkerHelp = R"(faultline worker RUN [options]

Simulates points of the run in the folder RUN, until nothing is left that has no result and that nobody else is at. Any
number of workers, on any number of machines that share the folder, may work beside each other and beside 'faultline
run', which makes the folder, and writes the tables at its end. A worker may be killed at any time: its points
are free again. It must be the program that has made the run (the same build).

  faultline worker runs/mine-1                        beside 'faultline run', from another terminal or machine
  faultline worker runs/mine-1 -j 8                   eight points at a time
  mpirun -n 64 faultline worker /shared/mine          each rank is a worker, with one point at a time unless -j says
                                                      otherwise; rank 0 tells how far the run is
  faultline run runs/mine-1                           afterwards: what is still missing, and the tables

How machines share a folder, and what Slurm does: docs/clusters.md.
)";

const std::string_view kSensitivityHelp = R"(faultline sensitivity EXPERIMENT [options]

Which assumptions does a result rest on? Every parameter whose value no source states (standing assumed, fitted or
derived in 'faultline list parameters') goes through its plausible range, one at a time, at every point of EXPERIMENT;
what a metric makes of it is a row of a tornado table, the greatest effect first. Numbers whose plausible range
nobody has stated go from half to double of what they are, as far as that is legal, and are marked; flags and choices
take every other value. An effect is the metric's greatest value less its smallest, in percent of what it is without
changes, at the point where that is most. Parameters that change nothing are counted. With --baseline it is not the
metric that is ranked but its ratio to that of another strategy, which has the same changes: does a comparison rest on
what nobody knows?
The run folder runs/EXPERIMENT-sensitivity-N is that of a run, with sensitivity.json and sensitivity.csv, and goes on in
the same way when it was interrupted. What else is ranked in it later goes beside them: sensitivity-goodput.csv.

  faultline sensitivity fault-breakdown --set workload.cold=destination
                                                      what does the cost of a fault rest on?
  faultline sensitivity mine.toml --metric goodput --strategy fault/touch-ahead
                                                      another metric, one strategy of several
  faultline sensitivity mine.toml --baseline resident does the distance to the bound rest on it?
  faultline sensitivity mine.toml --levels 5          five values of each number: effects that are not monotonic
  faultline sensitivity mine.toml --dry-run           how many points, and about how long?
  faultline sensitivity mine.toml --format csv        every parameter, point and value
  faultline plot runs/mine-sensitivity-1 --figure tornado
                                                      the table as a figure
)";

const std::string_view kPlotHelp = R"(faultline plot RUN --figure NAME [options]

Draws a figure for a paper from the run folder RUN: vector PDF with embedded fonts, and PNG of 300 dpi, as wide as a
column (or both, where there are several panels), with units, in colours that everybody can tell apart. They go to
RUN/figures/NAME.pdf and .png, or to the one file that --out names. Points that differ by their seed alone are a mean
with an error bar, the 95 % confidence interval. The same run gives the same bytes.

  latency     a metric against an axis, latency_mean against the size of transfers unless said otherwise; bars where the
              axis is of names
  bandwidth   the same of goodput, in Gb/s, from 0
  breakdown   where each point's time goes, step by step
  heatmap     a metric over two axes
  tornado     what 'faultline sensitivity' has found

What is neither x nor lines becomes panels side by side. --where takes fewer points, by the conditions of 'faultline
query' on parameters and strategy. Needs Debian's python3-matplotlib and python3-pandas.

  faultline plot runs/pinning-vs-faults-1 --figure latency
  faultline plot runs/timeout-1 --figure latency --x exanest.block_timeout --metric retransmitted_bytes
  faultline plot runs/cold-share-1 --figure bandwidth --x workload.cold_share --where workload.cold=both
  faultline plot runs/timeout-1 --figure latency --where "exanest.block_timeout>=1 ms"
  faultline plot runs/fault-breakdown-1 --figure breakdown --out breakdown.pdf
  faultline plot runs/fault-breakdown-sensitivity-1 --figure tornado
)";

const std::string_view kStatusHelp = R"(faultline status RUN [options]

Says how far the run in the folder RUN is: points that are complete, that failed and why, that are to do; who is at work
there, a 'faultline run' or workers, at which points, and then the rate and the time left. A worker that is gone was
killed, one that was stopped has ended by a signal (Ctrl-C) or because it could not write: its points are free, and a
'faultline run' or another worker does them. One that is alive but silent has not been heard of for half a minute: it
stands still (SIGSTOP, a debugger), and nobody else gets its points until it goes on or is killed. Files of points that
are damaged are named; 'faultline run' simulates these points again.

  faultline status runs/mine-1
  faultline status runs/mine-1 --format json          for programs
)";

const std::string_view kQueryHelp = R"(faultline query RUN [METRIC...] [options]

Asks the database in the run folder RUN. For each METRIC: how many points have it, their mean with half of its 95 %
confidence interval over the seeds (Student's t), the least and the greatest. A row stands for one combination of
strategy and axes, or what --by says; a row of several combinations has no interval, because more than seeds tells its
points apart. Of axes that advance together one stands for all. Without METRIC: the axes and metrics that there are.
Units are in the headers; csv has plain numbers. Behind a latency !2 says that two transfers failed and are not in it,
!!1 that a point has no result; csv and json have columns of these.
--where, here and in 'diff' and 'plot': KEY=VALUE, and with !=, <, <=, >, >=; KEY is a parameter, strategy, and but in
'plot', whose figures have means over the seeds, seed or status; quantities with their units, shares as 0.5 or "50 %".

  faultline query runs/mine-1                         what can be asked for?
  faultline query runs/mine-1 latency_mean            strategy by strategy, axis by axis
  faultline query runs/mine-1 latency_mean faults --by strategy --where workload.size="64 KiB"
  faultline query runs/mine-1 goodput --where "workload.size>=4 KiB" --format csv
  faultline query runs/mine-1 goodput --where "workload.cold_share=50 %"
  faultline query runs/mine-1 --sql "SELECT point, text FROM limits"
                                                      what limits the transfers of each point?
  faultline query runs/mine-1 --sql "SELECT label, error FROM points WHERE status <> 'complete'"
                                                      anything else; docs/results.md describes tables and views
)";

const std::string_view kDiffHelp = R"(faultline diff A B [METRIC...] [options]

Compares two runs, or two points: RUN:NUMBER or RUN:ID, with what differs from them by the seed alone. First the
configuration: parameters with their values in A and in B. Then the points that only one has; points of runs are
matched by strategy and axes. RUN:KEY=VALUE is a part of a run, and matched by all but KEY and the axes that advance
with it; it is refused where that does not tell its points apart. Then the METRICs (all that
differ) with the change from A to B in percent, and whether it is beyond noise: by Welch's t test over the seeds, where
chance makes one mark in twenty. "exact": no repetition gives another value, so there is no noise to test against. With
one seed of a point that draws random numbers nothing is known of noise. Marks as in 'faultline query': !2, !!1; there
is no verdict beside them ("marked").

  faultline diff runs/mine-1 runs/mine-2              before and after
  faultline diff runs/mine-1 runs/mine-2 latency_mean --where strategy=fault/touch-ahead
  faultline diff runs/mine-1:3 runs/mine-1:9          two points of a run, numbered as 'faultline query RUN --sql
                                                      "SELECT number, label FROM points"' says
  faultline diff runs/mine-1:strategy=mlock runs/mine-1:strategy=pin-once
                                                      two strategies of a run, at each size and so on
  faultline diff runs/mine-1 runs/mine-2 --format csv for a spreadsheet: the metrics alone
)";

const std::string_view kReportHelp = R"(faultline report RUN [options]

Writes one HTML page about the run in the folder RUN: the question, each table that the experiment asks for with a
chart, an explorer (any metric over any axis, by any other), time series where points have them, all points, which
failed and why, and which parameters are not the default and who set them. The page holds its data and its program: it
opens from disk, needs no network, and can be sent to a colleague. Charts are hovered, zoomed, filtered by the values
of axes, and exported as SVG and PNG; tables are sorted and downloaded as CSV. It is light or dark as the reader's
system is, or as its switch says, and prints.
The same run gives the same bytes.

  faultline report runs/mine-1                        writes runs/mine-1/report.html, and says so
  faultline report runs/mine-1 --out mine.html        somewhere else
)";

const std::string_view kListHelp = R"(faultline list [KIND [PATTERN]] [options]

KIND is platforms, strategies, workloads, experiments, parameters, metrics or steps (of the fault breakdown);
without it, all but the last three.
PATTERN keeps names that contain it; '*' stands for anything.

  faultline list                                      an overview
  faultline list strategies fault/stall               what each of these is made of and based on, adds and excludes
  faultline list parameters                           every parameter: unit, range, default, meaning, source
  faultline list parameters smmu                      those of one part
  faultline list parameters '*.latency'               those whose name ends so
  faultline list parameters --format csv              for a spreadsheet
)";

const std::string_view kExplainHelp = R"(faultline explain EXPERIMENT [options]

Simulates one point of EXPERIMENT up to the end of one transfer and tells the story of that transfer: who did what,
when, for how long, why, and what waited for it; then the total by cause. Times are in microseconds since the program
posted the transfer, to the nanosecond; what comes before the post is negative. A line stands at the time at which
what it tells was over. Who: the library of the program, the kernel, an interrupt, the fault thread, the SMMU or the
NIC's own MMU, the DMA engine of the NIC, what schedules its blocks (firmware on an R5, or a DMA processor), the
network, the page table of a buffer.
What comes several times in a row, as retries do, is told once, unless --all is given. --verbose adds to each time the
parameters that it is made of. --html writes a page that steps through the story forwards and backwards, with page
tables, TLBs, frames, pins and registers at every instant.

  faultline explain fault-breakdown                   the first point's first measured transfer
  faultline explain fault-breakdown --strategy mlock  another strategy, the experiment's or any that ships
  faultline explain fault-breakdown --compare pin-once fault/touch-ahead
                                                      two of them, side by side from the post on
  faultline explain fault-breakdown --set workload.cold=destination --terms
                                                      another point, and what the terms mean
  faultline explain mine.toml --point 7 --transfer 3  the seventh point, its third transfer
  faultline explain mine.toml --html story.html       the page
  faultline explain mine.toml --format json           for programs
)";

const std::string_view kQuizHelp = R"(faultline quiz [TOPIC] [options]

Makes a small problem: a transfer, described, with questions about what happens to it. The simulator makes the problem
and knows its answers. Another seed is another problem, without end; the same seed is the same problem everywhere.
Without TOPIC: the topics, and the labs (docs/labs) that they belong to.
For a class: give each student a seed and keep a key. With --secret KEY the same seeds are other problems; a student who
has the seed and not the key cannot print the answers.

  faultline quiz                                      which topics are there?
  faultline quiz first-fault --seed 7                 a problem
  faultline quiz first-fault --seed 7 --answers       the same page with its answers
  faultline quiz locks --seed 12 --secret "winter 26" a student's page; with --answers the teacher's
  faultline quiz locks --seed 12 --format json        for programs, such as learning platforms
)";

const std::string_view kConfigHelp = R"(faultline config EXPERIMENT [options]

Prints the configuration that 'faultline run' would simulate, and simulates nothing: every parameter of the first
point, with a comment on each that is not the default: what the default is and which file, line or option set it.
Mistakes in the files are reported as 'run' would report them.

  faultline config mine.toml --changed                only what is not the default
  faultline config mine.toml --all --changed          the same for every point
  faultline config mine.toml --set workload.size="4 KiB"
                                                      did the option take effect?
)";

const std::string_view kValidateHelp = R"(faultline validate [FIGURES.toml] [options]

Simulates the points to which published figures belong and prints both side by side, with the error, whether it is
within what is allowed, and what would make the check fail. A figure is 'predicted'; or a 'fit', to which parameters
were chosen (then agreement proves nothing); or holds 'by construction'; or is the 'other reading' of a figure's words,
which is shown and not checked. FIGURES.toml is validation/published.toml of the configs folder unless given. Exit
code 1 when a check fails.

--bands shows how far each prediction and each fit spreads: all numbers that no source states, those that were fitted
too, are drawn from their plausible ranges by equal factors, each sample one point of a Latin hypercube over all of
them at once. Printed are the lowest and the highest value and the 5 % and 95 % ranks (for an ordering: of the distance
to the other side), and in how many samples the figure comes out within what is allowed, also where it is known to be
off. Choices between designs, numbers without a plausible range, values outside theirs (a platform's of another
machine) and what the figure itself or --set fixes are not varied; a value that does not go with the others stays as it
is. The same seed draws the same samples.

  faultline validate
  faultline validate --format json
  faultline validate --bands                                  40 samples of each
  faultline validate --bands --samples 200 --seed 7           finer, and others
  faultline validate --set network.internal_latency="200 ns"  how much does a figure depend on that?
)";

}  // namespace faultline::app
