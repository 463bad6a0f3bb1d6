"""`@leafproof.against("refine")`: makes a test of a function that answers a case. The test asks it
the cases of the harness, judges each answer by the reference, and makes the first failure small.

Nothing of pytest is needed here: called by hand the function does the same. What pytest adds, its
options among it, is in pytest_plugin.py."""

from __future__ import annotations

import functools
import inspect
import itertools
import os
import shlex
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ._core import Case, check, families as families_of, judge, operations, shrink
from ._errors import Error, Mismatch, refusal

LEVEL_SEED = 20261129  # of `leafproof verify`
CASES_OF_LEVEL = {1: 64, 2: 512, 3: 20_000}
LONGEST_LINE = 1000  # of a case in a command; a longer one is kept in a file


class Answer:
    """An answer with what check() must be told about it: `Answer(pairs, source_rows=rows)`,
    `Answer((ijk, offsets), profile="sets")`."""

    def __init__(self, value: Any, **claims: Any):
        self.value = value
        self.claims = claims


@dataclass(frozen=True)
class Run:
    """What is asked instead of what a decorator says; `place` is how a shell has the test again."""

    seed: int | None = None
    level: int | None = None
    count: int | None = None
    only: int | None = None  # of the cases of a seed this one
    replay: Case | None = None  # this case and no other
    place: str = ""
    folder: Any = None  # gives the folder for cases that are too long for a line
    found: dict = field(default_factory=dict)  # what was asked, for reports


run = Run()  # of pytest's options


def against(
    op: str | Sequence[str],
    *,
    level: int = 1,
    seed: int = LEVEL_SEED,
    count: int | None = None,
    families: str | Sequence[str] | None = None,
    refused: bool = True,
    profile: str | None = None,
    refusals: dict[type[Exception], str] | None = None,
    skips: str | None = None,
    tries: int = 1500,
) -> Callable[[Callable[..., Any]], Callable[..., None]]:
    """Makes a test of a function of `case`, which returns its answer:

        @leafproof.against("refine")
        def test_refine(case):
            return mine(case.source, case.params["factor"])

    The answer is what check() takes, or an Answer. To refuse, raise leafproof.Error(kind=...), or
    an exception that `refusals` gives a kind; to leave a case out, raise NotImplementedError. Any
    other exception fails. Other parameters of the function are fixtures as ever.

    op        an operation, or several: those of the cases (`case.op`)
    level     1, 2, 3: 64, 512, 20,000 cases of each; or `count` of them
    seed      of the cases; the same cases as those of `leafproof verify --seed`
    families  cases whose first member is of one of these families alone (docs/families.md)
    refused   also cases that must be refused
    profile   by which grids are judged [G-9]
    refusals  which exceptions are refusals: {ValueError: "InvalidArgument"}
    skips     why cases may be left out; without a reason none may, and it must be needed
    tries     how many cases may be judged to make a failure small; 0: it is shown as it is

    The test fails with leafproof.Mismatch at the first case that differs. Its text is the report of
    the smallest case found that still differs, with the lines that replay it."""
    ops = (op,) if isinstance(op, str) else tuple(op)
    for name in ops:
        if name not in operations():
            raise refusal("against", "op", name, f"must be one of {', '.join(operations())}")
    if level not in CASES_OF_LEVEL:
        raise refusal("against", "level", level, "must be 1, 2 or 3")
    for name, number, least in (("seed", seed, 0), ("count", count, 1), ("tries", tries, 0)):
        if number is not None and (not isinstance(number, int) or number < least):
            raise refusal("against", name, number, f"must be a number from {least} on")
    families = (families,) if isinstance(families, str) else tuple(families or ())
    for name in families:
        if name not in families_of(ops[0]):
            raise refusal("against", "families", name,
                          f"must be one of {', '.join(families_of(ops[0]))}")

    def decorate(function):
        signature = inspect.signature(function)
        if "case" not in signature.parameters or inspect.iscoroutinefunction(function):
            raise TypeError(f"{function.__name__}: must be a function of `case` that returns its "
                            "answer")

        @functools.wraps(function)
        def test(*args, **kwargs):
            __tracebackhide__ = True
            sweep = _Sweep(functools.partial(function, *args, **kwargs), function.__name__, ops,
                           replace(run, seed=seed if run.seed is None else run.seed),
                           families, refused, profile, refusals or {}, skips, tries)
            sweep.count = run.count or (
                CASES_OF_LEVEL[run.level] if run.level else count or CASES_OF_LEVEL[level])
            sweep.judge_all()

        test.__signature__ = signature.replace(parameters=[
            parameter for name, parameter in signature.parameters.items() if name != "case"])
        test.leafproof_ops = ops
        return test

    return decorate


