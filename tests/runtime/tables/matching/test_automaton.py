"""Aggregates of matches so far: the same as folding all rows, with one addition for each row."""

from __future__ import annotations

import random
from typing import Any

from millrace.runtime.tables.matching.automaton import Memories


class Sums:
    """Definitions with a sum for each of two labels, which counts its additions."""

    nothing = (0, 0)

    def __init__(self) -> None:
        self.additions = 0

    def remember(self, memory: tuple[int, ...], row: Any, label: int) -> tuple[int, ...]:
        self.additions += 1
        return tuple(value + row[0] if place == label else value for place, value in enumerate(memory))


def folded(rows: list[Any], labels: bytes) -> tuple[int, ...]:
    return tuple(sum(row[0] for row, each in zip(rows, labels) if each == label) for label in (0, 1))


def test_each_row_is_added_once() -> None:
    sums: Any = Sums()
    memories, choose = Memories(sums), random.Random(4)
    rows = [(choose.randrange(100), number) for number in range(500)]
    labels = bytes(choose.choice([0, 1]) for _ in rows)
    for end in range(1, len(rows) + 1):
        assert memories.of(rows[:end], labels[:end]) == folded(rows[:end], labels[:end])
    assert sums.additions == len(rows)


def test_matches_do_not_mix_and_partitions_are_forgotten() -> None:
    sums: Any = Sums()
    memories, choose = Memories(sums), random.Random(5)
    for _ in range(20):
        rows = [(choose.randrange(100), number) for number in range(30)]
        for _ in range(50):
            start, end = sorted(choose.sample(range(31), 2))
            labels = bytes(choose.choice([0, 1]) for _ in range(end - start))
            assert memories.of(rows[start:end], labels) == folded(rows[start:end], labels)
        memories.forget()
