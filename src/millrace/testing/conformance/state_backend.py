"""``check_state_backend``: tests that a backend stores what functions put into state, whatever happens to its tasks.

A task with a state of each kind runs on the backend, and the same in plain dicts and lists. ``store_checks`` are the
requirements of a ``KeyValueStore``, byte by byte.
"""

from __future__ import annotations

import copy
import decimal
import pickle
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from millrace.common.functions import AggregateFunction
from millrace.common.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from millrace.common.state.storage import KeyValueStore, StorePlace
from millrace.common.typeinfo import Types
from millrace.common.types import Row
from millrace.common.window import TimeWindow
from millrace.datastream.state_backend import CustomStateBackend, KeyValueStateBackend, StateBackend
from millrace.runtime.state.address import Scoped
from millrace.runtime.state.backend import KeyedDelta, KeyedStateBackend
from millrace.runtime.state.state_time import NO_TIME
from millrace.runtime.storage import dumps
from millrace.testing.conformance.checks import Check, expect, run_all
from millrace.testing.operators import Versions

__all__ = ["check_state_backend", "state_backend_checks"]

# Key-value stores

Open = Callable[[], KeyValueStore]

KEYS = [b"", b"\0", b"\0\0", b"a", b"a\0", b"a\0b", b"a\xff", b"b", b"b" * 300, b"\x7f", b"\x80", b"\xff", b"\xff\xff"]
"""keys in byte order"""


def store_checks(open_store: Open) -> Iterator[Check]:
    """All checks of a store; ``open_store`` opens a new one."""
    for function in (_empty, _read_your_writes, _delete, _order, _last_before, _left_scans, _sizes, _apart, _random):
        yield Check(f"store: {function.__name__.strip('_').replace('_', ' ')}", _on_store(function, open_store))


def _on_store(function: Callable[[Open], None], open_store: Open) -> Callable[[], None]:
    return lambda: function(open_store)


@contextmanager
def _opened(open_store: Open) -> Iterator[KeyValueStore]:
    store = open_store()
    try:
        yield store
    finally:
        store.close()


def _empty(open_store: Open) -> None:
    with _opened(open_store) as store:
        expect(store.get(b"a"), None, "get() of a key that is not there")
        expect(list(store.scan(b"")), [], "scan() of a new store")
        expect(store.last_before(b"\xff"), None, "last_before() in a new store")


def _read_your_writes(open_store: Open) -> None:
    with _opened(open_store) as store:
        store.write([(key, b"1" + key) for key in KEYS])
        for key in KEYS:
            expect(store.get(key), b"1" + key, f"get({key!r})")
        store.write([(b"a", b"again"), (b"b", b"")])
        expect(store.get(b"a"), b"again", "get() of a value that was replaced")
        expect(store.get(b"b"), b"", "get() of an empty value")
        expect(store.get(b"\0"), b"1\0", "get() of a value beside a replaced one")


def _delete(open_store: Open) -> None:
    with _opened(open_store) as store:
        store.write([(key, b"1") for key in KEYS])
        store.write([(b"a", None), (b"never", None), (b"\xff", b"2")])
        expect(store.get(b"a"), None, "get() of a key that was deleted")
        expect(store.get(b"a\0"), b"1", "get() of a key that begins with a deleted one")
        expect([key for key, _ in store.scan(b"")], [key for key in KEYS if key != b"a"], "keys after a deletion")
        store.write([(key, None) for key in KEYS])
        expect(list(store.scan(b"")), [], "scan() after all was deleted")


def _order(open_store: Open) -> None:
    with _opened(open_store) as store:
        for key in reversed(KEYS):
            store.write([(key, key)])
        for start in [*KEYS, b"a\0a", b"c"]:
            wanted = [(key, key) for key in KEYS if key >= start]
            expect(list(store.scan(start)), wanted, f"scan({start!r})")


def _last_before(open_store: Open) -> None:
    with _opened(open_store) as store:
        store.write([(key, key) for key in KEYS])
        for end in [*KEYS, b"a\0a", b"c", b"\xff" * 9]:
            before = [key for key in KEYS if key < end]
            wanted = (before[-1], before[-1]) if before else None
            expect(store.last_before(end), wanted, f"last_before({end!r})")


def _left_scans(open_store: Open) -> None:
    with _opened(open_store) as store:
        store.write([(key, key) for key in KEYS])
        first, second = iter(store.scan(b"")), iter(store.scan(b"b"))
        expect(next(first)[0], b"", "the first of two scans")
        expect(next(second)[0], b"b", "the second of two scans")
        expect(store.get(b"a"), b"a", "get() during scans")
        expect(next(first)[0], b"\0", "the first scan after the second has begun")
        del first, second
        store.write([(b"new", b"new")])
        expect(store.get(b"new"), b"new", "what was written after scans were left")


