// SPDX-License-Identifier: Apache-2.0
#include "src/results/database.hpp"

#include <fmt/format.h>

#include <boost/algorithm/string/replace.hpp>

namespace faultline::results {
// Numbers of parameters: times in us, sizes in B, rates in b/s and B/s, frequencies in Hz, counts and shares 1.
const std::string_view kSchema = R"(
CREATE TABLE run (                   -- one row
  question TEXT NOT NULL,            -- what the experiment is to answer; may be empty
  experiment TEXT NOT NULL,          -- the file's name
  platform TEXT NOT NULL,            -- empty: the parameters' defaults
  seed INTEGER NOT NULL,             -- the first of the seeds
  repetitions INTEGER NOT NULL,      -- seeds of each combination: seed, seed + 1, ...
  points INTEGER NOT NULL,           -- how many there are
  program_version TEXT NOT NULL,
  program_commit TEXT NOT NULL,
  schema_version INTEGER NOT NULL    -- as PRAGMA user_version
);

CREATE TABLE strategies (            -- in the experiment's order
  position INTEGER NOT NULL,
  name TEXT PRIMARY KEY,
  description TEXT NOT NULL,
  look INTEGER NOT NULL              -- number of its colour and marker in figures
);

CREATE TABLE combinations (          -- points that differ by their seed alone are one
  number INTEGER PRIMARY KEY,        -- from 1
  strategy TEXT NOT NULL REFERENCES strategies(name),
  label TEXT NOT NULL,               -- 'resident, workload.size = 64 B'
  measured INTEGER NOT NULL,         -- of its points those that have metrics; 1 where one stands for all
  draws INTEGER NOT NULL,            -- 0: no random number, so that one run stands for all seeds, and has no noise
  unfinished_points INTEGER NOT NULL,  -- those that have no metrics
  failed_transfers INTEGER NOT NULL  -- of all its points: in no latency and no goodput
);

CREATE TABLE points (
  number INTEGER PRIMARY KEY,        -- from 1, in the experiment's order
  id TEXT NOT NULL,                  -- its result is points/ID.json
  combination INTEGER NOT NULL REFERENCES combinations(number),
  strategy TEXT NOT NULL REFERENCES strategies(name),
  seed INTEGER NOT NULL,
  label TEXT NOT NULL,               -- of a combination with repetitions: with its seed
  status TEXT NOT NULL,              -- complete, check failed, refused, misconfigured, host failed, timed out,
                                     -- bug, not run
  error TEXT,                        -- why it is not complete
  events INTEGER,                    -- of the event loop; NULL, as the next two, of a point that has not got to its end
  cell_hops INTEGER,                 -- cells that crossed a link, each link counted
  simulated_ps INTEGER,              -- simulated time [ps]
  transfers INTEGER,                 -- that were measured; NULL, as the next one, of a point that has no metrics
  failed_transfers INTEGER           -- of these, in no latency and no goodput
);
CREATE INDEX points_of_combination ON points(combination);
CREATE INDEX points_by_id ON points(id);

CREATE TABLE parameter_docs (        -- every parameter of the program
  key TEXT PRIMARY KEY,              -- 'workload.size'
  kind TEXT NOT NULL,                -- true/false, count, fraction, time, bytes, bit rate, byte rate, frequency,
                                     -- choice, text
  unit TEXT NOT NULL,                -- of its numbers: us, B, b/s, B/s, Hz, 1; empty for what is no number
  default_value TEXT NOT NULL,
  default_number REAL,
  allowed TEXT NOT NULL,
  meaning TEXT NOT NULL,
  source TEXT NOT NULL,              -- of the default
  standing TEXT NOT NULL             -- published, derived, fitted, assumed, setting
) WITHOUT ROWID;

CREATE TABLE axes (
  position INTEGER NOT NULL,         -- from 1; points follow each other with the last axis fastest
  key TEXT PRIMARY KEY REFERENCES parameter_docs(key),
  advances_with TEXT REFERENCES axes(key),  -- zipped or drawn together: the first of them
  leads INTEGER NOT NULL             -- 0: those that it advances with stand for it in tables and figures
) WITHOUT ROWID;

CREATE TABLE axis_values (           -- in the experiment's order; conditions may have left out all points of some
  key TEXT NOT NULL REFERENCES axes(key),
  position INTEGER NOT NULL,         -- from 1
  value TEXT NOT NULL,
  label TEXT,                        -- what tables and figures call it; NULL: as it is written
  PRIMARY KEY (key, position)
) WITHOUT ROWID;

CREATE TABLE fixed_parameters (      -- those that are the same in all points
  key TEXT PRIMARY KEY REFERENCES parameter_docs(key),
  value TEXT NOT NULL,               -- as files write it: '64 KiB'
  number REAL                        -- in the unit of parameter_docs; NULL for what is no number
) WITHOUT ROWID;

CREATE TABLE varied_parameters (     -- axes, and whatever else is not the same in all points
  point INTEGER NOT NULL REFERENCES points(number),
  key TEXT NOT NULL REFERENCES parameter_docs(key),
  value TEXT NOT NULL,
  number REAL,
  PRIMARY KEY (key, point)
) WITHOUT ROWID;

CREATE TABLE metric_docs (           -- metrics that any point has
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,         -- 'latency_mean'
  unit TEXT NOT NULL,                -- us, MB/s, B, ...; 1 for counts and shares
  description TEXT NOT NULL,
  of_completed INTEGER NOT NULL      -- 1: of the transfers that completed alone, as latency and goodput
);

CREATE TABLE metric_values (
  point INTEGER NOT NULL REFERENCES points(number),
  metric INTEGER NOT NULL REFERENCES metric_docs(id),
  value REAL,                        -- NULL: not a number
  PRIMARY KEY (metric, point)
) WITHOUT ROWID;

CREATE TABLE part_values (           -- of one node (or router without one), or of one flow
  point INTEGER NOT NULL REFERENCES points(number),
  part TEXT NOT NULL,                -- 'node 3', 'flow 0', 'victim rank 1'
  about TEXT NOT NULL,               -- of a flow: 'node 0 writes to node 1, 4 KiB each'
  metric INTEGER NOT NULL REFERENCES metric_docs(id),
  value REAL,
  PRIMARY KEY (point, part, metric)
) WITHOUT ROWID;

CREATE TABLE limits (                -- what limits a point's transfers, as far as its utilisation_... tell
  point INTEGER PRIMARY KEY REFERENCES points(number),
  text TEXT NOT NULL
);

CREATE TABLE mean_values (           -- over the seeds; empty when the run has no repetitions
  combination INTEGER NOT NULL REFERENCES combinations(number),
  metric INTEGER NOT NULL REFERENCES metric_docs(id),
  mean REAL NOT NULL,
  half_width REAL,                   -- of the mean's 95 % confidence interval, by Student's t; NULL of one seed
  deviation REAL,                    -- standard deviation of a seed's value; NULL of one seed
  seeds INTEGER NOT NULL,            -- that have the metric
  PRIMARY KEY (metric, combination)
) WITHOUT ROWID;

CREATE TABLE steps (                 -- of a transfer and its faults
  id INTEGER PRIMARY KEY,
  step TEXT NOT NULL,
  side TEXT NOT NULL,                -- source or destination of the data
  description TEXT NOT NULL,
  UNIQUE (step, side)
);

CREATE TABLE breakdown_values (
  point INTEGER NOT NULL REFERENCES points(number),
  position INTEGER NOT NULL,         -- from 1, in the order in which the steps happen
  step INTEGER NOT NULL REFERENCES steps(id),
  time_us REAL,                      -- mean over the transfers [us]
  samples INTEGER NOT NULL,
  PRIMARY KEY (point, position)
) WITHOUT ROWID;

CREATE TABLE mean_steps (            -- over the seeds; empty when the run has no repetitions
  combination INTEGER NOT NULL REFERENCES combinations(number),
  position INTEGER NOT NULL,
  step INTEGER NOT NULL REFERENCES steps(id),
  time_us REAL,                      -- of a seed without the step: 0, so that the sum stays the latency
  half_width_us REAL,                -- as in mean_values
  samples INTEGER NOT NULL,          -- of all seeds
  PRIMARY KEY (combination, position)
) WITHOUT ROWID;

CREATE TABLE distribution_docs (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,         -- 'latency'
  unit TEXT NOT NULL,
  description TEXT NOT NULL,
  relative_error REAL NOT NULL       -- a percentile is too great by this share of it at most
);

CREATE TABLE distribution_values (
  point INTEGER NOT NULL REFERENCES points(number),
  distribution INTEGER NOT NULL REFERENCES distribution_docs(id),
  count INTEGER NOT NULL,
  min REAL, p50 REAL, p90 REAL, p99 REAL, p999 REAL, max REAL,
  PRIMARY KEY (point, distribution)
) WITHOUT ROWID;

CREATE TABLE bucket_values (         -- of the log-linear histograms; none of them empty
  point INTEGER NOT NULL REFERENCES points(number),
  distribution INTEGER NOT NULL REFERENCES distribution_docs(id),
  lower REAL NOT NULL,               -- the least value that belongs here
  upper REAL NOT NULL,               -- the greatest
  count INTEGER NOT NULL,
  PRIMARY KEY (point, distribution, lower)
) WITHOUT ROWID;

CREATE TABLE series_docs (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,         -- 'goodput'
  unit TEXT NOT NULL,
  description TEXT NOT NULL
);

CREATE TABLE series_intervals (
  point INTEGER NOT NULL REFERENCES points(number),
  series INTEGER NOT NULL REFERENCES series_docs(id),
  interval_us REAL NOT NULL,         -- between two values
  PRIMARY KEY (point, series)
) WITHOUT ROWID;

CREATE TABLE series_values (
  point INTEGER NOT NULL REFERENCES points(number),
  series INTEGER NOT NULL REFERENCES series_docs(id),
  position INTEGER NOT NULL,         -- from 0
  value REAL,
  PRIMARY KEY (point, series, position)
) WITHOUT ROWID;

CREATE TABLE notes (                 -- what a reader of the figures must know
  point INTEGER NOT NULL REFERENCES points(number),
  position INTEGER NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (point, position)
) WITHOUT ROWID;

CREATE TABLE failed_checks (         -- what must never happen and did
  point INTEGER NOT NULL REFERENCES points(number),
  position INTEGER NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (point, position)
) WITHOUT ROWID;

CREATE VIEW parameters AS            -- every parameter of every point
  SELECT points.number AS point, d.key, f.value, f.number, d.unit, f.value <> d.default_value AS differs
    FROM points, fixed_parameters AS f JOIN parameter_docs AS d ON d.key = f.key
  UNION ALL
  SELECT v.point, d.key, v.value, v.number, d.unit, v.value <> d.default_value
    FROM varied_parameters AS v JOIN parameter_docs AS d ON d.key = v.key;

CREATE VIEW point_axes AS            -- where each point lies
  SELECT v.point, a.position, a.key, v.value, v.number, d.unit
    FROM axes AS a JOIN varied_parameters AS v ON v.key = a.key JOIN parameter_docs AS d ON d.key = a.key;

CREATE VIEW metrics AS               -- a row for each metric of each point
  SELECT v.point, d.name, v.value, d.unit, p.failed_transfers
    FROM metric_docs AS d JOIN metric_values AS v ON v.metric = d.id LEFT JOIN points AS p ON p.number = v.point;

CREATE VIEW part_metrics AS          -- a row for each metric of each part of each point
  SELECT v.point, v.part, v.about, d.name, v.value, d.unit, cast(f.value AS INTEGER) AS failed_transfers
    FROM metric_docs AS d JOIN part_values AS v ON v.metric = d.id
    LEFT JOIN part_values AS f ON f.point = v.point AND f.part = v.part
     AND f.metric = (SELECT id FROM metric_docs WHERE name = 'transfers_failed');

CREATE VIEW means AS                 -- a row for each metric of each combination
  SELECT m.combination, d.name, m.mean, m.half_width, m.deviation, m.seeds, d.unit, c.failed_transfers,
         c.unfinished_points
    FROM metric_docs AS d JOIN mean_values AS m ON m.metric = d.id
    LEFT JOIN combinations AS c ON c.number = m.combination
  UNION ALL
  SELECT p.combination, d.name, v.value, NULL, NULL, 1, d.unit, p.failed_transfers, 0
    FROM metric_docs AS d JOIN metric_values AS v ON v.metric = d.id JOIN points AS p ON p.number = v.point
   WHERE (SELECT repetitions FROM run) = 1 AND v.value IS NOT NULL;

CREATE VIEW breakdown AS             -- a row for each step of each point
  SELECT b.point, b.position, s.step, s.side, b.time_us, b.samples, s.description, p.failed_transfers
    FROM breakdown_values AS b JOIN steps AS s ON s.id = b.step LEFT JOIN points AS p ON p.number = b.point;

CREATE VIEW mean_breakdown AS        -- a row for each step of each combination
  SELECT m.combination, m.position, s.step, s.side, m.time_us, m.half_width_us, m.samples, s.description,
         c.failed_transfers, c.unfinished_points
    FROM mean_steps AS m JOIN steps AS s ON s.id = m.step LEFT JOIN combinations AS c ON c.number = m.combination
  UNION ALL
  SELECT p.combination, b.position, b.step, b.side, b.time_us, NULL, b.samples, b.description, p.failed_transfers, 0
    FROM breakdown AS b JOIN points AS p ON p.number = b.point
   WHERE (SELECT repetitions FROM run) = 1;

CREATE VIEW distributions AS         -- a row for each distribution of each point
  SELECT v.point, d.name, v.count, v.min, v.p50, v.p90, v.p99, v.p999, v.max, d.unit, p.failed_transfers
    FROM distribution_values AS v JOIN distribution_docs AS d ON d.id = v.distribution
    LEFT JOIN points AS p ON p.number = v.point;

CREATE VIEW buckets AS               -- a row for each bucket of each distribution of each point
  SELECT b.point, d.name, b.lower, b.upper, b.count, d.unit
    FROM bucket_values AS b JOIN distribution_docs AS d ON d.id = b.distribution;

CREATE VIEW series AS                -- a row for each value; its interval begins at time_us of the measured transfers
  SELECT v.point, d.name, v.position * i.interval_us AS time_us, v.value, d.unit
    FROM series_values AS v JOIN series_docs AS d ON d.id = v.series
    JOIN series_intervals AS i ON i.point = v.point AND i.series = v.series;
)";

