"""``check_variants``: the same script, grouped and interrupted in every way that an engine may choose.

Spark hands an operator its elements in chunks, slices and epochs of any size, and may restart it after any epoch, from
a whole state or from the changes of all epochs. None of that may show in the output.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import chain
from typing import Any

from millrace.datastream.state_backend import EmbeddedRocksDBStateBackend
from millrace.metrics.report import CounterSnapshot, DistributionSnapshot
from millrace.testing.harness import OperatorHarness
from millrace.testing.operators import Snapshot
from millrace.testing.script import (
    Element,
    EndInput,
    EpochEnd,
    Item,
    ProcessingTime,
    Record,
    SliceEnd,
    StatusStep,
    Step,
    WatermarkStep,
)

__all__ = ["Outcome", "check_variants", "run_script"]

_SAME_IN_ALL = (CounterSnapshot, DistributionSnapshot)
"""Metrics that depend neither on the time of day nor on the reading process."""

Group = list[Element] | Step
"""elements of one chunk, or one other step"""


@dataclass
class Outcome:
    """The whole output of a run.

    >>> class Twice(ProcessFunction):
    ...     def process_element(self, value, ctx):
    ...         yield value * 2
    >>> run_script(lambda: OperatorHarness.for_function(Twice()), steps([(1, 0), (2, 10)])).values
    [2, 4]
    """

    items: list[Item] = field(default_factory=list)
    sides: dict[str, list[Record]] = field(default_factory=dict)
    printed: list[str] = field(default_factory=list)
    collected: list[Any] = field(default_factory=list)
    fed_back: list[Record] = field(default_factory=list)
    measured: dict[str, Any] = field(default_factory=dict)
    """values of counters, distributions and accumulators at the end"""

    @property
    def records(self) -> list[Record]:
        """The records, without watermarks."""
        return [item for item in self.items if isinstance(item, Record)]

    @property
    def values(self) -> list[Any]:
        """The values of the records."""
        return [record.value for record in self.records]

    def take(self, harness: OperatorHarness) -> None:
        """Move the output that the harness has collected into this outcome."""
        self.items += harness.take_output()
        for tag, found in harness.take_side_outputs().items():
            self.sides.setdefault(tag, []).extend(found)
        self.printed += harness.printed
        self.collected += harness.collected
        self.fed_back += harness.fed_back
        harness.printed, harness.collected, harness.fed_back = [], [], []
        metrics = {f"metric {name}": value for name, value in harness.metrics().items()}
        self.measured = {name: value for name, value in metrics.items() if isinstance(value, _SAME_IN_ALL)}
        self.measured |= {f"accumulator {name}": value for name, value in harness.accumulators().items()}


ON_DISK_ONE_IN = 16
"""One of this many runs has the operator's state on disk."""


def check_variants(
    make_harness: Callable[[], OperatorHarness],
    script: Sequence[Step],
    expected: Sequence[Any] | None = None,
    key: Callable[[Any], Hashable] | None = None,
    *,
    ordered: bool = True,
    watermarks: bool = True,
    sides: dict[str, list[Any]] | None = None,
    seed: int | None = None,
    random_runs: int = 3,
) -> Outcome:
    """Run the script in all variants; raises ``AssertionError`` that names the variant and seed if one differs.

    An operator with keyed state runs with its state on disk, too, where ``lmdb`` is installed: always with a given
    seed, else in one call of ``ON_DISK_ONE_IN``, since these variants take longer than all others together.

        >>> class Twice(ProcessFunction):
        ...     def process_element(self, value, ctx):
        ...         yield value * 2
        >>> check_variants(lambda: OperatorHarness.for_function(Twice()), steps([(1, 0), (2, 10)])).values
        [2, 4]

    :param make_harness: makes a new harness with a new operator.
    :param expected: what must come out: values, or ``Record``, ``Watermark`` and ``Status`` objects for everything.
    :param key: the order only counts among results with the same key (of their value).
    :param ordered: False: the order does not count at all.
    :param watermarks: False for an operator that makes its own watermarks once per chunk: they are left out.
    :param sides: tag id -> expected values of the side output.
    :return: what the first variant put out.
    """
    first_seed = random.randrange(1_000_000) if seed is None else seed
    wanted: Outcome | None = None
    wanted_view: Any = None
    is_keyed = False

    def make() -> OperatorHarness:
        nonlocal is_keyed
        harness = make_harness()
        is_keyed = harness.operator.keyed_state() is not None
        return harness

    in_memory = _variants(first_seed, random_runs)
    wants_disk = find_spec("lmdb") is not None and (seed is not None or first_seed % ON_DISK_ONE_IN == 0)
    on_disk = (variant for variant in _on_disk(first_seed) if is_keyed and wants_disk)
    for name, run in chain(in_memory, on_disk):
        found = run(make, script)
        view = _view(found, key, ordered, watermarks)
        if wanted is None:
            wanted, wanted_view = found, view
            _check_expected(name, found, expected, sides, key, ordered)
        elif view != wanted_view:
            raise AssertionError(f"variant {name!r} differs from 'all at once':\n{_difference(wanted_view, view)}")
    assert wanted is not None
    return wanted