def _sizes(open_store: Open) -> None:
    with _opened(open_store) as store:
        many = [(number.to_bytes(4, "big"), bytes(20)) for number in range(20_000)]
        store.write([*many, (b"large", bytes(range(256)) * 8_000)])
        expect(sum(1 for _ in store.scan(b"")), 20_001, "number of entries")
        expect(store.get(b"large"), bytes(range(256)) * 8_000, "a value of 2 MB")
        expect(store.get((19_999).to_bytes(4, "big")), bytes(20), "the last of many")


def _apart(open_store: Open) -> None:
    with _opened(open_store) as one, _opened(open_store) as other:
        one.write([(b"k", b"1")])
        expect(other.get(b"k"), None, "what another task has written")
        other.write([(b"k", b"2")])
        expect(one.get(b"k"), b"1", "a value after another task wrote the same key")
    with _opened(open_store) as new:
        expect(list(new.scan(b"")), [], "a store that is opened after others were closed")


def _random(open_store: Open) -> None:
    for seed in range(20):
        source, model = random.Random(seed), dict[bytes, bytes]()
        with _opened(open_store) as store:
            for step in range(60):
                keys = sorted({source.randbytes(source.randrange(3)) for _ in range(source.randrange(1, 6))})
                changes = [(key, source.choice([None, source.randbytes(source.randrange(5))])) for key in keys]
                store.write(changes)
                for key, value in changes:
                    if value is None:
                        model.pop(key, None)
                    else:
                        model[key] = value
                start = source.randbytes(source.randrange(2))
                wanted = sorted(item for item in model.items() if item[0] >= start)
                expect(list(store.scan(start)), wanted, f"seed {seed}, step {step}, scan({start!r})")


# A task with all kinds of state

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
    """One copy of a task that has a state of each kind.

    :param make: makes the backend.
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
        """End an epoch and begin the next; returns its changes, or the whole state, as pickled pieces.

        :param timers: whether timers fire in between, as part of the next epoch.
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
        """Load the state that another copy has written."""
        deltas: list[KeyedDelta] = [pickle.loads(piece) for piece in pieces]
        for keyed, *_ in self._versions.changes([(delta, None, None, None, None) for delta in deltas], whole):
            self.backend.apply(keyed)

    def content(self, at: Any) -> dict[str, Any]:
        """The content of all states at an address."""
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
    """The expected content of the states, in dicts and lists."""

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
    """Make one random call of a user's function, on the task and on the model."""
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


# State backends

Make = Callable[[], StateBackend]

SEEDS = 25
"""number of random programs"""


def check_state_backend(make: Make) -> list[str]:
    """Run all checks on backends made by ``make``; returns the names of the checks.

        >>> check_state_backend(HashMapStateBackend)[:1]
        ['state: A new task is empty, and has nothing of others']

    :raises ConformanceError: with everything that the backend gets wrong.
    """
    return run_all(f"state backend {type(_inner(make())).__qualname__}", state_backend_checks(make))


def state_backend_checks(make: Make) -> list[Check]:
    """The checks one by one, for ``pytest.mark.parametrize("check", state_backend_checks(...), ids=str)``.

    >>> isinstance(state_backend_checks(lambda: HashMapStateBackend()), list)
    True
    """
    checks = list(store_checks(_opener(make))) if isinstance(_inner(make()), KeyValueStateBackend) else []
    for function in (_new_tasks, _keys, _much, _rebuilt, _whole, _as_changes, _timers, _programs):
        checks.append(Check(f"state: {(function.__doc__ or '').rstrip('.')}", _on_backend(function, make)))
    return checks


def _on_backend(function: Callable[[Make], None], make: Make) -> Callable[[], None]:
    return lambda: function(make)


def _inner(backend: StateBackend) -> StateBackend:
    return backend.get_backend() if isinstance(backend, CustomStateBackend) else backend


def _opener(make: Make) -> Callable[[], Any]:
    numbers = iter(range(1_000_000))

    def open_store() -> Any:
        backend = _inner(make())
        assert isinstance(backend, KeyValueStateBackend)
        return backend.open_store(StorePlace("conformance", 0, 0, str(next(numbers))))

    return open_store


@contextmanager
def _task(make: Make) -> Iterator[StatesOfTask]:
    task = StatesOfTask(make)
    try:
        yield task
    finally:
        task.close()


def _same(task: StatesOfTask, model: Model, about: str) -> None:
    for at in ADDRESSES:
        expect(task.content(at), model.content(at), f"{about}, state at {at!r:.40}")


def _filled(make: Make, seed: int = 0) -> tuple[StatesOfTask, Model]:
    source, task, model = random.Random(seed), StatesOfTask(make), Model()
    for _ in range(100):
        do_something(source, task, model)
    return task, model


def _new_tasks(make: Make) -> None:
    """A new task is empty, and has nothing of others."""
    first, _ = _filled(make)
    first.end_epoch()
    with _task(make) as second:
        _same(second, Model(), "a task beside a full one")
    first.close()
    with _task(make) as third:
        _same(third, Model(), "a task after a full one")


