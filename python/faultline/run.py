# SPDX-License-Identifier: Apache-2.0
"""A run folder's results.sqlite, read into DataFrames."""

import difflib
import pathlib
import sqlite3

try:
    import pandas as pd
except ImportError as error:
    raise ImportError(
        "faultline needs pandas: Debian package python3-pandas, which is for /usr/bin/python3"
    ) from error

from faultline import seal

SCHEMA_VERSION = 5
APPLICATION_ID = 0x464C544C
LOCKED_S = 2.0


class RunError(Exception):
    """A run that cannot be read, or a name that it does not have. The text says what to do."""


class Run:
    """A run to read: its folder, or the database in it.

    Frames of points have the index `point`, those of means `combination`: points that differ by their seed alone.
    They begin with `strategy` and a column for each axis. Numbers are in the units of `units`.
    """

    def __init__(self, path):
        path = pathlib.Path(path)
        self.path = path / "results.sqlite" if path.is_dir() else path
        if not self.path.is_file():
            raise RunError(f"{self.path}: no such file: no run has ended there, or an older program's")
        # immutable is not said: a run that goes on renames another file over this one.
        self._connection = sqlite3.connect(self.path.absolute().as_uri() + "?mode=ro", uri=True, timeout=LOCKED_S)
        if self._pragma("application_id") != APPLICATION_ID:
            raise RunError(f"{self.path}: is no database of Faultline's results{self._again()}")
        version = self._pragma("user_version")
        if version != SCHEMA_VERSION:
            raise RunError(
                f"{self.path}: has schema version {version}, and this module reads {SCHEMA_VERSION}; "
                f"'faultline run {self.path.parent}' of the program beside it makes it again"
            )
        if not seal.is_sealed(self.path.read_bytes(), seal.DATABASE):
            raise RunError(f"{self.path}: is damaged (its checksum is another){self._again()}")
        self.info = self.sql("SELECT * FROM run").iloc[0].to_dict()
        axes = self.sql("SELECT a.key, a.leads, d.unit FROM axes AS a JOIN parameter_docs AS d USING (key) ORDER BY a.position")
        self.axes = list(axes["key"])
        self.leading_axes = list(axes["key"][axes["leads"] == 1])
        self.strategies = list(self.sql("SELECT name FROM strategies ORDER BY position")["name"])
        docs = self.sql("SELECT name, unit, description, of_completed FROM metric_docs ORDER BY id")
        self.metric_docs = docs.set_index("name").astype({"of_completed": bool})
        self.units = {**dict(zip(axes["key"], axes["unit"])), **self.metric_docs["unit"]}

    def close(self):
        self._connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def sql(self, query, parameters=()):
        """The rows of a query; `parameters` stand for its question marks."""
        try:
            return pd.read_sql_query(query, self._connection, params=parameters)
        except (sqlite3.Error, pd.errors.DatabaseError) as error:
            raise self._explained(error) from error

    def points(self):
        """Each point, whatever came of it: strategy, axes, seed, status, error, what was simulated, transfers and of these
        failed_transfers."""
        rest = self.sql("SELECT number AS point, combination, status, error, events, cell_hops, simulated_ps, transfers, "
                        "failed_transfers FROM points")
        return self._places("point").join(rest.set_index("point"))

    def metrics(self, *names):
        """The metrics (all, or those that are named) of each point; of those without a result NaN. Beside latencies and
        goodputs stand failed_transfers, which are in none."""
        names = self._known(names)
        frame = self._places("point").join(self._columns("SELECT point, value FROM metrics WHERE name = ?", names))
        return self._beside(frame, names, "SELECT number AS point, failed_transfers FROM points")

    def means(self, *names):
        """Means over the seeds; NAME_half_width is of their 95 % confidence interval, NaN of a single seed. Beside latencies and
        goodputs stand failed_transfers of all seeds, which are in none, and unfinished_points, which have none."""
        names = self._known(names)
        frame = self._places("combination")
        for column, suffix in (("mean", ""), ("half_width", "_half_width"), ("seeds", "_seeds")):
            query = f"SELECT combination, {column} FROM means WHERE name = ?"
            columns = self._columns(query, names, suffix)
            # Where all are NULL pandas does not know that they are numbers.
            frame = frame.join(columns.astype(float) if column == "half_width" else columns)
        frame = frame[self._place_columns() + [name + s for name in names for s in ("", "_half_width", "_seeds")]]
        return self._beside(
            frame, names, "SELECT number AS combination, failed_transfers, unfinished_points FROM combinations")

    def parts(self):
        """Each node, router and flow of each point: part, about, and a column for each metric that any of them has."""
        rows = self.sql("SELECT point, part, about, name, value FROM part_metrics")
        frame = rows.pivot(index=["point", "part", "about"], columns="name", values="value").reset_index(["part", "about"])
        metrics = [name for name in self.metric_docs.index if name in frame]
        return self._places("point").join(frame[["part", "about", *metrics]], how="inner")

    def limits(self):
        """What limits the transfers of each point: a sentence."""
        return self._placed("point", 'SELECT point, text AS "limit" FROM limits ORDER BY point')

    def breakdown(self):
        """The steps of each point's transfers in their order: step, side, time_us, samples, description."""
        return self._placed("point", "SELECT * FROM breakdown ORDER BY point, position")

    def mean_breakdown(self):
        """The steps of each combination: means over the seeds, with half_width_us."""
        return self._placed("combination", "SELECT * FROM mean_breakdown ORDER BY combination, position")

    def distributions(self):
        """Count, extremes and percentiles of each distribution of each point."""
        return self._placed("point", "SELECT * FROM distributions ORDER BY point, name")

    def buckets(self, name="latency"):
        """The histogram of one distribution of each point: lower, upper, count."""
        self._check(name, self.sql("SELECT name FROM distribution_docs")["name"], "distribution")
        query = "SELECT point, lower, upper, count FROM buckets WHERE name = ? ORDER BY point, lower"
        return self._placed("point", query, (name,))

    def series(self, name):
        """One time series of each point: time_us, value. Runs have them where series.period is set."""
        self._check(name, self.sql("SELECT name FROM series_docs")["name"], "series")
        return self._placed("point", "SELECT point, time_us, value FROM series WHERE name = ?", (name,))

    def parameters(self, point=1):
        """Every parameter of one point: value as files write it, number, unit, and whether it differs from the default."""
        frame = self.sql("SELECT key, value, number, unit, differs FROM parameters WHERE point = ? ORDER BY key", (point,))
        return frame.astype({"differs": bool}).set_index("key")

    def _pragma(self, name):
        try:
            return self._connection.execute(f"PRAGMA {name}").fetchone()[0]
        except sqlite3.Error as error:
            raise self._explained(error) from error

    def _again(self):
        return f"; 'faultline run {self.path.parent}' makes a run's again" if self.path.name == "results.sqlite" else ""

    def _explained(self, error):
        text = str(error)
        if "locked" in text:
            return RunError(f"{self.path}: another program has locked it; end what writes to it and try again")
        if "malformed" in text or "not a database" in text:
            return RunError(f"{self.path}: is damaged ({text}){self._again()}")
        return RunError(f"{self.path}: {text}")

    @staticmethod
    def _check(name, known, what):
        if name in set(known):
            return
        near = difflib.get_close_matches(name, list(known), 1)
        hint = f"did you mean '{near[0]}'?" if near else f"there are: {', '.join(known) or 'none'}"
        raise RunError(f"no {what} '{name}'; {hint}")

    def _known(self, names):
        for name in names:
            self._check(name, self.metric_docs.index, "metric")
        return list(names) or list(self.metric_docs.index)

    def _place_columns(self, key="combination"):
        return ["strategy"] + self.axes + (["seed"] if key == "point" else [])

    def _places(self, key):
        """Strategy, axes and seed by point, or strategy and axes by combination."""
        points = self.sql("SELECT number AS point, combination, strategy, seed FROM points").set_index("point")
        query = "SELECT point, coalesce(number, value) AS value FROM varied_parameters WHERE key = ?"
        points = points.join(self._columns(query, self.axes))
        if key == "combination":
            points = points.groupby("combination").first()
        return points[self._place_columns(key)]

    def _columns(self, query, names, suffix=""):
        """A column for each name: the query's first column is the index, its second the value."""
        columns = {}
        for name in names:
            rows = self.sql(query, (name,))
            columns[name + suffix] = rows.set_index(rows.columns[0])[rows.columns[1]]
        return pd.DataFrame(columns)

    def _beside(self, frame, names, query):
        if not self.metric_docs["of_completed"][names].any():
            return frame
        failures = self.sql(query)
        return frame.join(failures.set_index(failures.columns[0]))

    def _placed(self, key, query, parameters=()):
        return self._places(key).join(self.sql(query, parameters).set_index(key), how="inner")
