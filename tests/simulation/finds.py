"""Seeds that find the planted mistakes: ``finds.json``, so that a test tries one world and not hundreds.

They hold as long as the simulation draws as it did: a test whose seed no longer finds its mistake tries others, which
takes seconds to minutes. ``python -m tests.simulation.finds`` tries all mistakes and writes the seeds again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

FILE = Path(__file__).with_name("finds.json")


def recorded() -> dict[str, dict[str, int]]:
    """How tasks run (``stages``, ``flow``) -> mistake -> the seed of a world that shows it."""
    found: dict[str, dict[str, int]] = json.loads(FILE.read_text())
    return found


def candidates(way: str, mistake: str, most: int) -> Iterator[int]:
    """The recorded seed, then all from 0.

    :param most: how many seeds follow the recorded one.
    """
    seed = recorded()[way].get(mistake)
    if seed is not None:
        yield seed
    yield from range(most)


def main() -> int:
    from tests.simulation import test_broken_engine, test_flow_worlds  # they import this module

    found = recorded()
    missed = 0
    for way, module in (("stages", test_broken_engine), ("flow", test_flow_worlds)):
        for mistake in module.MISTAKES:
            with pytest.MonkeyPatch.context() as monkeypatch:
                seed = module.finder(mistake, monkeypatch)
            print(f"{way}: {mistake}: {seed}", flush=True)
            if seed is None:
                missed += 1
            else:
                found[way][mistake] = seed
        found[way] = {mistake: found[way][mistake] for mistake in module.MISTAKES if mistake in found[way]}
    FILE.write_text(json.dumps(found, indent=0) + "\n")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