def _keys(make: Make) -> None:
    """Equal keys are one, others are not."""
    groups: list[list[Any]] = [[1, 1.0, True, decimal.Decimal(1)], ["1"], [b"1"], [(1,), (True,)], [((1,),)], [None]]
    with _task(make) as task:
        for number, group in enumerate(groups):
            for key in group:
                task.backend.at = key
                task.value.update(number)
                task.list.add(number)
                task.end_epoch()
        for number, group in enumerate(groups):
            found = task.content(group[-1])
            expect((found["value"], found["list"]), (number, [number] * len(group)), f"state of {group[-1]!r}")


def _much(make: Make) -> None:
    """Many keys and large values."""
    with _task(make) as task:
        for number in range(3_000):
            task.backend.at = number
            task.value.update(number)
        task.backend.at = "large"
        task.value.update("v" * 1_000_000)
        task.list.add_all(list(range(20_000)))
        task.end_epoch()
        expect(task.content(2_999)["value"], 2_999, "the last of many keys")
        large = task.content("large")
        expect(large["value"], "v" * 1_000_000, "a value of 1 MB")
        expect(large["list"], list(range(20_000)), "a list of 20,000 elements")


def _rebuilt(make: Make) -> None:
    """A task is rebuilt from the changes of epochs."""
    task, model = _filled(make)
    pieces = task.end_epoch()
    for seed in range(3):
        do_something(random.Random(seed), task, model)
        pieces += task.end_epoch()
    task.close()
    with _task(make) as again:
        for piece in pieces:
            again.load([piece])
        _same(again, model, "a rebuilt task")


def _whole(make: Make) -> None:
    """A task is rebuilt from its whole state, and goes on."""
    task, model = _filled(make)
    task.end_epoch()
    pieces = task.end_epoch(whole=True)
    _same(task, model, "a task that has written everything")
    task.close()
    with _task(make) as again:
        again.load(pieces, whole=True)
        for seed in range(20):
            do_something(random.Random(seed), again, model)
        _same(again, model, "a task rebuilt from its whole state")
        again.end_epoch()
        _same(again, model, "the same an epoch later")


def _as_changes(make: Make) -> None:
    """Another backend can take over what this one writes."""
    task, model = _filled(make)
    task.end_epoch()
    heap = KeyedStateBackend()
    for piece in task.backend.full_pieces():
        heap.apply(piece)
    for name in ("value", "list", "map", "reduced", "summed"):
        table = heap.table(name)
        found = {at: table.row(at) for at in table.addresses()} if table is not None else {}
        wanted = {at: model.row(at)[name] for at in ADDRESSES if model.row(at)[name] not in (None, [], {})}
        expect(found, wanted, f"the whole {name} state")
    task.close()


def _timers(make: Make) -> None:
    """Timers fire in order, once, and survive."""
    source, model = random.Random(7), set[tuple[int, Any]]()
    task = StatesOfTask(make)
    pieces: list[bytes] = []
    for _ in range(200):
        timer = source.randrange(-5, 50), source.choice(ADDRESSES[:4])
        if source.random() < 0.7:
            task.backend.event_timers.register(*timer)
            model.add(timer)
        else:
            task.backend.event_timers.delete(*timer)
            model.discard(timer)
        if source.random() < 0.1:
            pieces += task.end_epoch()
    pieces += task.end_epoch()
    task.close()
    with _task(make) as again:
        for piece in pieces:
            again.load([piece])
        expect(again.backend.event_timers.next_time(), min(time for time, _ in model), "the time of the next timer")
        fired = []
        while (found := again.backend.event_timers.pop_due(45)) is not None:
            fired.append(found)
        expect([time for time, _ in fired], sorted(time for time, _ in model if time <= 45), "times of fired timers")
        expect(set(fired), {timer for timer in model if timer[0] <= 45}, "fired timers")
        expect(len(again.backend.event_timers), len(model) - len(fired), "timers that are left")


def _programs(make: Make) -> None:
    """Random programs with epochs that end, fail and are written as a whole."""
    for seed in range(SEEDS):
        source, model = random.Random(seed), Model()
        task = StatesOfTask(make)
        saved, written = model.copy(), list[tuple[list[bytes], bool]]()
        for step in range(60):
            event = source.random()
            if event < 0.08:
                whole, saved = source.random() < 0.3, model.copy()
                timers = partial(do_something, random.Random(step), task, model)
                pieces = task.end_epoch(whole, timers if step % 2 else None)
                written = [(pieces, True)] if whole else [*written, (pieces, False)]
            elif event < 0.12:
                task.close()
                task, model = StatesOfTask(make), saved.copy()
                for loaded, is_whole in written:
                    task.load(loaded, is_whole)
            else:
                do_something(source, task, model)
            at = source.choice(ADDRESSES)
            expect(task.content(at), model.content(at), f"seed {seed}, step {step}, state at {at!r:.40}")
        _same(task, model, f"seed {seed}")
        task.close()
