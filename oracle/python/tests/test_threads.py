"""The GIL is released, threads and forks do not disturb one another."""

import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import leafproof as lp
import numpy as np
import pytest

IJK = np.random.default_rng(3).integers(-200, 200, (20000, 3))
BATCH = lp.Batch.from_ijk(IJK)


def test_other_threads_run_during_a_build():
    """A thread that counts, and lets go of the GIL after each, gets its turns while a call is in
    C++. By Python's own switching it would not: its interval is far longer than the call."""
    old = sys.getswitchinterval()
    turns, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            turns[0] += 1
            time.sleep(0)

    thread = threading.Thread(target=count)
    sys.setswitchinterval(1000)
    try:
        thread.start()
        ran = 0
        for _ in range(50):
            before = turns[0]
            lp.dilate_box(BATCH, -2, 2)
            ran += turns[0] > before
            if ran:
                break
        stop.set()
    finally:
        sys.setswitchinterval(old)
        stop.set()
        thread.join()
    assert ran


def test_one_batch_read_by_many_threads():
    wanted = lp.refine(BATCH, 2, backend="reference")
    for _ in range(5):
        batch = lp.Batch.from_ijk(IJK, backend="reference")  # nothing of it is made yet
        with ThreadPoolExecutor(8) as threads:
            results = list(threads.map(lambda _: lp.refine(batch, 2), range(8)))
            arrays = list(threads.map(lambda _: batch.buffer.ctypes.data, range(8)))
        assert all(result == wanted for result in results)
        assert len(set(arrays)) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of fork beside threads
def test_after_a_fork():
    """multiprocessing's "fork": the child has none of TBB's threads, and must not wait for them."""
    plan = lp.Plan(BATCH, 3)
    features = np.ones((len(BATCH.ijk), 4), np.float32)
    weights = np.ones((4, 4, 3, 3, 3), np.float32)
    wanted = plan.convolve(features, weights)
    child = os.fork()
    if child == 0:
        good = False
        try:
            good = (
                np.array_equal(plan.convolve(features, weights), wanted)
                and lp.refine(BATCH, 2) == lp.refine(BATCH, 2, backend="host-sort")
                and lp.judge(lp.Case("coarsen", source=BATCH, factor=2), "host")["outcome"]
                == "equal"
            )
        finally:
            os._exit(0 if good else 1)
    for _ in range(600):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        threading.Event().wait(0.1)
    else:
        os.kill(child, 9)
        os.waitpid(child, 0)
        pytest.fail("the child hangs")
    assert os.waitstatus_to_exitcode(status) == 0
