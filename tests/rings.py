"""Rings of tests: what a run takes of large families.

Ring 1, ``make check``, is what a change needs. Ring 2, ``make test`` and CI, takes all tests but of families that are
marked ``draw(n)``, of which it takes every n-th, the same ones each time. Ring 3, ``make night``, takes all of them and
what is marked ``slow``. A test without parameters is no family: it always runs.
"""

from __future__ import annotations

import os
import zlib

import pytest

TAKES_DRAWS = os.environ.get("MILLRACE_RING") == "2"


def drawn(items: list[pytest.Item]) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """The tests that ring 2 takes, and those that it leaves to ring 3."""
    taken: list[pytest.Item] = []
    left: list[pytest.Item] = []
    for item in items:
        marker = item.get_closest_marker("draw")
        is_of_family = marker is not None and hasattr(item, "callspec")
        (left if is_of_family and not is_drawn(item.nodeid, marker.args[0]) else taken).append(item)
    return taken, left


def is_drawn(nodeid: str, one_in: int) -> bool:
    return zlib.crc32(nodeid.encode()) % int(one_in) == 0


def examples(of_all: int) -> int:
    """How many random examples a slow property gets: a third of them in ring 2."""
    return max(of_all // 3, 5) if TAKES_DRAWS else of_all
