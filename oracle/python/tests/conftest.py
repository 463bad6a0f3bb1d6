"""What more than one file of tests needs."""

import os
from pathlib import Path

import pytest

from leafproof.sweep import SweepError, find_program


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