Run = Callable[[Callable[[], OperatorHarness], Sequence[Step]], Outcome]


def _variants(seed: int, random_runs: int) -> Iterator[tuple[str, Run]]:
    yield "all at once", run_script
    yield "one by one", _one_by_one
    yield "snapshot and restore after every step", _restored
    yield f"random slices, seed {seed}", _seeded(_random_slices, seed)
    for number in range(seed, seed + random_runs):
        yield f"random splits, seed {number}", _seeded(_random_splits, number)
        yield f"rebuilt from deltas, seed {number}", _seeded(_deltas, number)


def _on_disk(seed: int) -> Iterator[tuple[str, Run]]:
    def on_disk(run: Run) -> Run:
        return lambda make, script: run(lambda: make().fresh(state_backend=EmbeddedRocksDBStateBackend()), script)

    yield "state on disk, written after every step", on_disk(_version_by_version)
    yield f"state on disk, rebuilt from deltas, seed {seed}", on_disk(_seeded(_deltas, seed))


def _seeded(run: Callable[[Any, Any, random.Random], Outcome], seed: int) -> Run:
    return lambda make, script: run(make, script, random.Random(seed))


def run_script(make_harness: Callable[[], OperatorHarness], script: Sequence[Step]) -> Outcome:
    """Run a script with as few chunks and epochs as it allows.

    >>> class Twice(ProcessFunction):
    ...     def process_element(self, value, ctx):
    ...         yield value * 2
    >>> run_script(lambda: OperatorHarness.for_function(Twice()), steps([(1, 0), (2, 10)])).values
    [2, 4]
    """
    outcome = Outcome()
    with make_harness() as harness:
        for group in _groups(script, lambda: False):
            _play(harness, group)
        _finish(harness, outcome)
    return outcome


def _one_by_one(make: Callable[[], OperatorHarness], script: Sequence[Step]) -> Outcome:
    outcome = Outcome()
    with make() as harness:
        for group in _groups(script, lambda: True):
            _play(harness, group)
            _finish(harness, outcome)
    return outcome


def _version_by_version(make: Callable[[], OperatorHarness], script: Sequence[Step]) -> Outcome:
    outcome = Outcome()
    with make() as harness:
        for group in _groups(script, lambda: True):
            _play(harness, group)
            _finish(harness, outcome)
            harness.snapshot_delta()
    return outcome


def _random_splits(make: Callable[[], OperatorHarness], script: Sequence[Step], draw: random.Random) -> Outcome:
    outcome = Outcome()
    with make() as harness:
        for group in _groups(script, lambda: draw.random() < 0.3):
            _play(harness, group)
            if draw.random() < 0.3:
                _finish(harness, outcome)
        _finish(harness, outcome)
    return outcome


def _random_slices(make: Callable[[], OperatorHarness], script: Sequence[Step], draw: random.Random) -> Outcome:
    """Run a script with random slices, in epochs as long as it allows."""
    outcome = Outcome()
    with make() as harness:
        for group in _groups(script, lambda: draw.random() < 0.5):
            _play(harness, group)
            if draw.random() < 0.5:
                harness.end_slice()
        _finish(harness, outcome)
    return outcome


def _restored(make: Callable[[], OperatorHarness], script: Sequence[Step]) -> Outcome:
    outcome = Outcome()
    harness = make().__enter__()
    for group in _groups(script, lambda: True):
        _play(harness, group)
        _finish(harness, outcome)
        following = harness.restored()
        harness.close()
        harness = following
    harness.close()
    return outcome


