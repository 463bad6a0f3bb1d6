"""The Python of docs/python.md runs as it stands."""

import pathlib

import pytest

PAGE = pathlib.Path(__file__).parents[3] / "docs" / "python.md"


def blocks():
    found, inside = [], None
    for number, line in enumerate(PAGE.read_text().splitlines(), 1):
        if line == "```python":
            inside = "\n" * number  # so that errors name the line of the page
        elif line == "```" and inside is not None:
            found.append(inside)
            inside = None
        elif inside is not None:
            inside += line + "\n"
    return found


@pytest.mark.skipif(not PAGE.exists(), reason=f"there is no {PAGE}")
def test_every_block_runs():
    names = {}
    assert len(blocks()) >= 4
    for block in blocks():
        exec(compile(block, str(PAGE), "exec"), names)
