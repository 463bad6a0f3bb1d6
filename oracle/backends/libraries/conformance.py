"""leafproof conformance: libraries of the field, run on our cases and judged. For each library the
cases of `leafproof cases` and forms of them that more libraries can express are put to its adapter,
and its answers judged by the reference; what differs is sorted by kind, and of each kind the
smallest case is kept. Results go to docs/conformance/NAME.json, and the page docs/conformance.md is
made of all that lie there. Plain Python."""

import argparse
import datetime
import json
import os
import pathlib
import platform
import resource
import select
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import cases  # noqa: E402
import page  # noqa: E402
from adapter import Case, READERS, text_of_number  # noqa: E402

ROOT = HERE.parents[2]
NAMES = ["torch", "spconv", "minkowski", "mlx-lato", "mlx-lattice", "fvdb", "openvdb", "nanovdb"]
BUILT = ["openvdb", "nanovdb"]  # by CMake, beside the program
PATIENCE = 60  # seconds for one answer
REFUSED = "a case that must be refused is not asked of the library"
MEMORY = 6 << 30  # bytes of address space, of this program and of each adapter


def say(text):
    print("conformance: " + text, file=sys.stderr)


def progress(text):
    if sys.stderr.isatty():
        print("\r\033[K" + text, end="", file=sys.stderr, flush=True)


class Child:
    """An adapter's process. A dead or hung one is an answer, and is started again."""

    def __init__(self, command, environment):
        self.command, self.environment, self.process = command, environment, None

    def ask(self, text):
        if self.process is None:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                stderr=subprocess.DEVNULL, env={**os.environ, **self.environment})
        self.asked = getattr(self, "asked", 0) + 1
        number = str(self.asked)
        try:
            self.process.stdin.write("%s %s\n" % (number, text))
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
        line = self.process.stdout.readline() if ready else ""
        head, _, answer = line.rstrip("\n").partition(" answer1 ")
        if ready and line.endswith("\n") and head == number:
            return answer
        self.process.kill()
        code = self.process.wait()
        self.process = None
        died = "it%20ended%20with%20code%20{}".format(code)
        return "failed reason=" + (died if ready else "no%20answer%20in%20time")

    def end(self):
        if self.process:
            self.process.stdin.close()
            self.process.wait()


def fields_of(answer):
    kind, *words = answer.split(" ")
    return kind, dict(word.split("=", 1) for word in words)


def comparable(answer):
    """An answer without its row order: what an answer by rule is compared by."""
    kind, fields = fields_of(answer)
    read = {name: READERS["source"](fields[name])
            for name in ("voxels", "source_rows", "target_rows") if name in fields}
    rows = {name: [(m, *v) for m, member in enumerate(members) for v in member]
            for name, members in read.items()}
    if kind == "grid":
        return "grid", sorted(rows["voxels"])
    if kind in ("map", "dense"):
        if kind == "map":
            taps = READERS["source"](fields["pairs"])
        else:
            index = [[int(i) for i in tap.split(",") if i]
                     for tap in fields["index"][1:-1].split("][")]
            taps = [[(i, o) for o, i in enumerate(tap) if i >= 0] for tap in index]
        source, target = rows["source_rows"], rows["target_rows"]
        pairs = sorted((t, source[i], target[o]) for t, tap in enumerate(taps) for i, o in tap)
        return "map", sorted(source), sorted(target), pairs
    if kind == "numbers":
        array = READERS["features"](fields["output"])
        width = array.shape[1]
        lines = [tuple(map(text_of_number, array.values[r * width:(r + 1) * width]))
                 for r in range(array.shape[0])]
        return "numbers", sorted(zip(rows["target_rows"], lines))
    return kind, sorted(fields.items())


def same_by_rule(text, answer, by_rule):
    """Sums of fractions depend on their order: of those the rows alone are compared."""
    ours, theirs = comparable(by_rule), comparable(answer)
    if ours[0] == theirs[0] == "numbers":
        case = Case(text)
        arrays = [a for a in (case.features, case.weights, case.bias) if a is not None]
        if any(x == x and abs(x) != float("inf") and (x != int(x) or abs(x) > 2**20)
               for a in arrays for x in a.values):
            return [row for row, _ in ours[1]] == [row for row, _ in theirs[1]]
    return ours == theirs