@dataclass
class _Sweep:
    function: Any
    name: str
    ops: tuple
    run: Run
    families: tuple
    refused: bool
    profile: str | None
    refusals: dict
    skips: str | None
    tries: int
    count: int = 0

    def judge_all(self):
        __tracebackhide__ = True
        outcomes = Counter()
        for number, case in self._cases():
            outcome = self._outcome(case)
            outcomes[outcome] += 1
            if outcome == "different" or (outcome == "not_implemented" and not self.skips):
                self._fail(number, case)
        self.run.found.update(outcomes)
        judged = outcomes["equal"]
        if judged == 0:
            raise Mismatch(f"{self.name}: no case was judged ({self._what()}): "
                           f"{outcomes['not_implemented']} were left out")
        if self.skips and outcomes["not_implemented"] == 0 and self._is_whole():
            raise Mismatch(f"{self.name}: the skip ({self.skips}) is not needed: all {judged} "
                           f"cases were answered ({self._what()})")

    def _is_whole(self):
        return self.run.replay is None and self.run.only is None

    def _what(self):
        return f"{', '.join(self.ops)}, seed {self.run.seed}, {self.count} cases of each"

    def _cases(self):
        """(number, case); of a replay the number is None."""
        if self.run.replay is not None:
            if self.run.replay.op in self.ops:
                yield None, self.run.replay
            return
        for number in self._numbers():
            for op in self.ops:
                yield number, Case.generate(op, self.run.seed, number)

    def _numbers(self):
        if self.run.only is not None:
            return [self.run.only]
        known = families_of(self.ops[0])
        # docs/families.md: every eighth case is to be refused, the others take turns in families.
        return itertools.islice(
            (number for number in itertools.count()
             if (self.refused and not self.families if number % 8 == 7 else
                 not self.families or known[number % len(known)] in self.families)), self.count)

    # one case

    def _answer(self, case):
        """(answer, what must be said of it, exception that is no answer)."""
        claims = {} if self.profile is None else {"profile": self.profile}
        try:
            answer = self.function(case=case)
        except Error as error:
            return error, {}, None
        except NotImplementedError:
            return NotImplemented, {}, None
        except Exception as error:
            for kind in type(error).__mro__:
                if kind in self.refusals:
                    return Error(str(error), kind=self.refusals[kind]), {}, None
            return None, {}, error
        if isinstance(answer, Answer):
            answer, claims = answer.value, claims | answer.claims
        if isinstance(answer, str):  # judge() and check() take names of backends, too
            return None, {}, TypeError("a text is no answer")
        return answer, claims, None

    def _outcome(self, case):
        """What judge() says; "different" also where something was raised, or is no answer [E-2]."""
        answer, claims, error = self._answer(case)
        if error is not None:
            return "different"
        try:
            return judge(case, answer, **self._fitting(answer, claims))["outcome"]
        except Error:
            return "different"

    @staticmethod
    def _fitting(answer, claims):
        return {} if answer is NotImplemented or isinstance(answer, Error) else claims

    def _fail(self, number, case):
        """Raises the Mismatch of the smallest case near this one that fails too."""
        __tracebackhide__ = True
        judged = 0

        def fails(candidate):
            nonlocal judged
            judged += 1
            return self._outcome(candidate) == "different"

        smallest = case
        # What is replayed stays as it is.
        if self.tries > 0 and number is not None and fails(case):
            smallest = shrink(case, fails, self.tries)
        report, verdict = "", {}
        answer, claims, error = self._answer(smallest)
        if error is not None:
            report = "".join(traceback.format_exception(error)).rstrip()
        else:
            try:
                check(smallest, answer, **self._fitting(answer, claims))
            except Mismatch as mismatch:
                report, verdict = str(mismatch).rstrip(), mismatch.verdict
            except Error as refused:
                report = f"what was returned is no answer: {refused}"
        if not report:
            report = ("this case was answered differently before: the answers are not the same "
                      "each time")
        text = self._text(number, case, smallest, judged, report)
        failure = Mismatch(text, verdict, _line(smallest))
        failure.is_report = True  # all that there is to say: no traceback
        raise failure from None

    def _text(self, number, case, smallest, judged, report):
        line = _line(smallest)
        shown = line
        if len(line) > LONGEST_LINE:
            shown = shlex.quote(self._keep(smallest, line))
        elif line:
            shown = f"'{line}'"
        which = "the case that is replayed" if number is None else (
            f"case {number}, seed {self.run.seed}: {case.comment}")
        place = self.run.place
        lines = [f"{self.name}: {smallest.op} is not what the reference says ({which})", "", report,
                 ""]
        if judged > 0:
            lines.append(f"the smallest case that differs ({judged} were judged):")
        lines += [f"  {line}" if 0 < len(line) <= LONGEST_LINE else f"  (in {shown})", ""]
        if place and shown:
            lines.append(f"replay: {place} --leafproof-replay {shown}")
        if place and number is not None:
            lines.append(f"as it was found: {place} --leafproof-seed {self.run.seed} "
                         f"--leafproof-case {number}")
        if shown:
            lines.append(f"other backends: leafproof replay {shown}")
        return "\n".join(lines)

    def _keep(self, case, line):
        folder = self.run.folder() if self.run.folder else tempfile.mkdtemp(prefix="leafproof-")
        path = os.path.join(folder, f"{self.name}.case")
        with open(path, "w", encoding="utf-8") as file:
            file.write(line + "\n")
        return path


def _line(case):
    """The case as text; empty where it has none."""
    try:
        return str(case)
    except Error:
        return ""
