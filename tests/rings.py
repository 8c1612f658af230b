"""Rings of tests: what a run takes of large families.

Ring 1, ``make check``, is what a change needs. Ring 2, ``make test`` and CI, takes all tests but of families that are
marked ``draw(n)``, and of lists that a test goes through by ``taken``, one in n. Which ones that are follows from the
commit: a run repeats them, and after a few commits all have run. Ring 3, ``make night``, takes all of them and what is
marked ``slow`` (``scripts/rings/night.py``). A test without parameters is no family: it always runs.
"""

from __future__ import annotations

import os
import subprocess
import zlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

import pytest

T = TypeVar("T")

TAKES_DRAWS = os.environ.get("MILLRACE_RING") == "2"
DRAW = "MILLRACE_DRAW"
"""environment variable: the number that draws are made from, instead of that of the commit"""

ONE_IN = int(os.environ.get("MILLRACE_ONE_IN") or 1)
"""a run takes one test in so many, whatever it is: a bounded form of ring 3 (``python -m scripts.rings.night``)"""


def draw_number() -> int:
    """What the draws of ring 2 are made from: the first digits of the commit's hash, 0 outside of a repository."""
    if number := os.environ.get(DRAW):
        return int(number)
    command = ["git", "rev-parse", "HEAD"]
    try:
        done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, timeout=60)
    except FileNotFoundError:  # there is no git
        return 0
    return int(done.stdout[:7] or "0", 16)


NUMBER = draw_number() if TAKES_DRAWS or ONE_IN > 1 else 0


def drawn(items: list[pytest.Item]) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """The tests that this run takes of all that were collected, and those that it leaves to others."""
    taken: list[pytest.Item] = []
    left: list[pytest.Item] = []
    for item in items:
        (taken if is_drawn(item.nodeid, ONE_IN * (_share(item) if TAKES_DRAWS else 1)) else left).append(item)
    if ONE_IN > 1 and left and not taken:
        taken.append(left.pop())  # a bounded form of a few long tests runs one of them
    return taken, left


def _share(item: pytest.Item) -> int:
    """Of how many tests ring 2 takes one."""
    marker = item.get_closest_marker("draw")
    return int(marker.args[0]) if marker is not None and hasattr(item, "callspec") else 1


def is_drawn(nodeid: str, one_in: int, number: int | None = None) -> bool:
    """Whether a test or a case is in the draw of a number, by default that of this run."""
    return zlib.crc32(f"{NUMBER if number is None else number} {nodeid}".encode()) % one_in == 0


def taken(cases: Iterable[T], one_in: int, key: Callable[[T], str] = str) -> list[T]:
    """The cases of a list that one test goes through: in ring 2 one in n of them, by the commit, else all."""
    return [case for case in cases if not TAKES_DRAWS or is_drawn(key(case), one_in)]


def one_of(cases: Sequence[T]) -> list[T]:
    """In ring 2 one of the cases, by the commit, else all: where each starts a cluster or servers, or is one more seed
    of a test whose other parameters all run."""
    return [cases[NUMBER % len(cases)]] if TAKES_DRAWS else list(cases)


def examples(of_all: int) -> int:
    """How many random examples a slow property gets: a third of them in ring 2."""
    return max(of_all // 3, 5) if TAKES_DRAWS else of_all
