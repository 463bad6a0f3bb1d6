"""`leafproof.sweep`: parts in this process and on a Dask cluster, whose workers are killed."""

import json
import os
import re
import shutil
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

import leafproof
from leafproof.sweep import SweepError, find_program, judge_part

ROOT = Path(__file__).resolve().parents[3]
OPS = ["refine", "coarsen"]


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """A backend of lists of voxels, the one of docs/porting.md: it leaves out what is in `skips`,
    and has a planted mistake: it divides toward zero. It notes its process and what it was asked,
    and takes its time as the file `pace` says. And what real input there is: two points."""
    folder = tmp_path_factory.mktemp("plain")
    text = (ROOT / "docs/example/pipe_plain.py").read_text()
    assert text.count("n // s") == 1 and text.count("sys.stdin:\n") == 1
    text = text.replace("n // s", "int(n / s)").replace("sys.stdin:\n", f"""sys.stdin:
    import os, time
    with open({str(folder)!r} + "/asked-" + str(os.getpid()), "a") as file:
        file.write(line)
    time.sleep(float(open({str(folder / "pace")!r}).read()))
""")
    (folder / "plain.py").write_text(text)
    set_pace(folder, 0)
    (folder / "skips").write_text("refine no masks\n")
    (folder / "two.xyz").write_text("0 0 0\n1 2 3\n")
    return folder


def set_pace(plain, seconds):
    """At once, as it is read at any time."""
    (plain / "pace.new").write_text(str(seconds))
    (plain / "pace.new").replace(plain / "pace")


def arguments(plain, program, **more):
    return dict(backend=f"{sys.executable} {plain}/plain.py", ops=OPS, skips=plain / "skips",
                options=["--input", str(plain / "two.xyz"), "--voxel-size", "1", "--tries", "300"],
                program=program) | more


def timeless(report):
    return re.sub(r'"seconds": [-+.0-9e]+', '"seconds": 0', report.text)


@pytest.fixture(scope="module")
def whole(plain, program):
    """The report of a single process."""
    report = leafproof.sweep(**arguments(plain, program))
    assert not report.ok and report["totals"]["failed"] > 0
    assert any(failure["smallest"] for failure in report["failures"])
    return timeless(report)


def asked(plain):
    """What each process of the backend was asked since, and which there are."""
    return {int(file.name[6:]): file.read_text().splitlines() for file in plain.glob("asked-*")}


def forget(plain):
    for file in plain.glob("asked-*"):
        file.unlink()


def until(condition, what, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.02)


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed", reason="NOT TESTED: sweeps on a cluster")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True,
                                  dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            yield client


def test_parts_of_one_process_are_the_whole(plain, program, whole):
    assert timeless(leafproof.sweep(shards=3, **arguments(plain, program))) == whole


def test_a_report_is_what_the_program_says(plain, program, tmp_path):
    report = leafproof.sweep("host-mask", 2, level=1, ops="refine", seed=7, program=program,
                             options=arguments(plain, program)["options"],
                             report=tmp_path / "page.html", junit=tmp_path / "junit.xml")
    assert report.ok and report["seed"] == 7 and report == json.loads(report.text)
    assert {row["operation"] for row in report["rows"]} == {"refine"}
    assert "<html" in (tmp_path / "page.html").read_text()
    assert "<testsuites" in (tmp_path / "junit.xml").read_text()


def test_workers_of_a_cluster_give_the_same_report(plain, program, whole, cluster):
    assert timeless(leafproof.sweep(client=cluster, **arguments(plain, program))) == whole


@pytest.mark.parametrize("kept", [False, True])
def test_a_killed_worker_loses_nothing(plain, program, whole, cluster, tmp_path, kept):
    forget(plain)
    set_pace(plain, 0.01)
    done = []
    run = threading.Thread(target=lambda: done.append(leafproof.sweep(
        shards=4, client=cluster, folder=tmp_path if kept else None, **arguments(plain, program))))
    run.start()
    try:
        # Mid-way: one worker is about to be killed while a case of its part is being answered.
        until(lambda: sum(map(len, asked(plain).values())) > 20, "no part was begun")
        workers = cluster.run(os.getpid).values()
        until(lambda: any(map(children_of, workers)), "no worker judges")
        victim, children = next((pid, children_of(pid)) for pid in workers if children_of(pid))
        os.kill(victim, signal.SIGKILL)
        until(lambda: not any(map(alive, children)), "the worker left its program behind")
        set_pace(plain, 0)
    finally:
        run.join(timeout=240)
    assert not run.is_alive() and len(done) == 1
    assert timeless(done[0]) == whole
    if kept:
        names = {file.name for file in tmp_path.glob("[!.]*")}
        assert names == {f"part-{i}-of-4.json" for i in (1, 2, 3, 4)}


