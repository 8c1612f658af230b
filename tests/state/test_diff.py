"""How savepoints differ: against arithmetic with sets and dicts."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.checkpoint.jobs import SavedJob, collecting
from tests.rings import examples
from tests.state.every_state import Memo, every_state, key_of

import millrace.state.diff
from millrace.common import Types
from millrace.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from millrace.state import KeyedStateBootstrapFunction, OperatorTransformation, SavepointWriter
from millrace.state.diff import NOTHING, Difference, Example, StateDifference, compare_savepoints
from millrace.state.open_savepoint import open_snapshot

LONG, OBJECT = Types.LONG(), Types.PICKLED_BYTE_ARRAY()
MANY = 1_000


def compared(before: SavepointWriter, after: SavepointWriter, folder: Path, limit: int = MANY) -> Difference:
    a, b = before.write(str(folder / "a")), after.write(str(folder / "b"))
    return compare_savepoints(open_snapshot(a, trust=True), open_snapshot(b, trust=True), limit)


def the_state(found: Difference) -> StateDifference:
    ((state,),) = (operator.states for operator in found.operators)
    return state


ENTRIES = st.dictionaries(st.integers(0, 15), st.integers(0, 3), max_size=12)


def with_values(entries: dict[int, int], **settings: Any) -> SavepointWriter:
    state = ValueStateDescriptor("value", LONG)
    pairs = list(entries.items())
    return SavepointWriter.new(**settings).keyed_state("op", state, pairs, lambda pair: pair[0], lambda pair: pair[1])


@pytest.mark.parametrize("rows_at_once", [500_000, 2])
@given(before=ENTRIES, after=ENTRIES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(30))
def test_keyed_state(
    tmp_path_factory: pytest.TempPathFactory, rows_at_once: int, before: dict[int, int], after: dict[int, int]
) -> None:
    """Also a few key groups at a time."""
    folder = tmp_path_factory.mktemp("diff")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(millrace.state.diff, "ROWS_AT_ONCE", rows_at_once)
        found = compared(with_values(before), with_values(after), folder)
    assert bool(found) == (before != after)
    if before != after:
        state = the_state(found)
        both = before.keys() & after.keys()
        changed = {key for key in both if before[key] != after[key]}
        assert (state.removed, state.added, state.changed) == (
            len(before.keys() - after.keys()),
            len(after.keys() - before.keys()),
            len(changed),
        )
        expected = {(key, before.get(key, NOTHING), after.get(key, NOTHING)) for key in before.keys() ^ after.keys()}
        expected |= {(key, before[key], after[key]) for key in changed}
        assert {(example.key, example.before, example.after) for example in state.examples} == expected


@pytest.mark.parametrize("rows_at_once", [500_000, 2])
def test_only_so_many_examples_are_kept(rows_at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(millrace.state.diff, "ROWS_AT_ONCE", rows_at_once)
    found = compared(with_values({}), with_values(dict.fromkeys(range(10), 1)), tmp_path, limit=3)
    state = the_state(found)
    assert (state.added, len(state.examples)) == (10, 3)


def test_another_number_of_key_groups_is_no_hindrance(tmp_path: Path) -> None:
    found = compared(with_values({1: 1, 2: 2}), with_values({1: 1, 2: 3}, max_parallelism=7), tmp_path)
    assert found.operators[0].notes == ("maximum parallelism 128 -> 7",)
    assert the_state(found).examples == (Example(2, 2, 3),)


@given(before=st.lists(st.integers(0, 4), max_size=8), after=st.lists(st.integers(0, 4), max_size=8))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(30))
def test_lists_of_operator_state_are_compared_as_bags(
    tmp_path_factory: pytest.TempPathFactory, before: list[int], after: list[int]
) -> None:
    descriptor = ListStateDescriptor("list", OBJECT)
    writers = [SavepointWriter.new().list_state("op", descriptor, [Memo(str(n)) for n in ns]) for ns in (before, after)]
    found = compared(*writers, tmp_path_factory.mktemp("diff"))
    a, b = Counter(before), Counter(after)
    assert bool(found) == (a != b)
    if a != b and before and after:
        state = the_state(found)
        assert (state.removed, state.added) == (len(a.keys() - b.keys()), len(b.keys() - a.keys()))
        assert state.changed == sum(a[n] != b[n] for n in a.keys() & b.keys())
        assert state.counted
        differing = {n for n in a.keys() | b.keys() if a[n] != b[n]}
        assert {example.key for example in state.examples} == {Memo(str(n)) for n in differing}


class Timers(KeyedStateBootstrapFunction):
    def process_element(self, value: int, ctx: KeyedStateBootstrapFunction.Context) -> None:
        ctx.timer_service().register_event_time_timer(value)


def test_timers(tmp_path: Path) -> None:
    writers = [
        SavepointWriter.new().with_operator(
            "op", OperatorTransformation.bootstrap_with(times).key_by(key_of).transform(Timers())
        )
        for times in ([1, 2, 3], [2, 3, 4, 5])
    ]
    state = the_state(compared(*writers, tmp_path))
    assert (state.name, state.removed, state.added, state.changed) == ("event-time timers", 1, 2, 0)
    found = {(key, timer.timestamp) for (key, timer), *_ in map(_parts, state.examples)}
    assert found == {(1, 1), (6, 4), (0, 5)}


def _parts(example: Example) -> tuple[Any, Any, Any]:
    return example.key, example.before, example.after


def test_operators_and_states_that_only_one_has(tmp_path: Path) -> None:
    broadcast = MapStateDescriptor("rules", LONG, LONG)
    other = ValueStateDescriptor("other", LONG)
    one = with_values({1: 1}).broadcast_state("left", broadcast, {1: 1})
    two = with_values({1: 1}).broadcast_state("right", broadcast, {1: 1}).keyed_state("op", other, [1], lambda n: n)
    found = compared(one, two, tmp_path)
    assert [place.uid for place in found.only_before] == ["left"]
    assert [place.uid for place in found.only_after] == ["right"]
    (operator,) = found.operators
    assert ([state.name for state in operator.only_before], [state.name for state in operator.only_after]) == (
        [],
        ["other"],
    )
    assert operator.states == ()


def test_a_state_of_another_type(tmp_path: Path) -> None:
    texts = SavepointWriter.new().keyed_state("op", ValueStateDescriptor("value", Types.STRING()), ["1"], lambda n: 1)
    state = the_state(compared(with_values({1: 1}), texts, tmp_path))
    assert state.described == ("value LONG", "value STRING")
    assert state.examples == (Example(1, 1, "1"),)


class Silent:
    """Without ``__eq__``."""

    def __init__(self, text: str) -> None:
        self.text = text


def test_values_without_equality_are_compared_by_what_is_stored(tmp_path: Path) -> None:
    def writer(*texts: str) -> SavepointWriter:
        rows = list(enumerate(map(Silent, texts)))
        state = ValueStateDescriptor("value", OBJECT)
        return SavepointWriter.new().keyed_state("op", state, rows, lambda row: row[0], lambda row: row[1])

    state = the_state(compared(writer("a", "b"), writer("a", "c"), tmp_path))
    assert (state.removed, state.added, state.changed) == (0, 0, 1)
    assert not compared(writer("a", "b"), writer("a", "b"), tmp_path / "same")


def test_two_moments_of_a_job(tmp_path: Path) -> None:
    job = SavedJob(collecting(every_state, 2), tmp_path / "job")
    job.epoch()
    job.epoch(tmp_path / "a")
    job.epoch(tmp_path / "b")
    a, b = (open_snapshot(str(tmp_path / name), trust=True) for name in "ab")
    found = compare_savepoints(a, b, MANY)
    operators = {operator.uid: operator for operator in found.operators}
    assert operators["numbers"].notes == ("its splits or their positions differ",)
    states = {state.name: state for state in operators["states"].states}
    assert states["largest"].changed == 5 and states["processing-time timers"].added == 5
    assert "rules" not in operators, "the rules are the same"
    assert not found.only_before and not found.only_after
