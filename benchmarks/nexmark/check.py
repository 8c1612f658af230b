"""Each query in streaming mode, in epochs of random length, and in batch mode: do the tables agree?

Streaming runs on Millrace's operators, batch on Spark SQL, so the one is an oracle of the other.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from benchmarks.nexmark.events import Settings
from benchmarks.nexmark.queries import QUERIES
from benchmarks.nexmark.session import environment
from millrace.common.types import Row, RowKind

Table = Counter[tuple[Any, ...]]
NONE: Mapping[str, str] = MappingProxyType({})


def differences(events: int, names: Sequence[str], settings_of_streaming: Mapping[str, str] = NONE) -> list[str]:
    """The queries whose tables differ. Prints what is found."""
    settings = Settings(events=events, rate=max(events // 60, 100))  # a minute: several windows of each kind
    epochs = random.Random(events)
    batch = environment(settings, streaming=False)
    streaming = environment(settings, block=max(events // 40, 50))
    for key, value in settings_of_streaming.items():
        streaming.get_config().set(key, value)
    wrong = []
    for name in names:
        blocks = epochs.randint(1, 7)
        streaming.get_config().set("millrace.epoch.max-records", str(blocks))
        view = VIEWS.get(name, _as_it_is)
        one = view(final(streaming.execute_sql(QUERIES[name]).collect()))
        other = view(final(batch.execute_sql(QUERIES[name]).collect()))
        same = one == other if name not in CUT_SHORT else one <= other
        verdict = "the same" if same else "DIFFERENT"
        print(f"{name:5} {verdict}: {other.total()} rows, {blocks} blocks an epoch", flush=True)
        if not same:
            wrong.append(name)
            for side, rows in (("streaming", one - other), ("batch", other - one)):
                print(f"      only in {side}: {rows.total()}, e.g. {list(rows)[:2]}")
    return wrong


def final(changes: Iterable[Row]) -> Table:
    """The table after all changes.

    :raises ValueError: a row is taken back that is not there.
    """
    content: Table = Counter()
    for row in changes:
        adds = row.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER)
        place = tuple(row)
        content[place] += 1 if adds else -1
        if content[place] < 0:
            raise ValueError(f"{row} is taken back, but it is not there")
    return +content


def _as_it_is(table: Table) -> Table:
    return table


def _per_bidder(table: Table) -> Table:
    """q12 counts by the clock, so which window a bid falls into differs from run to run."""
    totals: Table = Counter()
    for (bidder, bids, *_), times in table.items():
        totals[(bidder,)] += bids * times
    return totals


def _places(table: Table) -> Table:
    """q19: which of an auction's bids with the same price comes first is not said by the query."""
    found: Table = Counter()
    for (auction, _, price, *_, place), times in table.items():
        found[auction, price, place] += times
    return found


VIEWS: dict[str, Callable[[Table], Table]] = {"q12": _per_bidder, "q19": _places}
"""what is compared where whole rows may differ"""
CUT_SHORT = ("q12",)
"""Windows by the clock that are open at the end of a bounded stream are dropped, here as in Flink: streaming has some
of the bids, none of them twice."""
