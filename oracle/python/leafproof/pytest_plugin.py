"""The pytest plugin: options for tests made by `@leafproof.against`, and their failures as reports.

    pytest --leafproof-seed 7              other cases; `random`: others each time
    pytest --leafproof-level 2             more cases; --leafproof-count N: so many
    pytest --leafproof-replay 'case1 ...'  this case alone, as a failure prints it; or a file of it
"""

from __future__ import annotations

import os
import random
import shlex
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from . import _against
from ._core import Case
from ._errors import Error, Mismatch

against = _against.against


def pytest_addoption(parser):
    group = parser.getgroup("leafproof", "judging by leafproof's reference (@leafproof.against)")
    group.addoption("--leafproof-seed", metavar="SEED",
                    help="of the cases, instead of the tests' own; `random`: another one each time")
    group.addoption("--leafproof-level", type=int, choices=sorted(_against.CASES_OF_LEVEL),
                    help="how many cases: 64, 512 or 20,000 of each operation")
    group.addoption("--leafproof-count", type=_from(1), metavar="N",
                    help="so many cases of each operation")
    group.addoption("--leafproof-case", type=_from(0), metavar="N",
                    help="of the cases of a seed this one alone")
    group.addoption("--leafproof-replay", metavar="CASE",
                    help="judge this case alone: `case1 ...`, as a failure prints it, or its file")


def _from(least):
    def number(text):
        if not text.isdigit() or int(text) < least:
            raise ValueError
        return int(text)

    number.__name__ = f"number from {least} on"
    return number


def pytest_configure(config):
    option = config.option
    seed = option.leafproof_seed
    if seed == "random":
        seed = random.SystemRandom().randrange(2**32)
        option.leafproof_seed = str(seed)  # what processes of this one are told
    elif seed is not None:
        if not seed.isdigit() or int(seed) >= 2**63:
            raise pytest.UsageError(f"--leafproof-seed {seed}: must be a number or `random`")
        seed = int(seed)
    config.leafproof_before = _against.run
    _against.run = _against.Run(seed, option.leafproof_level, option.leafproof_count,
                                option.leafproof_case, _case(option.leafproof_replay),
                                folder=lambda: _folder(config))


def pytest_unconfigure(config):
    if hasattr(config, "leafproof_before"):
        _against.run = config.leafproof_before


def _case(text):
    if text is None:
        return None
    try:
        if not text.startswith("case1 "):
            text = Path(text).read_text(encoding="utf-8")
        return Case.parse(text.strip())
    except (OSError, UnicodeDecodeError, Error) as error:
        raise pytest.UsageError(f"--leafproof-replay: {error}") from None


def _folder(config):
    cache = getattr(config, "cache", None)
    return tempfile.mkdtemp(prefix="leafproof-") if cache is None else str(cache.mkdir("leafproof"))


def pytest_collection_modifyitems(items):
    replayed = _against.run.replay
    if replayed is None:
        return
    for item in items:
        ops = getattr(getattr(item, "function", None), "leafproof_ops", None)
        if ops is not None and replayed.op not in ops:
            item.add_marker(pytest.mark.skip(reason=f"the case to replay is of {replayed.op}"))


def pytest_report_header():
    seed = _against.run.seed
    return f"leafproof: seed {_against.LEVEL_SEED if seed is None else seed}" + (
        " unless a test has its own" if seed is None else "")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Says how a shell has this test again, and notes what was asked (in JUnit's XML too)."""
    path = os.path.relpath(item.path, item.config.invocation_params.dir)
    _, _, rest = item.nodeid.partition("::")
    place = shlex.quote(f"{path}::{rest}" if rest else path)
    before = _against.run
    _against.run = replace(before, place=f"pytest {place}", found={})
    try:
        return (yield)
    finally:
        if _against.run.found:
            item.user_properties.append(("leafproof", str(_against.run.found)))
        _against.run = before


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """A report speaks for itself: the traceback that led to it says nothing more."""
    report = yield
    error = call.excinfo.value if call.excinfo else None
    if isinstance(error, Mismatch) and getattr(error, "is_report", False):
        report.longrepr = str(error)
    return report
