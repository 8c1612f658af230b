"""A task with a state of each kind on a backend, and the same in plain dicts and lists."""

from __future__ import annotations

import copy
import pickle
import random
from collections.abc import Callable
from typing import Any

from millrace.common.functions import AggregateFunction
from millrace.common.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from millrace.common.typeinfo import Types
from millrace.common.types import Row
from millrace.common.window import TimeWindow
from millrace.datastream.state_backend import StateBackend
from millrace.runtime.pickling import dumps
from millrace.runtime.state.address import Scoped
from millrace.runtime.state.backend import KeyedDelta
from millrace.runtime.state.state_time import NO_TIME
from millrace.testing.versions import Versions

ANY = Types.PICKLED_BYTE_ARRAY()

ADDRESSES: list[Any] = ["a", 1, (), Row(1, "x"), "k" * 600, -(2**70), Scoped("a", 1), Scoped("a", TimeWindow(0, 5))]
MAP_KEYS: list[Any] = [0, -1, "two", None, ("t", 3), 2.5, "l" * 700]


class _Sum(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: int, accumulator: int) -> int:
        return accumulator + value

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, a: int, b: int) -> int:
        return a + b


class StatesOfTask:
    """One copy of the task.

    :param make: gives the backend.
    """

    def __init__(self, make: Callable[[], StateBackend]) -> None:
        # As on Spark: what reaches a task has been pickled.
        self._versions = Versions(pickle.loads(dumps(make())), lambda: (None, None, None, None, None))
        self.backend = backend = self._versions.keyed(NO_TIME)
        self.value = backend.get_state(ValueStateDescriptor("value", ANY))
        self.list = backend.get_list_state(ListStateDescriptor("list", ANY))
        self.map = backend.get_map_state(MapStateDescriptor("map", ANY, ANY))
        self.reduced = backend.get_reducing_state(ReducingStateDescriptor("reduced", lambda a, b: a + b, ANY))
        self.summed = backend.get_aggregating_state(AggregatingStateDescriptor("summed", _Sum(), ANY))

    def end_epoch(self, whole: bool = False, timers: Callable[[], None] | None = None) -> list[bytes]:
        """End an epoch and begin the next; its changes, or the whole state, as pickled pieces.

        :param timers: what fires in between: part of the next epoch.
        """
        delta = self.backend.delta()
        pieces = [dumps(piece) for piece in self.backend.full_pieces()] if whole else [dumps(delta)]
        self._versions.finish((delta, None, None, None, None))
        if timers is not None:
            with self._versions.firing():
                timers()
        self._versions.begin()
        return pieces

    def load(self, pieces: list[bytes], whole: bool = False) -> None:
        """Take over what another copy has written."""
        deltas: list[KeyedDelta] = [pickle.loads(piece) for piece in pieces]
        for keyed, *_ in self._versions.changes([(delta, None, None, None, None) for delta in deltas], whole):
            self.backend.apply(keyed)

    def content(self, at: Any) -> dict[str, Any]:
        """What the states hold at an address."""
        self.backend.at = at
        return {
            "value": self.value.value(),
            "list": list(self.list.get()),
            "map": list(self.map.items()),
            "reduced": self.reduced.get(),
            "summed": self.summed.get(),
        }

    def close(self) -> None:
        self._versions.close()


class Model:
    """What the states must hold."""

    def __init__(self) -> None:
        self._rows: dict[Any, dict[str, Any]] = {}

    def row(self, at: Any) -> dict[str, Any]:
        empty: dict[str, Any] = {"value": None, "list": [], "map": {}, "reduced": None, "summed": None}
        return self._rows.setdefault(at, empty)

    def content(self, at: Any) -> dict[str, Any]:
        row = copy.deepcopy(self.row(at))
        return {**row, "map": list(row["map"].items())}

    def copy(self) -> Model:
        return copy.deepcopy(self)


def do_something(source: random.Random, task: StatesOfTask, model: Model) -> None:
    """One random call of a user's function, on both."""
    task.backend.at = at = source.choice(ADDRESSES)
    row, number, key = model.row(at), source.randrange(10), source.choice(MAP_KEYS)
    kind = source.choice(["update", "add", "add_all", "replace", "put", "remove", "reduce", "sum", "clear"])
    if kind == "update":
        row["value"] = [number, "text" * number, None][source.randrange(3)]
        task.value.update(row["value"])
    elif kind == "add":
        task.list.add(number)
        row["list"].append(number)
    elif kind == "add_all":
        task.list.add_all([number] * 3)
        row["list"] += [number] * 3
    elif kind == "replace":
        task.list.update([number][: number % 2])
        row["list"] = [number][: number % 2]
    elif kind == "put":
        task.map.put(key, number)
        row["map"][key] = number
    elif kind == "remove":
        task.map.remove(key)
        row["map"].pop(key, None)
    elif kind == "reduce":
        task.reduced.add(number)
        row["reduced"] = (row["reduced"] or 0) + number
    elif kind == "sum":
        task.summed.add(number)
        row["summed"] = (row["summed"] or 0) + number
    else:
        _clear(source.choice(list(row)), task, row)


def _clear(name: str, task: StatesOfTask, row: dict[str, Any]) -> None:
    getattr(task, name).clear()
    row[name] = {"list": [], "map": {}}.get(name)
