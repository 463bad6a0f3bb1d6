"""A sweep of `leafproof verify` in parts, on the workers of a Dask cluster or in this process.

A part is a file that the program keeps as it goes (`verify --shard i/n --result FILE`), so nothing
but the file needs to survive a worker; `leafproof merge` makes the one report of all parts."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Union

from ._errors import refusal

PathLike = Union[str, "os.PathLike[str]"]

EQUAL, DIFFERENT = 0, 1  # exit codes of `verify` and `merge`
STARTS = 3  # of the program for one part, where a signal ends it


class SweepError(RuntimeError):
    """The program refused, or could not be run to its end: its own sentence, and which part."""


class Report(dict):
    """The JSON report (docs/report-format.md) as a dictionary. `ok`: nothing differs and nothing
    was left out. `text`: as `leafproof merge --json` printed it."""

    def __init__(self, text: str, ok: bool):
        super().__init__(json.loads(text))
        self.text = text
        self.ok = ok


def sweep(
    backend: PathLike | Sequence[PathLike],
    shards: int | None = None,
    *,
    client: Any = None,
    level: int = 1,
    ops: str | Sequence[str] | None = None,
    seed: int | None = None,
    skips: PathLike | None = None,
    folder: PathLike | None = None,
    options: Sequence[str] = (),
    threads: int | None = None,
    program: PathLike | None = None,
    report: PathLike | None = None,
    junit: PathLike | None = None,
) -> Report:
    """Judges `backend` as `leafproof verify` does, in `shards` parts, and returns the one report,
    which is the same, but for times, for any number of parts, workers and interruptions.

    backend   a name, or a command that answers line by line (docs/porting.md); a list of them
    shards    into how many parts (4 per worker of the client; without one 1)
    client    a `distributed.Client`: its workers judge. None: this process, part after part. A part
              whose worker is lost is judged by another one.
    level, ops, seed     as the program's options; `ops` is a list of names
    skips     a file of what the backend may leave out, with reasons; the workers must see it
    folder    where the parts are kept, for a sweep that goes on where it was stopped. Workers on
              other machines must see it too. None: they are gone at the end.
    options   more words for `leafproof verify`, such as `["--input", "scan.ply"]`
    threads   of one part (with a client 1, one slot of a Dask worker; else all processors)
    program   the path of `leafproof` ($LEAFPROOF_PROGRAM; else beside this interpreter or in PATH)
    report, junit        files to write, as those options of `leafproof merge`

    Raises SweepError with the program's own sentence, Error for what is refused here."""
    backends = [backend] if isinstance(backend, (str, os.PathLike)) else list(backend)
    if not backends:
        raise refusal("sweep", "backend", backends, "names none")
    if client is not None and getattr(client, "asynchronous", False):
        raise refusal("sweep", "client", client, "must be one made with asynchronous=False")
    if shards is None:
        shards = 1 if client is None else 4 * max(1, len(client.scheduler_info()["workers"]))
    if isinstance(shards, bool) or not isinstance(shards, int) or shards < 1:
        raise refusal("sweep", "shards", shards, "must be a number of parts, from 1 on")
    if threads is None and client is not None:
        threads = 1
    words = ["--level", str(level)]
    for name in backends:
        words += ["--backend", os.fspath(name)]
    if ops is not None:
        words += ["--ops", ops if isinstance(ops, str) else ",".join(ops)]
    if seed is not None:
        words += ["--seed", str(seed)]
    if skips is not None:
        words += ["--skips", os.fspath(skips)]
    if threads is not None:
        words += ["--threads", str(threads)]
    words += [str(word) for word in options]
    program = None if program is None else os.fspath(program)
    folder = None if folder is None else os.path.abspath(folder)
    if folder is not None:
        os.makedirs(folder, exist_ok=True)

    with tempfile.TemporaryDirectory(prefix="leafproof-sweep-") as here:
        files = []
        parts = [(part, shards) for part in range(1, shards + 1)]
        for (part, _), result in _results(client, parts, words, program, folder):
            files.append(Path(here, f"part-{part}.json"))
            files[-1].write_bytes(result)
        merge = [*map(str, files), "--json"]
        for option, file in (("--report", report), ("--junit", junit)):
            merge += [] if file is None else [option, os.fspath(file)]
        code, out, err = _run([find_program(program), "merge", *merge])
    if code not in (EQUAL, DIFFERENT):
        raise SweepError(f"the parts cannot be merged: {_ending(code, err)}")
    return Report(out, code == EQUAL)


