#!/usr/bin/env python3
"""Mutation testing of gpu/: mutants of its sources, drawn by seed, and what kills each of them.

    mutants.py [--count N] [--seed N] [--folder F] [--ledger FILE]   draws, builds, judges, reports
    mutants.py --report                    writes docs/mutation-score.md from the ledger alone
    mutants.py --show                      the survivors, each with its change, on stdout

A mutant is judged by `verify --level 1` on the host executor, then by the tests of its part of the
builder; the first that fails has killed it. The ledger has a line of JSON for each mutant judged; a
second run goes on where the first one stopped.
"""

import argparse
import collections
import json
import math
import os
import pathlib
import random
import re
import resource
import subprocess
import sys

import operators
import report
import scratch

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# Not mutated: what needs a GPU, the hostile device (its test plants what it must punish), and files
# that only compile others for an executor.
LEFT_OUT = re.compile(r"gpu/(cuda_.*|strict_.*|host_(adopt|list|map|topology)\.cc|sort_keys\..*|"
                      r"nanovdb_handle\.h|products_avx.*|instruction_set.*)$")
VERIFY = ["--level", "1", "--fail-fast", "--tries", "0", "-j", "1", "--json"]
# The tests that a part of gpu/ has of its own; the first that matches.
TESTS = [
    (r"adopt|copy_members", ["builder_adopt_test", "builder_strict_test"]),
    (r"map_|kernel_map", ["builder_map_test"]),
    (r"plan\.|subm_conv|tensor_checks|conv_relation", ["builder_plan_test"]),
    (r"convolution|products", ["builder_convolution_test"]),
    (r"result_pool|memory\.", ["builder_pool_test"]),
    (r"window_rule", ["window_rule_test"]),
    (r"build\.cc|pass_|range_error|error\.|batched_builder", ["builder_failure_test"]),
    (r"costs|counting_executor", ["builder_costs_test"]),
    (r"grid_batch", ["builder_plan_test", "builder_strict_test"]),
    (r"", ["builder_passes_test", "builder_strict_test"]),
]
FIRST = "leafproof verify host-mask,host-sort"
ALL_TESTS = sorted({test for _, tests in TESTS for test in tests})
MEMORY = 12 << 30  # bytes of address space; healthy runs take less than 2 GB


def files():
    found = [f"gpu/{p.name}" for p in sorted((ROOT / "gpu").iterdir()) if p.suffix in (".h", ".cc")]
    return [name for name in found if not LEFT_OUT.match(name)]


def parts_of(source):
    """The number of the struct or function that each line belongs to."""
    numbers, part = [], 0
    for line in source.split("\n"):
        if re.match(r"(struct|class|template|LEAFPROOF_HD|inline|static|[A-Za-z][\w:<>,&* ]*\()",
                    line):
            part += 1
        numbers.append(part)
    return numbers


def drawn(seed, count):
    """So many mutants, over all files by the square root of their size, in a file over its structs
    and functions in turn, there over the operators. No two share a line."""
    population, queues = {}, {}
    for name in files():
        source = (ROOT / name).read_text()
        rng = random.Random(f"{seed} {name}")
        parts = parts_of(source)
        by_part = collections.defaultdict(lambda: collections.defaultdict(list))
        all_of_file = operators.mutants_of(name, source)
        for mutant in all_of_file:
            by_part[parts[mutant.line - 1]][mutant.operator].append(mutant)
        population[name] = len(all_of_file)
        order, taken = [], set()
        while any(by_part.values()):
            turn = [p for p in by_part if by_part[p]]
            rng.shuffle(turn)
            for part in turn:
                operator = rng.choice(sorted(by_part[part]))
                mutants = by_part[part][operator]
                mutant = mutants.pop(rng.randrange(len(mutants)))
                if not mutants:
                    del by_part[part][operator]
                first = mutant.line
                begin = source.count("\n", 0, mutant.begin) + 1
                lines = set(range(min(first, begin), source.count("\n", 0, mutant.end) + 2))
                if lines & taken:
                    continue
                taken |= lines
                order.append(mutant)
        queues[name] = order
    total = sum(math.sqrt(n) for n in population.values())
    shares = {name: max(1, round(count * math.sqrt(n) / total))
              for name, n in population.items() if n > 0}
    sample = [(i / shares[name], name, m) for name in shares
              for i, m in enumerate(queues[name][:shares[name]])]
    # Interleaved, so that a run that is stopped has seen all files alike.
    return [m for _, _, m in sorted(sample, key=lambda entry: entry[:2])], population


