"""The programs of examples/patterns against loops over lists, on their own data and on others."""

from __future__ import annotations

import datetime
import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import bank_card
import log_ins
import order_timeouts
import pytest
import reading
import shop_sessions
import v_shape

from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import run_locally

Event = tuple[str, ...]
BEGIN = datetime.datetime(2024, 5, 1)


def of_keys(events: list[Event]) -> Iterator[list[Event]]:
    found: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        found[event[0]].append(event)
    yield from found.values()


def between(first: Event, last: Event) -> float:
    return (reading.millis(last) - reading.millis(first)) / 1000


def log_in_alarms(own: list[Event]) -> Iterator[str]:
    free = 0
    for end in range(2, len(own)):
        three = own[end - 2 : end + 1]
        if end - 2 >= free and all(event[1] == "fail" for event in three) and between(three[0], three[2]) < 20:
            free = end + 1
            addresses = ", ".join(sorted({event[2] for event in three}))
            yield f"{three[0][0]}: 3 failures from {three[0][-1]} on, by {addresses}"


def payments(own: list[Event]) -> Iterator[str]:
    for place, created in enumerate(own):
        if created[1] == "created":
            later = [each for each in own[place + 1 :] if each[1] == "paid" and between(created, each) < 900]
            waited = datetime.timedelta(seconds=between(created, later[0])) if later else None
            yield f"{created[0]} paid after {waited}" if later else f"{created[0]} not paid"


def visits(own: list[Event]) -> Iterator[str]:
    for place, cart in enumerate(own):
        if cart[1] == "cart":
            later = [each for each in own[place + 1 :] if each[1:3] == ("buy", cart[2]) and between(cart, each) < 600]
            if later:
                yield f"{cart[0]} bought {cart[2]} at {later[0][-1]}"
            else:
                yield f"{cart[0]} left {cart[2]} of {cart[-1]} in the cart"


def valleys(own: list[Event]) -> Iterator[str]:
    prices, begin = [int(event[1]) for event in own], 0
    while begin < len(prices):
        end = begin
        while end + 1 < len(prices) and prices[end + 1] < prices[end]:
            end += 1
        if end - begin >= 2 and end + 1 < len(prices) and prices[end + 1] > prices[end]:
            yield f"{own[0][0]} {prices[begin]} > {prices[end]} > {prices[end + 1]}"
            begin = end + 2
        else:
            begin += 1


def frauds(own: list[Event]) -> Iterator[str]:
    for begin, first in enumerate(own):
        end = begin
        while (
            end + 1 < len(own)
            and first[2] == own[end + 1][2] == "Consumption"
            and (own[end + 1][1] != first[1] and between(first, own[end + 1]) < 600)
        ):
            end += 1
        if end > begin:
            yield f"{first[0]}: {first[1]}, then {end - begin} payments up to {own[end][1]}"


def drawn(name: str, seed: int) -> list[Event]:
    """Events like those of the file, in another order and at other times."""
    choose = random.Random(seed)
    fields = [list(column) for column in zip(*reading.lines(name))][:-1]
    moment, found = BEGIN, []
    for _ in range(200):
        moment += datetime.timedelta(seconds=choose.choices([1, 2, 5, 60, 300], [20, 5, 5, 2, 1])[0])
        found.append((*(choose.choice(column) for column in fields), moment.isoformat(" ")))
    return found


PROGRAMS: dict[str, tuple[Callable[..., Any], str, Callable[[list[Event]], Iterator[str]]]] = {
    "log_ins": (log_ins.build, "log_ins", log_in_alarms),
    "order_timeouts": (order_timeouts.build, "orders", payments),
    "shop_sessions": (shop_sessions.build, "shop", visits),
    "v_shape": (v_shape.build, "stocks", valleys),
    "v_shape in SQL": (v_shape.build_sql, "stocks", valleys),
    "bank_card": (bank_card.build, "swipes", frauds),
}


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize("name", PROGRAMS)
def test_program_finds_what_a_loop_finds(name: str, seed: int | None) -> None:
    build, data, oracle = PROGRAMS[name]
    events = reading.lines(data) if seed is None else drawn(data, seed)
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    found = run_locally(build(env, events), epoch_records=50, seed=seed).collected
    wanted = [line for own in of_keys(events) for line in oracle(own)]
    assert len(wanted) >= 3
    assert sorted(found) == sorted(wanted)