def find_program(program: str | None = None) -> str:
    """The path of the program `leafproof`: see sweep()."""
    beside = os.path.join(os.path.dirname(sys.executable), "leafproof")
    for place in (program, os.environ.get("LEAFPROOF_PROGRAM"), beside, "leafproof"):
        if not place:
            continue
        found = shutil.which(place)
        if found is not None:
            return os.path.abspath(found)
        if place not in (beside, "leafproof"):
            raise SweepError(f"program: {place} is none that can be run")
    raise SweepError("the program `leafproof` was not found: give program=PATH, or set "
                     "LEAFPROOF_PROGRAM")


def _results(client, parts, words, program, folder):
    """The parts with their results, in the order in which they are done."""
    show = _Progress(len(parts))
    if client is None:
        for part in parts:
            yield part, judge_part(part, words, program, folder)
            show.one_more()
        return
    from distributed import as_completed
    from distributed.scheduler import KilledWorker

    futures = {}
    try:
        for part in parts:
            key = f"leafproof-{part[0]}-of-{part[1]}-{os.urandom(6).hex()}"
            future = client.submit(judge_part, part, words, program, folder, key=key)
            futures[future] = part
        for future in as_completed(futures):
            try:
                yield futures[future], future.result()
            except KilledWorker as lost:
                part, of = futures[future]
                raise SweepError(f"part {part}/{of}: {lost}") from lost
            show.one_more()
    finally:
        client.cancel(list(futures))  # of those that are done nothing is left to cancel


class _Progress:
    """A line on a terminal; nothing in a pipe."""

    def __init__(self, total):
        self.total, self.done = total, 0

    def one_more(self):
        self.done += 1
        if sys.stderr.isatty():
            end = "\n" if self.done == self.total else ""
            print(f"\rleafproof: {self.done} of {self.total} parts", end=end, file=sys.stderr)


def judge_part(part, words, program=None, folder=None) -> bytes:
    """One part, on whatever machine this is called: the content of its result. A part that was kept
    in `folder` is gone on with, and one that is complete is not judged again."""
    number, of = part
    with tempfile.TemporaryDirectory(prefix="leafproof-part-") as here:
        file = Path(folder or here, f"part-{number}-of-{of}.json")
        command = [find_program(program), "verify", *words, "--json",
                   "--shard", f"{number}/{of}", "--result", str(file)]
        for _ in range(STARTS):
            code, _, err = _run(command)
            if code >= 0:
                break
        if code not in (EQUAL, DIFFERENT):
            raise SweepError(f"part {number}/{of}: {_ending(code, err)}")
        return file.read_bytes()


# Dies with the thread that started it, where the system can do that: a worker that is killed leaves
# no program behind that goes on judging. (Between fork and exec of a process with threads nothing
# of Python may run, so this is a program of its own, which becomes the other.)
_BOUND = """
import ctypes, os, signal, sys
try:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
except AttributeError:
    pass
if os.getppid() != int(sys.argv[1]):
    sys.exit("the process that wanted this is gone")
os.execv(sys.argv[2], sys.argv[2:])
"""


def _run(command):
    """The exit code (below 0: the signal that ended it), and what it printed on both."""
    bound = [sys.executable, "-I", "-S", "-c", _BOUND, str(os.getpid())] if sys.executable else []
    done = subprocess.run([*bound, *command], stdin=subprocess.DEVNULL, capture_output=True)
    return done.returncode, done.stdout.decode(), done.stderr.decode(errors="replace")


def _ending(code, err):
    if code < 0:
        return f"signal {-code} ended the program, {STARTS} times" + (f": {err}" if err else "")
    return err.strip() or f"exit code {code}"
