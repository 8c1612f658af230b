"""The events of Nexmark, column by column: the same ones for the same seed, whoever asks for which part.

Of 50 events in a row 1 is a new person, 3 are new auctions, 46 are bids. Event ``n`` happens ``n / rate`` seconds after
the beginning. Half of the bids are for one of the newest "hot" auctions, three quarters come from a hot bidder; prices
are spread evenly over powers of ten. The numbers (proportions, ratios of what is hot, lengths of text) are those of the
published generator; the random numbers are our own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

PERSONS, AUCTIONS, BIDS = 1, 3, 46
TOTAL = PERSONS + AUCTIONS + BIDS
FIRST_ID = 1_000
FIRST_CATEGORY, CATEGORIES = 10, 5
HOT_AUCTION, HOT_SELLER, HOT_BIDDER = 2, 4, 4
"""of so many choices all but one are hot"""
HOT_GROUP = 100
IN_FLIGHT = 100
ACTIVE_PERSONS = 1_000
LEAD = 10
"""how far an id may be ahead of those that are there yet"""
CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
CITIES = ("Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend", "Redmond", "Seattle", "Kent")
FIRST_NAMES = ("Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter")
LAST_NAMES = ("Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris")

Numbers = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class Settings:
    """Which events there are."""

    events: int = 100_000
    rate: int = 10_000
    """events in a second of event time"""
    seed: int = 1
    base_ms: int = 1_436_918_400_000
    """the time of the first event"""

    def times(self, numbers: Numbers, later: Any = 0) -> pa.Array:
        """When these events happen, and ``later`` (ms): a TIMESTAMP(3) column."""
        millis = self.base_ms + numbers * 1000 // self.rate + later
        return pa.array(millis * 1000).cast(pa.timestamp("us"))


def numbers_of(kind: str, first: int, last: int) -> Numbers:
    """The numbers of the events of a kind from ``first`` up to, not including, ``last``."""
    everything = np.arange(first, last, dtype=np.int64)
    place = everything % TOTAL
    if kind == "person":
        return everything[place < PERSONS]
    if kind == "auction":
        return everything[(place >= PERSONS) & (place < PERSONS + AUCTIONS)]
    return everything[place >= PERSONS + AUCTIONS]


def _persons_until(numbers: Numbers) -> Numbers:
    """The id, counted from 0, of the newest person at each event."""
    return numbers // TOTAL * PERSONS + np.minimum(numbers % TOTAL, PERSONS - 1)


def _auctions_until(numbers: Numbers) -> Numbers:
    place = numbers % TOTAL
    epoch = numbers // TOTAL
    inside = np.clip(place - PERSONS, 0, AUCTIONS - 1)
    found = epoch * AUCTIONS + inside
    return np.where(place < PERSONS, np.maximum(epoch * AUCTIONS - 1, 0), found)


class Draw:
    """Random numbers that depend on the seed, the event and their use, a number: nothing else, so a column that nobody
    wants need not be made."""

    def __init__(self, seed: int, numbers: Numbers) -> None:
        self._base = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed)

    def bits(self, use: int) -> np.ndarray[Any, np.dtype[np.uint64]]:
        """64 random bits for each event."""
        mixed = self._base + np.uint64(use * 0xD1B54A32D192ED03 % 2**64)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return mixed ^ (mixed >> np.uint64(31))

    def below(self, use: int, limit: Any) -> Numbers:
        """A number from 0 up to, not including, ``limit``."""
        return (self.bits(use) % np.asarray(limit, np.uint64)).astype(np.int64)

    def price(self, use: int) -> Numbers:
        share = (self.bits(use) >> np.uint64(11)).astype(np.float64) / 2.0**53
        return np.round(10.0 ** (share * 6.0) * 100.0).astype(np.int64)

    def one_of(self, use: int, values: tuple[str, ...]) -> pa.Array:
        return pa.array(values).take(pa.array(self.below(use, len(values))))

    def text(self, use: int, length: int) -> pa.Array:
        """Letters: the same 1,000 texts again and again."""
        texts = _texts(length)
        return texts.take(pa.array(self.below(use, len(texts))))

    def digits(self, use: int, width: int) -> pa.Array:
        texts = pa.array([f"{number:0{width}}" for number in range(10**width)])
        return texts.take(pa.array(self.below(use, 10**width)))


@cache
def _texts(length: int) -> pa.Array:
    letters = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz", np.uint8)
    drawn = np.random.default_rng(length).integers(0, 26, (1_000, length))
    return pa.array([bytes(letters[row]).decode() for row in drawn])


Columns = dict[str, Callable[[], pa.Array]]
"""column -> makes it"""


def persons(settings: Settings, numbers: Numbers) -> Columns:
    draw = Draw(settings.seed, numbers)
    return {
        "id": lambda: pa.array(_persons_until(numbers) + FIRST_ID),
        "name": lambda: _joined(draw.one_of(1, FIRST_NAMES), " ", draw.one_of(2, LAST_NAMES)),
        "emailAddress": lambda: _joined(draw.text(3, 7), "@", draw.text(4, 5), ".com"),
        "creditCard": lambda: pc.binary_join_element_wise(*(draw.digits(use, 4) for use in range(5, 9)), " "),
        "city": lambda: draw.one_of(9, CITIES),
        "state": lambda: draw.one_of(10, STATES),
        "dateTime": lambda: settings.times(numbers),
        "extra": lambda: draw.text(11, 60),
    }


def auctions(settings: Settings, numbers: Numbers) -> Columns:
    draw = Draw(settings.seed, numbers)
    # An auction is open for about as long as IN_FLIGHT auctions take to begin.
    horizon = IN_FLIGHT * TOTAL // AUCTIONS * 1000 // settings.rate
    return {
        "id": lambda: pa.array(_auctions_until(numbers) + FIRST_ID),
        "itemName": lambda: draw.text(1, 20),
        "description": lambda: draw.text(2, 100),
        "initialBid": lambda: pa.array(draw.price(3)),
        "reserve": lambda: pa.array(draw.price(3) + draw.price(4)),
        "dateTime": lambda: settings.times(numbers),
        "expires": lambda: settings.times(numbers, 1 + draw.below(5, max(horizon * 2, 1))),
        "seller": lambda: pa.array(_hot_or_active(draw, 6, numbers, HOT_SELLER, 0) + FIRST_ID),
        "category": lambda: pa.array(FIRST_CATEGORY + draw.below(8, CATEGORIES)),
        "extra": lambda: draw.text(9, 160),
    }


def bids(settings: Settings, numbers: Numbers) -> Columns:
    draw = Draw(settings.seed, numbers)
    return {
        "auction": lambda: pa.array(_bid_for(draw, numbers) + FIRST_ID),
        "bidder": lambda: pa.array(_hot_or_active(draw, 3, numbers, HOT_BIDDER, 1) + FIRST_ID),
        "price": lambda: pa.array(draw.price(5)),
        "channel": lambda: _channel(draw),
        "url": lambda: _url(draw),
        "dateTime": lambda: settings.times(numbers),
        "extra": lambda: draw.text(13, 60),
    }


def _bid_for(draw: Draw, numbers: Numbers) -> Numbers:
    newest = _auctions_until(numbers)
    oldest = np.maximum(newest - IN_FLIGHT, 0)
    cold = oldest + draw.below(1, newest - oldest + 1 + LEAD)
    return np.where(draw.below(2, HOT_AUCTION) > 0, newest // HOT_GROUP * HOT_GROUP, cold)


def _hot_or_active(draw: Draw, use: int, numbers: Numbers, ratio: int, hot_place: int) -> Numbers:
    newest = _persons_until(numbers)
    active = np.minimum(newest, ACTIVE_PERSONS)
    some = newest - active + draw.below(use, active + LEAD)
    return np.where(draw.below(use + 1, ratio) > 0, newest // HOT_GROUP * HOT_GROUP + hot_place, some)


def _channel(draw: Draw) -> pa.Array:
    """Half of the bids come through one of four channels, the others through one of 10,000."""
    names = pa.array([*CHANNELS, *(f"channel-{each}" for each in range(10_000))])
    hot = draw.below(6, 2) > 0
    return names.take(pa.array(np.where(hot, draw.below(7, len(CHANNELS)), draw.below(8, 10_000) + len(CHANNELS))))


def _url(draw: Draw) -> pa.Array:
    """9 of 10 of the many channels have their number in it."""
    with_id = (draw.below(9, 10) > 0) & ~(draw.below(6, 2) > 0)
    marks = pa.array(["", *(f"&channel_id={each}" for each in range(10_000))])
    mark = marks.take(pa.array(np.where(with_id, draw.below(8, 10_000) + 1, 0)))
    parts = ("https://www.nexmark.com/", draw.text(10, 5), "/", draw.text(11, 5), "/", draw.text(12, 5))
    return _joined(*parts, "/item.htm?query=1", mark)


def _joined(*parts: Any) -> pa.Array:
    return pc.binary_join_element_wise(*parts, "")