def limits(seconds):
    def set_limits():
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return set_limits


def tests_of(file):
    return next(tests for files, tests in TESTS if re.search(files, file[len("gpu/"):]))


class Judges:
    """What is asked of a mutant, in turn, each with the CPU seconds that a healthy one takes."""

    def __init__(self, place, names):
        self.place, self.healthy, self.all = place, {}, {}
        for name in names:
            program, _, backends = name.partition(" verify ")
            self.all[name] = [str(place.bin / program)] + (
                ["verify", *VERIFY, "--backend", backends] if backends else
                ["--gtest_fail_fast", "--gtest_brief=1"])

    def ask(self, judge, number, seconds):
        """(passed, what killed it, CPU seconds)."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        environment = dict(os.environ, LEAFPROOF_MUTANT=str(number))
        try:
            done = subprocess.run(self.all[judge], env=environment, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, cwd=self.place.source,
                                  preexec_fn=limits(seconds), timeout=60 * seconds)
            code, output = done.returncode, done.stdout.decode(errors="replace")
        except subprocess.TimeoutExpired:
            code, output = -24, ""
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        if code == 0:
            return True, "", used
        if code in (-24, -9):
            return False, "no end", used
        if code < 0:
            return False, f"signal {-code}", used
        return False, what_failed(output), used

    def limit(self, judge):
        """CPU seconds; a judge must pass what nothing is wrong with."""
        if judge not in self.healthy:
            passed, why, used = self.ask(judge, 0, 3600)
            if not passed:
                sys.exit(f"mutants: {judge} fails without a mutant ({why})")
            self.healthy[judge] = used
        return int(10 * self.healthy[judge]) + 10

    def verdict(self, number, file):
        own = tests_of(file)
        for judge in self.all:
            if judge in ALL_TESTS and judge not in own:
                continue
            passed, why, _ = self.ask(judge, number, self.limit(judge))
            if not passed:
                return judge, why
        return None, ""


def what_failed(output):
    """The operation that differed, or the test that failed."""
    try:
        failure = json.loads(output)["failures"][0]
        return failure["operation"]
    except (ValueError, KeyError, IndexError):
        test = re.search(r"\[  FAILED  \] ([\w./]+)", output)
        return test.group(1) if test else output.strip().split("\n")[-1][:80]


def read_ledger(path):
    if not path.exists():
        return {}
    entries = [json.loads(line) for line in path.read_text().splitlines()]
    return {entry["key"]: entry for entry in entries}


def progress(text):
    if sys.stderr.isatty():
        print(f"\r\033[Kmutants: {text}", end="", file=sys.stderr, flush=True)


def built(place, sample, keys, known, targets, note):
    """Builds; [(number, mutant)] without those that do not compile."""
    numbered = [(i + 1, m) for i, m in enumerate(sample)
                if known.get(keys[m], {}).get("verdict") != "does not compile"]
    while True:
        place.write(numbered, files())
        place.configure()
        progress(f"building {targets[0]} with {len(numbered)} mutants")
        bad, said = place.make(targets)
        if not said:
            return numbered
        dropped = [(n, m) for n, m in numbered
                   if any(m.file == name and spans(m, line) for name, line in bad)]
        if not dropped:
            sys.exit(f"mutants: the build fails, and not for a mutant:\n{said[-4000:]}")
        for _, mutant in dropped:
            note(mutant, "does not compile")
        numbered = [entry for entry in numbered if entry not in dropped]


def spans(mutant, line):
    source = (ROOT / mutant.file).read_text()
    return (source.count("\n", 0, mutant.begin) < line
            <= source.count("\n", 0, mutant.end) + 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=280, help="mutants drawn (280)")
    parser.add_argument("--seed", type=int, default=20261130)
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build/mutants",
                        help="where the sources with switches are built")
    parser.add_argument("--ledger", type=pathlib.Path, default=HERE / "ledger.jsonl")
    parser.add_argument("--nanovdb", default=os.environ.get("LEAFPROOF_NANOVDB_INCLUDE"),
                        help="NanoVDB's headers; found as by CMake when absent")
    parser.add_argument("--report", action="store_true", help="report what the ledger has, only")
    parser.add_argument("--show", action="store_true", help="print survivors, and nothing else")
    parser.add_argument("--again", action="store_true", help="judge survivors of the ledger again")
    options = parser.parse_args()

    sample, population = drawn(options.seed, options.count)
    sources = {name: (ROOT / name).read_text() for name in files()}
    keys = {m: m.key(sources[m.file]) for m in sample}
    known = read_ledger(options.ledger)
    if options.again:
        known = {key: entry for key, entry in known.items() if entry["verdict"] != "survives"}
    if not options.report and not options.show:
        place = scratch.Scratch(ROOT, options.folder, options.nanovdb)
        place.copy(set(files()))
        unfinished = [m for m in sample if keys[m] not in known
                      or known[keys[m]]["by"] == "passed verify"]
        if unfinished:
            judge_all(place, sample, keys, known, options.ledger)
            known = read_ledger(options.ledger)
    entries = [dict(known[keys[m]], line=m.line) for m in sample if keys[m] in known]
    if options.show:
        print(report.survivors(entries, report.reasons(HERE)))
        return
    text = report.document(entries, report.reasons(HERE), population, options)
    (ROOT / "docs/mutation-score.md").write_text(text)
    print(report.summary(entries, report.reasons(HERE)))


def judge_all(place, sample, keys, known, ledger):
    with ledger.open("a") as out:
        def note(mutant, verdict, by="", why=""):
            entry = {"key": keys[mutant], "file": mutant.file, "line": mutant.line,
                     "operator": mutant.operator, "was": mutant.was, "now": mutant.now,
                     "verdict": verdict, "by": by, "why": why}
            known[entry["key"]] = entry
            out.write(json.dumps(entry) + "\n")
            out.flush()

        # `verify` judges all before the tests are even built: most are dead by then.
        numbered = built(place, sample, keys, known, ["leafproof"], note)
        ask_all(Judges(place, [FIRST]), numbered, keys, known, note, "verify")
        numbered = built(place, sample, keys, known, ALL_TESTS, note)
        ask_all(Judges(place, ALL_TESTS), numbered, keys, known, note, "tests")


def ask_all(judges, numbered, keys, known, note, stage):
    passed = ["passed verify", "passed tests"][stage == "tests":]
    todo = [(n, m) for n, m in numbered
            if known.get(keys[m], {}).get("verdict", "survives") == "survives"
            and known.get(keys[m], {}).get("by") not in passed]
    # The short ones first.
    order = {test: i for i, (_, tests) in enumerate(TESTS) for test in tests}
    todo.sort(key=lambda entry: max(order[test] for test in tests_of(entry[1].file)))
    killed = 0
    for done, (number, mutant) in enumerate(todo):
        progress(f"{done}/{len(todo)} judged, {killed} killed; {mutant.file}:{mutant.line}")
        by, why = judges.verdict(number, mutant.file)
        killed += by is not None
        note(mutant, "killed" if by else "survives", by or f"passed {stage}", why)
    progress(f"{len(todo)} judged, {killed} killed by {', '.join(judges.all)}\n")


if __name__ == "__main__":
    main()
