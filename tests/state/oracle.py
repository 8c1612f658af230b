"""What the program of ``every_state`` keeps after so many numbers, in plain Python."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from tests.state.every_state import LATER, TIMER, Point, account, key_of, memo

from millrace.common import Row
from millrace.datastream.window import TimeWindow
from millrace.state import Timer


def by_key(numbers: Iterable[int]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = defaultdict(list)
    for number in numbers:
        found[key_of(number)].append(number)
    return dict(found)


def mean(numbers: Iterable[int]) -> tuple[int, int]:
    values = list(numbers)
    return sum(values), len(values)


KEYED: dict[str, Callable[[list[int]], Any]] = {
    "value": lambda numbers: account(numbers[-1]),
    "memo": lambda numbers: memo(numbers[-1]),
    "list": lambda numbers: [Point(number, number / 2) for number in numbers],
    "map": lambda numbers: {f"m{number % 3}": Row(a=number, b=str(number)) for number in numbers},
    "largest": max,
    "mean": mean,
    "ttl value": lambda numbers: numbers[-1],
    "ttl list": lambda numbers: numbers,
    "ttl map": lambda numbers: {number % 2: str(number) for number in numbers},
}


def timers(numbers: list[int]) -> set[tuple[int, Timer]]:
    """Those that have not fired."""
    fired = numbers[-1] * 10 - 1
    event = {(key_of(n), Timer("event", n * 10 + TIMER)) for n in numbers if n * 10 + TIMER > fired}
    return event | {(key_of(n), Timer("processing", LATER + n)) for n in numbers}


def open_windows(numbers: list[int], size: int, slide: int | None = None) -> dict[tuple[int, int], list[int]]:
    """(key, end) -> elements, of the windows that have not fired."""
    found: dict[tuple[int, int], list[int]] = defaultdict(list)
    slide = slide or size
    for number in numbers:
        start = number * 10 // slide * slide
        while start > number * 10 - size:
            if start + size - 1 > numbers[-1] * 10 - 1:
                found[key_of(number), start + size].append(number)
            start -= slide
    return dict(found)


def sessions(numbers: list[int], gap: int) -> dict[tuple[int, TimeWindow], list[int]]:
    found: dict[tuple[int, TimeWindow], list[int]] = {}
    for key, mine in by_key(numbers).items():
        runs: list[list[int]] = []
        for number in mine:
            if runs and number * 10 <= runs[-1][-1] * 10 + gap:
                runs[-1].append(number)
            else:
                runs.append([number])
        for run in runs:
            window = TimeWindow(run[0] * 10, run[-1] * 10 + gap)
            if window.end - 1 > numbers[-1] * 10 - 1:
                found[key, window] = run
    return found


def texts(results: Iterable[Any]) -> list[str]:
    """Results to be compared with those of other runs: without timers of the wall clock, and without how many elements
    a subtask of "positions" has seen."""
    return [
        repr(result[:3] if result[0] == "positions" else result)
        for result in results
        if not (result[0] == "timer" and result[3] == "PROCESSING_TIME")
    ]


def digest(found: Iterable[str]) -> dict[str, Any]:
    """How many texts these are, and a number that other ones have not, in whatever order."""
    ordered = sorted(found)
    return {"results": len(ordered), "sha256": hashlib.sha256("\n".join(ordered).encode()).hexdigest()}