def children_of(pid):
    tasks = Path(f"/proc/{pid}/task")
    if not tasks.exists():
        pytest.skip("NOT TESTED: killed workers: there is no /proc to see their programs in")
    return [int(child) for task in tasks.iterdir()
            for child in (task / "children").read_text().split()]


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_what_is_kept_is_not_judged_again(plain, program, whole, tmp_path):
    words = arguments(plain, program, shards=2, folder=tmp_path)
    leafproof.sweep(**words)
    (tmp_path / "part-2-of-2.json").unlink()
    kept = (tmp_path / "part-1-of-2.json").read_bytes()
    forget(plain)
    assert timeless(leafproof.sweep(**words)) == whole
    cases = {line.split(" ", 1)[1] for lines in asked(plain).values() for line in lines}
    assert 0 < len(cases) and (tmp_path / "part-1-of-2.json").read_bytes() == kept
    forget(plain)
    assert timeless(leafproof.sweep(**words)) == whole
    assert asked(plain) == {}


def test_a_part_that_was_cut_short_is_gone_on_with(plain, program, whole, tmp_path):
    words = arguments(plain, program, folder=tmp_path)
    set_pace(plain, 0.02)
    try:
        cut = leafproof.sweep(**words | {"options": words["options"] + ["--time", "0.7"]})
    finally:
        set_pace(plain, 0)
    assert any("s were over" in note for note in cut["notes"])
    part = json.loads((tmp_path / "part-1-of-1.json").read_text())
    assert 0 < part["done"] < part["items"]
    forget(plain)
    assert timeless(leafproof.sweep(**words)) == whole
    cases = {line.split(" ", 1)[1] for lines in asked(plain).values() for line in lines}
    assert cases, "the rest was asked"


@pytest.mark.parametrize("change, sentence", [
    (dict(backend="nobody"), r"part 1/2: .*backend = nobody"),
    (dict(ops=["halve"]), r"part 1/2: .*operation = halve"),
    (dict(level=9), r"part 1/2: .*level = 9"),
    (dict(skips="no such file"), r"part 1/2: .*no such file"),
    (dict(program="/no/such/program"), r"program: /no/such/program"),
])
def test_what_the_program_refuses_is_its_own_sentence(plain, program, change, sentence):
    with pytest.raises(SweepError, match=sentence):
        leafproof.sweep(shards=2, **arguments(plain, program) | change)


@pytest.mark.parametrize("shards", [0, -1, 1.5, True, "2"])
def test_a_number_of_parts_that_is_none(shards):
    with pytest.raises(leafproof.Error, match="sweep: InvalidArgument: shards = "):
        leafproof.sweep("host", shards)


def test_no_backend_is_refused():
    with pytest.raises(leafproof.Error, match="names none"):
        leafproof.sweep([])


def test_a_part_of_another_sweep_is_refused(plain, program, tmp_path):
    leafproof.sweep(shards=2, folder=tmp_path, **arguments(plain, program))
    with pytest.raises(SweepError, match="part 1/2: .*another sweep|seed: "):
        leafproof.sweep(shards=2, folder=tmp_path, seed=3, **arguments(plain, program))


def test_a_kept_part_that_is_damaged_is_refused(plain, program, tmp_path):
    words = arguments(plain, program, shards=2, folder=tmp_path)
    leafproof.sweep(**words)
    file = tmp_path / "part-2-of-2.json"
    file.write_bytes(file.read_bytes()[:1000])
    with pytest.raises(SweepError, match="part 2/2: .*Corrupt: .*part-2-of-2.json"):
        leafproof.sweep(**words)


def test_a_program_that_dies_is_begun_again_and_at_last_named(plain, program, tmp_path):
    """Twice a signal ends it, then it judges; or it does so for ever."""
    died = tmp_path / "died"
    wrapper = tmp_path / "leafproof"
    wrapper.write_text(f"""#!/bin/sh
echo . >> {died}
[ $(wc -l < {died}) -ge $(cat {tmp_path}/times) ] || kill -KILL $$
exec {program} "$@"
""")
    wrapper.chmod(0o755)
    words = ["--level", "1", "--ops", "dual", "--backend", "host-mask",
             *arguments(plain, program)["options"]]
    (tmp_path / "times").write_text("3")
    result = json.loads(judge_part((1, 2), words, str(wrapper)))
    assert result["format"] == "leafproof-result" and result["done"] == result["items"]
    died.unlink()
    (tmp_path / "times").write_text("99")
    with pytest.raises(SweepError, match="part 1/2: signal 9 ended the program, 3 times"):
        judge_part((1, 2), words, str(wrapper))


def test_where_the_program_is(program, monkeypatch, tmp_path):
    monkeypatch.setenv("LEAFPROOF_PROGRAM", program)
    assert find_program() == program
    monkeypatch.setenv("LEAFPROOF_PROGRAM", str(tmp_path / "nothing"))
    with pytest.raises(SweepError, match="nothing"):
        find_program()
    monkeypatch.delenv("LEAFPROOF_PROGRAM")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python3"))
    with pytest.raises(SweepError, match="LEAFPROOF_PROGRAM"):
        find_program()
    shutil.copy(program, tmp_path / "leafproof")
    assert find_program() == str(tmp_path / "leafproof")
