"""Patterns with a call too many, most of which Flink refuses."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from tests.flink.cep.draw import PROFILES, Case, draw

COUNT = 500


def broken() -> Iterator[Case]:
    for seed in range(COUNT):
        rng = random.Random(seed)
        case = draw(PROFILES[seed % len(PROFILES)], 10_000 + seed)
        pattern: list[list[Any]] = case["pattern"]
        pattern.insert(rng.randrange(1, len(pattern) + 1), _call(rng, pattern))
        if rng.random() < 0.2:
            case["skip"] = [rng.choice(("skipToFirst", "skipToLast")), "nobody", False]
        yield {**case, "id": f"broken-{seed:04}"}


def _call(rng: random.Random, pattern: list[list[Any]]) -> list[Any]:
    window = {"ms": 60_000}
    calls: list[list[Any]] = [
        ["optional"],
        ["greedy"],
        ["consecutive"],
        ["allowCombinations"],
        ["oneOrMore"],
        ["oneOrMore", window],
        ["times", 0],
        ["times", -1],
        ["times", 2],
        ["times", 3, 2],
        ["times", 0, 2],
        ["times", 2, window],
        ["timesOrMore", 0],
        ["timesOrMore", 2],
        ["until", ["name", "d"]],
        ["where", ["name", "a"]],
        ["or", ["name", "a"]],
        ["subtype", "Big"],
        ["notNext", "last"],
        ["notFollowedBy", "last"],
        ["next", "p0"],
        ["followedBy", "p0"],
        ["next", "nobody"],
        ["within", 0],
        ["within", 1000],
        ["within", 1000, "PREVIOUS_AND_CURRENT"],
        ["followedBy", [["begin", "p0"], ["where", ["name", "a"]]]],
    ]
    return rng.choice(calls)
