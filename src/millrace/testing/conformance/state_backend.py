"""``check_state_backend``: does a backend keep what functions put into state, whatever happens to its tasks?"""

from __future__ import annotations

import decimal
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from millrace.common.state.store import StorePlace
from millrace.datastream.state_backend import CustomStateBackend, KeyValueStateBackend, StateBackend
from millrace.runtime.state.backend import KeyedStateBackend
from millrace.testing.conformance.checks import Check, expect, run_all
from millrace.testing.conformance.key_value import store_checks
from millrace.testing.conformance.states import ADDRESSES, Model, StatesOfTask, do_something

__all__ = ["check_state_backend", "state_backend_checks"]

Make = Callable[[], StateBackend]

SEEDS = 25
"""random programs"""


def check_state_backend(make: Make) -> list[str]:
    """Run all checks on backends that ``make`` gives; the names of the checks.

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
        checks.append(Check(f"state: {(function.__doc__ or '').rstrip('.')}", _on(function, make)))
    return checks


def _on(function: Callable[[Make], None], make: Make) -> Callable[[], None]:
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
