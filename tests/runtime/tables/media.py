"""Where an operator's rows are in a test: in memory, which all tests try, on disk, and with a time to live.

Ring 2 takes one in eight of the others for each test, by the commit; ring 3 takes all.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from tests.rings import taken

from millrace.runtime.tables.base import TableConfig
from millrace.testing import OperatorHarness, Outcome
from millrace.testing.variants import _on_disk, _variants

NEVER = 100 * 365 * 24 * 3_600_000
"""a time to live (ms) within which every test ends"""
OTHERS = ("expiring", "disk", "disk, expiring")


def other_media(
    config: TableConfig, make: Callable[[TableConfig], OperatorHarness], script: Sequence[Any], seed: int
) -> Iterator[tuple[str, Outcome]]:
    """(medium, what came out) of one variant for each of the media that this run takes. The table that the changes make
    is that of memory; there may be more changes of it, since an update of a row that stays the same renews it.

    :param make: makes a harness around the operator of a configuration.
    """
    test = os.environ.get("PYTEST_CURRENT_TEST", "").partition(" ")[0]
    for medium in taken(OTHERS, 8, lambda each: f"{test} {each}"):
        chosen = replace(config, state_ttl=NEVER) if "expiring" in medium else config
        variants = dict(_on_disk(seed) if "disk" in medium else _variants(seed, 1))
        name = sorted(variants)[seed % len(variants)]
        yield f"{medium}: {name}", variants[name](lambda chosen=chosen: make(chosen), script)
