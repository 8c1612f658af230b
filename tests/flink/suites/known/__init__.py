"""What is not as Flink's own tests expect: a file for each part, keys below their reasons."""

from __future__ import annotations

from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent


@cache
def known(part: str) -> dict[str, str]:
    """The reason why a case is not as Flink's, by its key."""
    found: dict[str, str] = {}
    reason = ""
    for line in (FOLDER / f"{part}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            reason = line[2:]
        elif line:
            assert line not in found, f"{line} is listed twice"
            found[line] = reason
    return found
