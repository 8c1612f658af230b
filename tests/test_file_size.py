"""Files stay small enough to read in one go."""

from __future__ import annotations

from pathlib import Path
from statistics import median

SOURCE = Path(__file__).parents[1] / "src" / "millrace"
MAX_LINES = 1_000
MAX_MEDIAN = 200
# The public front door: one class, most of whose lines are docstrings.
MAY_BE_LONGER = {"datastream/data_stream.py"}


def line_counts() -> dict[str, int]:
    files = sorted(SOURCE.rglob("*.py"))
    return {file.relative_to(SOURCE).as_posix(): len(file.read_text("utf-8").splitlines()) for file in files}


def test_no_file_is_too_long() -> None:
    too_long = {name: lines for name, lines in line_counts().items() if lines > MAX_LINES and name not in MAY_BE_LONGER}
    assert not too_long, f"split these, or say in MAY_BE_LONGER why not (limit {MAX_LINES} lines): {too_long}"


def test_the_median_file_is_short() -> None:
    # Files without code (empty packages) would make the median look better than the files that people read.
    lines = [count for count in line_counts().values() if count > 1]
    assert median(lines) <= MAX_MEDIAN
