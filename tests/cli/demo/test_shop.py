"""The demonstration's programs, beside a plain computation over the same file. Its command runs in tests/front_door."""

from __future__ import annotations

import csv
from collections import Counter
from datetime import datetime, timedelta

from millrace.cli.demo import shop
from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import run_locally

PATIENCE = timedelta(minutes=1)


def lines() -> list[str]:
    with open(shop.ORDERS, encoding="utf-8") as file:
        return file.read().splitlines()


def expected() -> tuple[list[tuple[str, int, int]], list[tuple[str]]]:
    """Windows of ten minutes, and what came when the latest order was a minute and the end of its window ahead."""
    orders: Counter[datetime] = Counter()
    cents: Counter[datetime] = Counter()
    late, newest = [], datetime.min + PATIENCE
    for at, _, customer, product, pieces, price in csv.reader(lines()):
        moment = datetime.fromisoformat(at)
        begun = moment.replace(minute=moment.minute // 10 * 10, second=0)
        if begun + timedelta(minutes=10) <= newest - PATIENCE:
            late.append((f"{customer}'s {product} of {moment:%H:%M:%S}",))
            continue
        newest = max(newest, moment)
        orders[begun] += 1
        cents[begun] += int(pieces) * int(price)
    return [(f"{begun:%H:%M}", orders[begun], cents[begun]) for begun in sorted(orders)], late


def test_takings() -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    windows, late = shop.takings(env.from_collection(lines()))
    found = run_locally(windows.union(late), epoch_records=37).collected
    sums, too_late = expected()
    assert [each for each in found if len(each) == 3] == sums
    assert [each for each in found if len(each) == 1] == too_late
    assert len(too_late) == 2