class Judge:
    """The reference: its answers by `leafproof serve reference`, compared element by element; what
    Python cannot compare (bounds of numbers [V-3], bytes of grids) by `leafproof ver`."""

    def __init__(self, program):
        self.program, self.reference = program, Child([program, "serve", "reference"], {})

    def verdict(self, text, answer):
        expected = self.reference.ask(text)
        if expected.startswith("refused"):
            return "range" if "kind=OutOfRange" in expected else "refused"
        kind = answer.split(" ")[0]
        if kind in ("grid", "map", "dense") and comparable(answer) == comparable(expected):
            return "equal"
        if kind not in ("nanovdb", "numbers", "gradients"):
            return "different"
        with tempfile.NamedTemporaryFile("w", suffix=".cases") as file:
            file.write("0 %s\n" % text)
            file.flush()
            done = subprocess.run([self.program, "ver", "--cases", file.name], text=True,
                                  input="0 answer1 %s\n" % answer, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        return "equal" if done.returncode == 0 else "different"

    def verdicts(self, questions, answers):
        return [self.verdict(q, a) for q, a in zip(questions, answers)]


class Run:
    """One library."""

    def __init__(self, name, options, judge):
        self.name, self.options, self.judge = name, options, judge
        self.folder = tempfile.mkdtemp(prefix="leafproof-")
        environment = {"LEAFPROOF_ANSWERS": self.folder, "OMP_NUM_THREADS": "1"}
        command = self.command()
        self.about = json.loads(subprocess.run(
            command + ["--about"], check=True, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL).stdout)
        self.library = Child(command, environment)
        self.rule = None if name in BUILT else Child(command + ["--rule"], environment)
        self.operations = {op: {"how": how, "asked": 0, "agree": 0, "differ": 0, "not": {}}
                           for op, how in self.about["operations"].items()}
        self.kinds = {}

    def command(self):
        if self.name in BUILT:
            program = pathlib.Path(self.options.program).parent
            return [str(program / ("leafproof_%s_adapter" % self.name))]
        python = ROOT / ".deps" / "libraries" / self.name / "bin" / "python"
        return [str(python), str(HERE / (self.name.replace("-", "_") + "_adapter.py"))]

    def questions(self, op, first, count):
        lines = subprocess.run(
            [self.options.program, "cases", "--ops", op, "--seed", str(self.options.seed),
             "--first", str(first), "--count", str(count)],
            check=True, text=True, stdout=subprocess.PIPE).stdout.splitlines()
        for line in lines:
            yield line
            case = Case(line)
            if case.view is None or all(0 <= i < len(case.source) for i in case.view):
                for form in cases.forms(case):
                    try:
                        yield cases.written(form(case))
                    except (IndexError, TypeError):
                        pass  # a case that must be refused: there is no such form of it

    def kind(self, text, answer, verdict):
        """The kind of a difference, by the library's documented rule where it has one."""
        what, fields = fields_of(answer)
        if what == "failed":
            return "failed: " + fields["reason"]
        if verdict == "range":
            return "range"
        if self.rule is not None:
            by_rule = self.rule.ask(text)
            names = fields_of(by_rule)[1].get("conventions")
            if names and same_by_rule(text, answer, by_rule):
                return names
        return "unexplained: " + text.split(" ")[1]

    def block(self, op, first, count):
        questions = list(self.questions(op, first, count))
        answers = [self.library.ask(text) for text in questions]
        asked = [(q, a) for q, a in zip(questions, answers)]
        row = self.operations[op]
        for question, answer in asked:
            if answer.startswith("not_implemented"):
                reason = page.decoded(fields_of(answer)[1]["reason"])
                row["not"][reason] = row["not"].get(reason, 0) + 1
        asked = [(q, a) for q, a in asked if not a.startswith("not_implemented")]
        verdicts = self.judge.verdicts(*zip(*asked)) if asked else []
        for (question, answer), verdict in zip(asked, verdicts):
            if verdict == "refused":
                row["not"][REFUSED] = row["not"].get(REFUSED, 0) + 1
                continue
            row["asked"] += 1
            if verdict == "equal":
                row["agree"] += 1
                continue
            row["differ"] += 1
            kind = self.kind(question, answer, verdict)
            found = self.kinds.setdefault(kind, {"kind": kind, "count": 0, "operations": {}})
            found["count"] += 1
            found["operations"][op] = found["operations"].get(op, 0) + 1
            if len(question) < len(found.get("case", question + " ")):
                found["case"], found["answer"] = question, answer

    def still(self, text, kind):
        """The library's answer to a case, where it is of the same kind."""
        answer = self.library.ask(text)
        if answer.startswith("not_implemented"):
            return None
        verdict = self.judge.verdicts([text], [answer])[0]
        if verdict in ("equal", "refused") or self.kind(text, answer, verdict) != kind:
            return None
        return answer

    def shrink(self, found, tries=400):
        case, progress_made = Case(found["case"]), True
        while progress_made and tries > 0:
            progress_made = False
            for candidate in cases.smaller(case):
                tries -= 1
                text = cases.written(candidate)
                answer = self.still(text, found["kind"])
                if answer is not None and (len(text), text) < (len(found["case"]), found["case"]):
                    found["case"], found["answer"] = text, answer
                    case, progress_made = candidate, True
                    break
                if tries <= 0:
                    break

    def run(self):
        begin = time.time()
        first, per_block = 0, 25
        while time.time() - begin < self.options.time:
            for op in self.operations:
                self.block(op, first, per_block)
                progress("%s: %d asked, %d differ" % (
                    self.name, sum(r["asked"] for r in self.operations.values()),
                    sum(r["differ"] for r in self.operations.values())))
                if time.time() - begin > self.options.time:
                    break
            first += per_block
        for found in self.kinds.values():
            self.shrink(found)
        progress("")
        self.library.end()
        if self.rule is not None:
            self.rule.end()
        shutil.rmtree(self.folder)
        return {
            **self.about,
            "name": self.name,
            "installed": True,
            "date": datetime.date.today().isoformat(),
            "seconds": round(time.time() - begin),
            "seed": self.options.seed,
            "machine": "%s, %s, no GPU used" % (platform.system(), platform.machine()),
            "operations": self.operations,
            "kinds": sorted(self.kinds.values(), key=lambda k: -k["count"]),
        }


def install(name, options):
    """Why it is not there; empty where it is."""
    if name in BUILT:
        program = pathlib.Path(options.program).parent / ("leafproof_%s_adapter" % name)
        return "" if program.exists() else "this build was made without it"
    if options.no_install:
        python = ROOT / ".deps" / "libraries" / name / "bin" / "python"
        return "" if python.exists() else "it is not installed, and nothing was to be installed"
    done = subprocess.run([str(HERE / "setup.sh"), name], text=True, stderr=subprocess.PIPE)
    sys.stderr.write(done.stderr)
    lines = done.stderr.strip().splitlines() or ["it could not be installed"]
    return "" if done.returncode == 0 else lines[-1].replace("conformance: ", "")


def main():
    parser = argparse.ArgumentParser(
        prog="leafproof conformance",
        description="Runs libraries of the field on our cases, judges them by the reference, "
        "and writes docs/conformance.md.")
    parser.add_argument("names", nargs="*", metavar="NAME", choices=NAMES + ["all", []],
                        help="which: %s, or all; none: only the page is made anew" %
                        ", ".join(NAMES))
    parser.add_argument("--time", type=float, default=60, help="seconds of cases a library (60)")
    parser.add_argument("--seed", type=int, default=20261130, help="of the cases (20261130)")
    parser.add_argument("--no-install", action="store_true", help="install nothing")
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "docs" / "conformance",
                        help="folder of the results (docs/conformance)")
    parser.add_argument("--page", type=pathlib.Path, default=ROOT / "docs" / "conformance.md",
                        help="the page that is written (docs/conformance.md)")
    parser.add_argument("--program", default=str(ROOT / "build" / "bin" / "leafproof"),
                        help=argparse.SUPPRESS)
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    names = NAMES if "all" in options.names else options.names
    options.results.mkdir(parents=True, exist_ok=True)
    judge = Judge(options.program)
    worst = 0
    for name in names:
        why_not = install(name, options)
        if why_not:
            say("%s is not judged: %s" % (name, why_not))
            result = {"name": name, "installed": False, "reason": why_not,
                      "date": datetime.date.today().isoformat()}
        else:
            result = Run(name, options, judge).run()
            print(page.summary(result))
            worst = max(worst, page.faults(result))
        text = json.dumps(result, indent=1, sort_keys=True) + "\n"
        (options.results / (name + ".json")).write_text(text)
    results = [json.loads((options.results / (name + ".json")).read_text()) for name in NAMES
               if (options.results / (name + ".json")).exists()]
    options.page.write_text(page.page(results))
    say("wrote %s" % options.page)
    return 1 if worst else 0


if __name__ == "__main__":
    sys.exit(main())
