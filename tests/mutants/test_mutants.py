# SPDX-License-Identifier: Apache-2.0
"""The finder and the rewriter on a small source: each mutant compiles, does what its line says, and nothing unasked."""

import dataclasses
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from mutants import equivalents, rewrite, running
from mutants import sites as finding

try:
    import clang.cindex
except ImportError:
    raise unittest.SkipTest("python3-clang-14 is not installed: scripts/setup --mutants") from None

SOURCE = r"""// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdio>
#include <stdexcept>
namespace toy {
constexpr int kConstant = 3 + 4;
static_assert(kConstant == 7);
enum Kind { first = 1, second = 2 };
std::array<int, 5> numbers{};
int counted = 0;
void count() { ++counted; }
constexpr int twice(int n) { return n * 2; }
static_assert(twice(4) == 8);
consteval int at_compile_time() { return 20 + 21; }
static_assert(at_compile_time() == 41);
bool between(int low, int at, int high) { return low <= at && at < high; }
int sum(int to) {
  int all = 0;
  for (int i = 0; i < to; ++i) all += i + 3;
  return all;
}
struct Holder {
  static inline int inside = 5 + 6;
  static int outside;
  template <typename T>
  static int of_type;
};
int Holder::outside = 7 + 8;
template <typename T>
int Holder::of_type = 9 + 10;
extern "C" { int linked = 11 + 12; }
template <typename T>
struct Template {
  static const bool kSmall;
};
template <typename T>
const bool Template<T>::kSmall = sizeof(T) < 2 + 3;
int statics() {
  static int at_first = 13 + 14;
  thread_local int in_thread = 15 + 16;
  static const std::array<int, 2> table{17 + 18, 19};
  int automatic = Template<char>::kSmall + Holder::of_type<int> + linked;
  return automatic + at_first + in_thread + table[0] + Holder::inside + Holder::outside;
}
int clamped(int n) {
  if (n == 13) throw std::logic_error(n == 13 ? "thirteen" : "other");
  count();
  switch (n) {
    case 99: return 100;
    default: break;
  }
  return std::min(n, 50);
}
}  // namespace toy
int main() {
  using namespace toy;
  std::printf("%d%d%d%d ", between(1, 1, 3), between(1, 3, 3), between(1, 0, 3), between(1, 2, 3));
  std::printf("%d %d %d %d %d ", sum(5), twice(counted + 8), clamped(7), clamped(60), clamped(99));
  int caught = 0;
  try { clamped(13); } catch (const std::logic_error&) { caught = 1; }
  std::printf("%d %d %d", caught, counted, statics());
}
"""


def run(program, number=None, reached=None):
    settings = dict(os.environ)
    if number is not None:
        settings["FAULTLINE_MUTANT"] = str(number)
    if reached is not None:
        settings["FAULTLINE_MUTANTS_REACHED"] = reached
    try:
        done = subprocess.run([program], env=settings, capture_output=True, text=True, timeout=2, check=False)
    except subprocess.TimeoutExpired:
        return "too slow"
    return (done.returncode, done.stdout)