def _deltas(make: Callable[[], OperatorHarness], script: Sequence[Step], draw: random.Random) -> Outcome:
    """Run a script, and rebuild the operator from all changes now and then, as another process would do it."""
    outcome, deltas = Outcome(), list[Snapshot]()
    harness = make().__enter__()
    for group in _groups(script, lambda: draw.random() < 0.7):
        if draw.random() < 0.4:
            harness.close()
            harness = harness.fresh()
            for delta in deltas:
                harness.apply(delta)
            harness.open()
        _play(harness, group)
        _finish(harness, outcome)
        deltas.append(harness.snapshot_delta())
    harness.close()
    return outcome


def _groups(script: Sequence[Step], cut: Callable[[], bool]) -> Iterator[Group]:
    """Elements that follow each other on one input, as chunks; ``cut`` says whether to end a chunk early."""
    chunk: list[Element] = []
    for step in script:
        if chunk and (not isinstance(step, Element) or step.input != chunk[0].input or cut()):
            yield chunk
            chunk = []
        if isinstance(step, Element):
            chunk.append(step)
        else:
            yield step
    if chunk:
        yield chunk


def _play(harness: OperatorHarness, group: Group) -> None:
    if isinstance(group, list):
        harness.process_elements([(step.value, step.timestamp) for step in group], group[0].input)
    elif isinstance(group, WatermarkStep):
        harness.process_watermark(group.timestamp, group.input)
    elif isinstance(group, StatusStep):
        harness.process_status(group.status, group.input)
    elif isinstance(group, ProcessingTime):
        harness.set_processing_time(group.now)
    elif isinstance(group, EndInput):
        harness.end_input()
    elif isinstance(group, SliceEnd):
        harness.end_slice()
    elif isinstance(group, EpochEnd):
        harness.end_epoch()


def _finish(harness: OperatorHarness, outcome: Outcome) -> None:
    harness.end_epoch()
    outcome.take(harness)


def _view(outcome: Outcome, key: Callable[[Any], Hashable] | None, ordered: bool, watermarks: bool) -> dict[str, Any]:
    """The part of an outcome that all variants must agree on."""
    items = outcome.items if watermarks else outcome.records
    view: dict[str, Any] = {"output": _arranged(items, key, ordered)}
    for tag, found in sorted(outcome.sides.items()):
        view[f"side output {tag!r}"] = _arranged(found, key, ordered)
    view["printed"] = outcome.printed if ordered and key is None else sorted(outcome.printed)
    for what, value in sorted(outcome.measured.items()):
        view[what] = sorted(value, key=repr) if isinstance(value, list) else [value]
    view["fed back"] = _arranged(outcome.fed_back, key, ordered)
    view["collected"] = _arranged([Record(value) for value in outcome.collected], key, ordered)
    return view


def _arranged(items: Sequence[Item], key: Callable[[Any], Hashable] | None, ordered: bool) -> list[Any]:
    if not ordered:
        return sorted(items, key=repr)
    if key is None:
        return list(items)
    # A stable sort by key leaves the order within a key; marks come last.
    return sorted(items, key=lambda item: (0, repr(key(item.value))) if isinstance(item, Record) else (1, ""))


def _check_expected(
    name: str,
    found: Outcome,
    expected: Sequence[Any] | None,
    sides: dict[str, list[Any]] | None,
    key: Callable[[Any], Hashable] | None,
    ordered: bool,
) -> None:
    pairs: list[tuple[str, Sequence[Any], Sequence[Item]]] = []
    if expected is not None:
        pairs.append(("output", expected, found.items))
    for tag, values in (sides or {}).items():
        pairs.append((f"side output {tag!r}", values, found.sides.get(tag, [])))
    for what, wanted, items in pairs:
        if any(isinstance(item, Item) for item in wanted):
            left, right = _arranged(wanted, key, ordered), _arranged(items, key, ordered)
        else:
            records = [Record(item.value) for item in items if isinstance(item, Record)]
            left, right = _arranged([Record(value) for value in wanted], key, ordered), _arranged(records, key, ordered)
        if left != right:
            raise AssertionError(f"variant {name!r}: not as expected:\n{_difference({what: left}, {what: right})}")


def _difference(wanted: dict[str, list[Any]], found: dict[str, list[Any]]) -> str:
    lines = []
    for what in dict.fromkeys((*wanted, *found)):
        left, right = wanted.get(what, []), found.get(what, [])
        if left == right:
            continue
        place = next((n for n, (a, b) in enumerate(zip(left, right)) if a != b), min(len(left), len(right)))
        lines.append(f"  {what} ({len(left)} and {len(right)} entries), first difference at {place}:")
        lines.append(f"    wanted: {left[place : place + 3]}")
        lines.append(f"    found:  {right[place : place + 3]}")
    return "\n".join(lines)