std::string sql_name(const std::string& name) { return '"' + boost::replace_all_copy(name, "\"", "\"\"") + '"'; }
std::string sql_text(const std::string& text) { return "'" + boost::replace_all_copy(text, "'", "''") + "'"; }

std::string wide_views(const std::vector<std::string>& axes, const std::vector<std::string>& metrics) {
  std::string axis_columns, values, means;
  for (const std::string& axis : axes) {
    axis_columns += fmt::format(
        ",\n  (SELECT coalesce(v.number, v.value) FROM varied_parameters AS v WHERE v.key = {} AND v.point = p.number) "
        "AS {}",
        sql_text(axis), sql_name(axis));
  }
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    values +=
        fmt::format(",\n  (SELECT m.value FROM metric_values AS m WHERE m.metric = {} AND m.point = p.number) AS {}",
                    i + 1, sql_name(metrics[i]));
    for (const char* column : {"mean", "half_width"}) {
      const std::string name = metrics[i] + (column == std::string("mean") ? "" : "_half_width");
      means += fmt::format(",\n  (SELECT m.{} FROM means AS m WHERE m.name = {} AND m.combination = c.number) AS {}",
                           column, sql_text(metrics[i]), sql_name(name));
    }
  }
  return fmt::format(
      "CREATE VIEW results AS             -- a row a point: axes in the units of parameter_docs, metrics in theirs\n"
      "SELECT p.number AS point, p.combination, p.strategy, p.seed, p.status, p.error,\n"
      "  p.failed_transfers{0}{1}\n  FROM points AS p;\n"
      "CREATE VIEW mean_results AS        -- a row a combination: means over the seeds, and their half widths\n"
      "SELECT c.number AS combination, c.strategy, c.label, c.measured,\n"
      "  c.unfinished_points, c.failed_transfers{0}{2}\n"
      "  FROM combinations AS c JOIN points AS p\n"
      "    ON p.number = (SELECT min(number) FROM points WHERE combination = c.number);\n",
      axis_columns, values, means);
}

}  // namespace faultline::results