class Mutants(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="mutants-")
        cls.tree = Path(cls.folder.name).resolve()
        (cls.tree / "models/toy/deep").mkdir(parents=True)
        (cls.tree / "models/toy/deep/below.cpp").write_text("int below(int n) { return n + 1; }\n")
        (cls.tree / "models/toy/toy.cpp").write_text(SOURCE)
        (cls.tree / "tests/mutants").mkdir(parents=True)
        header = Path(finding.__file__).parent / "mutant.hpp"
        (cls.tree / "tests/mutants/mutant.hpp").write_text(header.read_text())
        toy = finding.find(cls.tree, ["models/toy"])
        cls.deep = [s for s in toy if s.file == "models/toy/deep/below.cpp"]
        cls.sites = [s for s in toy if s.file == "models/toy/toy.cpp" and s.line <= SOURCE[:SOURCE.index("int main")].count("\n")]

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def changes(self, line_with):
        line = SOURCE[:SOURCE.index(line_with)].count("\n") + 1
        return {s.after for s in self.sites if s.line == line}

    def test_a_room_has_folders(self):
        self.assertTrue(self.deep)

    def test_rooms_are_called_as_their_test_programs(self):
        site = self.deep[0]
        self.assertEqual(site.room, "toy")
        for folder, program in (("nic/exanest", "nic_exanest"), ("drivers/mmu500", "driver_mmu500"), ("os/vm", "os")):
            self.assertEqual(dataclasses.replace(site, file=f"models/{folder}/x.cpp").room, program)
        self.assertEqual(running.folder_of("driver_mmu500"), "drivers/mmu500")
        self.assertEqual(running.folder_of("rdma"), "rdma")

    def test_the_tests_of_all_rooms_are_tried(self):
        root = Path(finding.__file__).parents[2]
        programs = running.programs(root)
        self.assertLessEqual({"sim", "messages", "nic_elan", "nic_exanest", "nic_path", "driver_mmu500", "workloads"},
                             set(programs))
        self.assertEqual(len(programs), len(set(programs)))
        for program in programs:
            self.assertTrue(any((root / "tests" / running.folder_of(program)).glob("*.cpp")), program)

    def test_what_killed_a_mutant_before_is_tried_first(self):
        known = [{"test": [program, "a", "0"], "took": took}
                 for program, took in (("workloads", 9), ("os", 3), ("workloads", 0.1), ("smmu", 2), ("traces", 5))]
        def ordered(killer):
            return [(k["test"][0], k["took"]) for k in sorted(known, key=running.order_of("smmu", killer))]
        self.assertEqual(ordered(None), [("smmu", 2), ("workloads", 0.1), ("os", 3), ("traces", 5), ("workloads", 9)])
        self.assertEqual(ordered("traces:a")[0], ("traces", 5))

    def test_constants_texts_and_types_are_left_alone(self):
        for line in ("constexpr int kConstant", "consteval int", "static_assert(kConstant", "enum Kind", "std::array<int",
                     "int counted", "static_assert(twice"):
            self.assertEqual(self.changes(line), set(), line)
        self.assertFalse([c for c in self.changes("case 99") if "(99" in c])
        self.assertFalse([c for c in self.changes("if (n == 13)") if "thirteen" in c])

    def test_first_values_of_static_variables_are_left_alone(self):
        for line in ("static inline int inside", "int Holder::outside", "int Holder::of_type", "int linked",
                     "const bool Template<T>", "static int at_first", "thread_local", "static const std::array"):
            self.assertEqual(self.changes(line), set(), line)
        self.assertTrue(self.changes("int automatic"))

    def test_each_kind_of_change_is_found(self):
        self.assertLessEqual({"low < at", "at <= high", "low <= at || at < high",
                              "return !(low <= at && at < high)"}, self.changes("bool between"))
        self.assertLessEqual({"all -= i + 3", "i <= to", "--i"}, self.changes("for (int i"))
        self.assertIn("no count()", self.changes("  count();"))
        self.assertIn("std::max(n, 50)", self.changes("std::min"))
        self.assertIn("return {}", self.changes("return all"))

    def test_all_in_one_program_do_nothing_until_one_is_chosen(self):
        mutants = list(enumerate(self.sites))
        contents = rewrite.rewritten(self.tree, mutants)["models/toy/toy.cpp"]
        self.assertEqual(contents.count(b"\n"), SOURCE.count("\n"), "lines do not move")
        self.assertEqual(rewrite.not_compiling(self.tree, mutants), set())
        for name, text in (("plain", SOURCE.encode()), ("mutated", contents)):
            (self.tree / f"{name}.cpp").write_bytes(text)
            subprocess.run(["g++", "-std=c++20", "-I", self.tree, "-o", self.tree / name, self.tree / f"{name}.cpp"],
                           check=True, capture_output=True)
        plain = run(self.tree / "plain")
        reached = self.tree / "reached"
        reached.write_bytes(bytes(running.MOST_MUTANTS))
        self.assertEqual(run(self.tree / "mutated", reached=str(reached)), plain)
        bytes_of = reached.read_bytes()
        silent = []
        for number, site in mutants:
            self.assertEqual(bytes_of[number], 1, f"{site.after} is reached")
            if run(self.tree / "mutated", number) == plain:
                silent.append(site.after)
        self.assertEqual(silent, [], "each mutant changes what the program prints")

    def test_the_choice_depends_on_the_seed_and_little_on_other_sites(self):
        chosen = rewrite.choose(self.sites, 1, 5)
        self.assertEqual(len(chosen), 5)
        self.assertEqual(chosen, rewrite.choose(self.sites, 1, 5))
        self.assertNotEqual(chosen, rewrite.choose(self.sites, 2, 5))
        kept = {self.sites[n].key() for n in chosen}
        fewer = self.sites[:-1]
        again = {fewer[n].key() for n in rewrite.choose(fewer, 1, 5)}
        self.assertGreaterEqual(len(kept & again), 4)
        self.assertFalse(set(chosen) & set(rewrite.choose(self.sites, 1, 5, rejected=chosen)))

    def test_a_table_finds_its_mutants_where_lines_have_moved(self):
        site = self.sites[3]
        table = self.tree / "table.txt"
        line = f"7\t{site.file}:{site.line + 40}\t{site.function}\t{site.before} -> {site.after}"
        for fate, killer in (("", None), ("\tsurvived 3 tests", None), ("\tkilled by os:a: b (c)", "os:a: b (c)"),
                             ("\tkilled by os:a: b (c) (too slow)", "os:a: b (c)")):
            table.write_text(f"mutant\tplace\tfunction\tchange\n{line}{fate}\n8\tmodels/toy/gone.cpp:1\tf\ta -> b\n")
            killers, gone = rewrite.choose_again(self.sites, table)
            self.assertEqual({self.sites[n].key(): k for n, k in killers.items()}, {site.key(): killer})
            self.assertEqual(len(gone), 1)

    def test_the_list_of_those_that_change_nothing_is_well_formed(self):
        listed = equivalents.read(Path(finding.__file__).parent / "equivalent.txt")
        self.assertGreater(len(listed), 10)
        root = Path(finding.__file__).parents[2]
        for file, *_ in listed:
            self.assertTrue((root / file).is_file(), file)


if __name__ == "__main__":
    unittest.main()
