"""The table of what both sides take."""

from __future__ import annotations

import os
from collections.abc import Mapping

from benchmarks.sides.running import FLINK, MILLRACE
from benchmarks.sides.work import Found, Taken

TOTAL, EACH = 3.0, 1.5
"""how many times as fast as Flink all queries, and each of them, are to be"""
_LEAST = 0.01
"""A query that takes less than this can't be told from its start."""


def ratio(theirs: float, ours: float) -> float:
    return max(theirs, _LEAST) / max(ours, _LEAST)


def lines(found: Mapping[str, Found]) -> list[str]:
    """A line for each query, then the total of those that both sides run, and what is below the bar."""
    ours, theirs = found.get(MILLRACE, {}), found.get(FLINK, {})
    names = list(ours or theirs)
    width = max(map(len, [*names, "total"]))
    shown = [f"{'':{width}}  wall: millrace, flink, ratio     processors: millrace, flink, ratio"]
    both: list[tuple[str, Taken, Taken]] = []
    for name in names:
        pair = ours.get(name), theirs.get(name)
        if isinstance(pair[0], Taken) and isinstance(pair[1], Taken):
            both.append((name, pair[0], pair[1]))
            shown.append(f"{name:{width}} {_compared(pair[0], pair[1])}")
        else:
            shown.append(f"{name:{width}} {'; '.join(map(_alone, filter(None, pair)))}")
    if both:
        total = _sum([mine for _, mine, _ in both]), _sum([other for _, _, other in both])
        shown.append(f"{'total':{width}} {_compared(*total)}   ({len(both)} that both run)")
        below = [name for name, mine, other in both if ratio(other.wall, mine.wall) < EACH]
        reached = ratio(total[1].wall, total[0].wall) >= TOTAL
        shown.append(f"total of at least {TOTAL}: {'reached' if reached else 'not reached'}; below {EACH}: {below}")
    shown.append(f"({os.cpu_count()} cores, load {os.getloadavg()[0]:.1f})")
    return shown


def _sum(each: list[Taken]) -> Taken:
    return Taken(sum(one.wall for one in each), sum(one.processors for one in each))


def _compared(ours: Taken, theirs: Taken) -> str:
    pairs = (ours.wall, theirs.wall), (ours.processors, theirs.processors)
    return "      ".join(f"{one:8.2f} s {other:8.2f} s {ratio(other, one):6.2f}" for one, other in pairs)


def _alone(side: Taken | str) -> str:
    return side if isinstance(side, str) else f"{side.wall:8.2f} s {side.processors:8.2f} s of processors"
