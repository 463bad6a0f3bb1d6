"""What more than one file of tests needs."""

import os
from pathlib import Path

import hypothesis
import pytest

from leafproof.sweep import SweepError, find_program

# Hypothesis draws the same each time, and nothing depends on how busy the machine is.
hypothesis.settings.register_profile(
    "leafproof", database=None, deadline=None, derandomize=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("leafproof")


@pytest.fixture(scope="session")
def program():
    """The path of the program: what ctest says, else that of the build folder, else an installed
    one."""
    built = Path(__file__).resolve().parents[3] / "build" / "bin" / "leafproof"
    said = os.environ.get("LEAFPROOF_PROGRAM")
    try:
        return find_program(said or (str(built) if built.exists() else None))
    except SweepError as error:
        pytest.skip(f"NOT TESTED: what the program does: {error}")
