"""Savepoints that are made or changed: read again, and taken over by jobs; against plain loops over the same data."""

from __future__ import annotations

import datetime
import uuid
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pandas
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.checkpoint.jobs import SavedJob, collecting
from tests.state.every_state import COUNT, EveryState, Memo, every_state, key_of

from millrace.checkpoint.folder import RestoreError
from millrace.common import Time, Types
from millrace.datastream import (
    AggregateFunction,
    CheckpointedFunction,
    DataStream,
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    StreamExecutionEnvironment,
)
from millrace.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from millrace.state import (
    BootstrapError,
    KeyedStateBootstrapFunction,
    NotInSavepointError,
    OperatorTransformation,
    SavepointReader,
    SavepointWriter,
    Timer,
)
from millrace.state.diff import compare_savepoints
from millrace.state.open_savepoint import open_snapshot

pytestmark = pytest.mark.draw(4)

LONG, TEXT, OBJECT = Types.LONG(), Types.STRING(), Types.PICKLED_BYTE_ARRAY()
TOTAL, MEMO = ValueStateDescriptor("total", LONG), ValueStateDescriptor("memo", LONG)
USERS = pa.table({"user": ["ann", "bob", "cid"], "total": [3, 5, 8]})


def contents(path: str, uid: str, name: str) -> dict[Any, Any]:
    return dict(SavepointReader.read(path, trust=True).keyed_state(uid, name).items())


# -- simple forms -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rows",
    [USERS, USERS.to_pandas(), USERS.to_batches()[0], USERS.to_reader(), USERS.to_pylist(), iter(USERS.to_pylist())],
    ids=["table", "pandas", "batch", "reader", "list", "iterator"],
)
def test_rows_of_any_kind(rows: Any, tmp_path: Path) -> None:
    writer = SavepointWriter.new().keyed_state("totals", TOTAL, rows, key="user", value="total")
    assert contents(writer.write(str(tmp_path / "s")), "totals", "total") == {"ann": 3, "bob": 5, "cid": 8}


def test_rows_may_be_anything(tmp_path: Path) -> None:
    class Selector(KeySelector):
        def get_key(self, value: Any) -> Any:
            return value.text

    memos = [Memo("a"), Memo("b")]
    descriptor = ValueStateDescriptor("memo", OBJECT)
    path = SavepointWriter.new().keyed_state("memos", descriptor, memos, Selector()).write(str(tmp_path / "s"))
    assert contents(path, "memos", "memo") == {"a": Memo("a"), "b": Memo("b")}
    with pytest.raises(TypeError, match="state is made from a pyarrow Table, a DataFrame of pandas or Spark"):
        SavepointWriter.new().keyed_state("memos", descriptor, 5, Selector()).write(str(tmp_path / "t"))


def test_times_of_tables_are_in_utc(tmp_path: Path) -> None:
    moment = datetime.datetime(2024, 5, 6, 7, tzinfo=datetime.timezone.utc)
    stamps = pandas.DataFrame({"key": [1], "at": [pandas.Timestamp(moment).tz_convert("Europe/Berlin")]})
    path = (
        SavepointWriter.new()
        .keyed_state("op", ValueStateDescriptor("at", OBJECT), stamps, "key", "at")
        .write(str(tmp_path / "s"))
    )
    (found,) = contents(path, "op", "at").values()
    assert found == moment and found.tzinfo is datetime.timezone.utc


class Longest(AggregateFunction):
    def create_accumulator(self) -> str:
        return ""

    def add(self, value: str, accumulator: str) -> str:
        return max(accumulator, value, key=len)

    def get_result(self, accumulator: str) -> int:
        return len(accumulator)

    def merge(self, acc_a: str, acc_b: str) -> str:
        return max(acc_a, acc_b, key=len)


PAIRS = st.lists(st.tuples(st.integers(0, 5), st.text("xyz", max_size=4)), max_size=30)


@given(PAIRS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_each_kind_of_keyed_state(tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[int, str]]) -> None:
    """Against loops over the pairs."""
    key, value = (lambda pair: pair[0]), (lambda pair: pair[1])
    entry = lambda pair: (pair[1], len(pair[1]))
    reducing = ReducingStateDescriptor("reducing", lambda a, b: a + b, TEXT)
    path = (
        SavepointWriter.new()
        .keyed_state("op", ValueStateDescriptor("value", TEXT), pairs, key, value)
        .keyed_state("op", ListStateDescriptor("list", TEXT), pairs, key, value)
        .keyed_state("op", MapStateDescriptor("map", TEXT, LONG), pairs, key, entry)
        .keyed_state("op", reducing, pairs, key, value)
        .keyed_state("op", AggregatingStateDescriptor("aggregating", Longest(), TEXT), pairs, key, value)
        .write(str(tmp_path_factory.mktemp("kinds") / "s"))
    )
    mine = {key: [text for other, text in pairs if other == key] for key, _ in pairs}
    assert contents(path, "op", "value") == {key: texts[-1] for key, texts in mine.items()}
    assert contents(path, "op", "list") == mine
    assert contents(path, "op", "map") == {key: {text: len(text) for text in texts} for key, texts in mine.items()}
    assert contents(path, "op", "reducing") == {key: "".join(texts) for key, texts in mine.items()}
    assert {key: len(text) for key, text in contents(path, "op", "aggregating").items()} == {
        key: max(map(len, texts)) for key, texts in mine.items()
    }
    kinds = {state.name: (state.kind, state.type) for state in SavepointReader.read(path, trust=True).states("op")}
    assert kinds["list"] == ("list", "LIST<STRING>") and kinds["reducing"] == ("reducing", "STRING")


def test_operator_state(tmp_path: Path) -> None:
    path = (
        SavepointWriter.new()
        .list_state("op", ListStateDescriptor("list", LONG), USERS, "total")
        .union_state("op", ListStateDescriptor("union", TEXT), ["a", "b"])
        .broadcast_state("op", MapStateDescriptor("by pair", TEXT, LONG), {"x": 1, "y": 2})
        .broadcast_state("op", MapStateDescriptor("by column", TEXT, LONG), USERS, key="user", value="total")
        .write(str(tmp_path / "s"))
    )
    reader = SavepointReader.read(path, trust=True)
    assert list(reader.list_state("op", "list").items()) == [(0, 3), (0, 5), (0, 8)]
    assert list(reader.union_state("op", "union").items()) == [(0, "a"), (0, "b")]
    assert dict(reader.broadcast_state("op", "by pair").items()) == {"x": 1, "y": 2}
    assert dict(reader.broadcast_state("op", "by column").items()) == {"ann": 3, "bob": 5, "cid": 8}


# -- bootstrap functions ----------------------------------------------------------------------------------------------


class Totals(KeyedStateBootstrapFunction):
    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(TOTAL)
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen", LONG))

    def process_element(self, value: Any, ctx: KeyedStateBootstrapFunction.Context) -> None:
        user, amount = value
        assert ctx.get_current_key() == user
        self.total.update((self.total.value() or 0) + amount)
        self.seen.add(amount)
        ctx.timer_service().register_event_time_timer(amount * 100)
        ctx.timer_service().register_processing_time_timer(amount)


AMOUNTS = [("ann", 1), ("bob", 2), ("ann", 3), ("cid", 4)]


def test_a_bootstrap_function_writes_states_and_timers(tmp_path: Path) -> None:
    transformation = OperatorTransformation.bootstrap_with(AMOUNTS).key_by(lambda pair: pair[0]).transform(Totals())
    path = SavepointWriter.new().with_operator("totals", transformation, "my totals").write(str(tmp_path / "s"))
    reader = SavepointReader.read(path, trust=True)
    assert dict(reader.keyed_state("totals", "total").items()) == {"ann": 4, "bob": 2, "cid": 4}
    assert dict(reader.keyed_state("my totals", "seen").items()) == {"ann": [1, 3], "bob": [2], "cid": [4]}
    timers = {(user, timer) for user, n in AMOUNTS for timer in (Timer("event", n * 100), Timer("processing", n))}
    assert set(reader.timers("totals").items()) == timers


class Later(KeyedStateBootstrapFunction):
    """State that expires by event time."""

    def open(self, runtime_context: Any) -> None:
        descriptor = ValueStateDescriptor("value", LONG)
        descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.seconds(1)).use_event_time().build())
        self.value = runtime_context.get_state(descriptor)

    def process_element(self, value: Any, ctx: KeyedStateBootstrapFunction.Context) -> None:
        assert ctx.timestamp() == value * 10
        self.value.update(value)


def test_timestamps_say_when_state_begins_to_age(tmp_path: Path) -> None:
    rows = OperatorTransformation.bootstrap_with([1, 2]).assign_timestamps(lambda value: value * 10)
    writer = SavepointWriter.new().with_operator("op", rows.key_by(lambda value: value).transform(Later()))
    view = SavepointReader.read(writer.write(str(tmp_path / "s")), trust=True).keyed_state("op", "value")
    assert {row["key"]: row["last_access"] for row in view.to_arrow().to_pylist()} == {1: 10, 2: 20}


class Failing(KeyedStateBootstrapFunction):
    def process_element(self, value: Any, ctx: KeyedStateBootstrapFunction.Context) -> None:
        raise ArithmeticError("no such sum")


class Yielding(KeyedStateBootstrapFunction):
    def process_element(self, value: Any, ctx: KeyedStateBootstrapFunction.Context) -> Any:
        yield value


@pytest.mark.parametrize(
    ("function", "key", "text"),
    [
        (Failing(), lambda value: value, "element: 7\n.*\n  cause:   ArithmeticError: no such sum"),
        (Failing(), lambda value: value / 0, "failed to give a row its key\n  element: 7"),
        (Failing(), lambda value: {value}, "failed to find the group of its key\n.*\n.*a set can't be a key"),
        (Failing(), "name", "failed to give a row its key\n  element: 7"),
        (Yielding(), lambda value: value, "a bootstrap function has no output, but gave 7"),
    ],
)
def test_failures_name_operator_row_and_line(function: Any, key: Any, text: str, tmp_path: Path) -> None:
    transformation = OperatorTransformation.bootstrap_with([7]).key_by(key).transform(function)
    writer = SavepointWriter.new().with_operator("my-op", transformation)
    with pytest.raises(BootstrapError, match=text) as caught:
        writer.write(str(tmp_path / "s"))
    assert f"operator 'my-op' (subtask 1), made at {__file__}:" in str(caught.value)
    assert not (tmp_path / "s").exists(), "nothing is left of it"


# -- jobs take it over ------------------------------------------------------------------------------------------------


class Adding(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(TOTAL)

    def process_element(self, value: int, ctx: Any) -> Iterable[Any]:
        self.total.update((self.total.value() or 0) + value)
        yield key_of(value), self.total.value()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        yield ctx.get_current_key(), -timestamp


def adding(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_sequence(0, 19).set_parallelism(1).key_by(key_of).process(Adding()).uid("adding")


class Begin(KeyedStateBootstrapFunction):
    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(TOTAL)

    def process_element(self, value: int, ctx: KeyedStateBootstrapFunction.Context) -> None:
        self.total.update(1_000 * value)
        ctx.timer_service().register_event_time_timer(5_000 + value)


@pytest.mark.parametrize("parallelism", [1, 3])
def test_a_job_begins_with_bootstrapped_state(parallelism: int, tmp_path: Path) -> None:
    keys = OperatorTransformation.bootstrap_with(range(7)).key_by(lambda value: value)
    path = SavepointWriter.new().with_operator("adding", keys.transform(Begin())).write(str(tmp_path / "s"))
    job = SavedJob(collecting(adding, parallelism), tmp_path / "job")
    restore = job.restore(path)
    assert "restored:" in restore.comparison.render()
    results = job.finish()
    totals = {key: 1_000 * key for key in range(7)}
    expected = [(key, -(5_000 + key)) for key in totals]
    for value in range(20):
        totals[key_of(value)] += value
        expected.append((key_of(value), totals[key_of(value)]))
    assert Counter(results) == Counter(expected)


def test_types_are_checked_when_a_job_takes_it_over(tmp_path: Path) -> None:
    writer = SavepointWriter.new().keyed_state("adding", ValueStateDescriptor("total", TEXT), ["a"], lambda value: 1)
    path = writer.write(str(tmp_path / "s"))
    with pytest.raises(RestoreError, match="state 'total' is incompatible: STRING can't become LONG"):
        SavedJob(collecting(adding, 2), tmp_path / "job").restore(path)


def test_the_maximum_parallelism_is_checked(tmp_path: Path) -> None:
    writer = SavepointWriter.new(max_parallelism=64).keyed_state("adding", TOTAL, [1], lambda value: value)
    path = writer.write(str(tmp_path / "s"))
    with pytest.raises(RestoreError, match="maximum parallelism is 128, but was 64"):
        SavedJob(collecting(adding, 2), tmp_path / "job").restore(path)
    SavedJob(collecting(adding, 2, max_parallelism=64), tmp_path / "job").restore(path)
    with pytest.raises(ValueError, match="the maximum parallelism is 1 to 32768, not 0"):
        SavepointWriter.new(max_parallelism=0)


class Lists(MapFunction, CheckpointedFunction):
    def initialize_state(self, context: Any) -> None:
        store = context.get_operator_state_store()
        self.mine = list(store.get_list_state(ListStateDescriptor("mine", LONG)).get())
        self.all = list(store.get_union_list_state(ListStateDescriptor("all", LONG)).get())

    def snapshot_state(self, context: Any) -> None:
        """Nothing changes."""

    def map(self, value: int) -> Any:
        return value, tuple(self.mine), tuple(self.all)


class Rules(KeyedBroadcastProcessFunction):
    rules = MapStateDescriptor("rules", TEXT, LONG)

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield "rules", dict(ctx.get_broadcast_state(self.rules).items())

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        """There are none."""


@pytest.mark.parametrize("parallelism", [1, 2, 3])
def test_a_job_begins_with_operator_state(parallelism: int, tmp_path: Path) -> None:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        numbers = env.from_sequence(0, 11).set_parallelism(1)
        none = env.from_collection([], LONG).broadcast(Rules.rules)
        ruled = numbers.key_by(key_of).connect(none).process(Rules()).uid("ruled")
        return numbers.rebalance().map(Lists()).uid("lists").union(ruled)

    path = (
        SavepointWriter.new()
        .list_state("lists", ListStateDescriptor("mine", LONG), range(10))
        .union_state("lists", ListStateDescriptor("all", LONG), range(3))
        .broadcast_state("ruled", Rules.rules, {"x": 1})
        .write(str(tmp_path / "s"))
    )
    job = SavedJob(collecting(build, parallelism), tmp_path / "job", workers=1)
    job.restore(path)
    results = job.finish()
    assert [rules for what, *rules in results if what == "rules"] == [[{"x": 1}]] * 12
    shares = {mine for what, mine, *_ in results if what != "rules"}
    assert sorted(value for share in shares for value in share) == list(range(10))
    assert {result[2] for result in results if result[0] != "rules"} == {(0, 1, 2)}


# -- what was there before --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def lives(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, list[Any]]:
    """A savepoint, a checkpoint of the same moment, and what the job had put out by then."""
    root = tmp_path_factory.mktemp("lives")
    job = SavedJob(collecting(every_state, 2), root / "job", checkpoint_every=1)
    for _ in range(6):
        job.epoch()
    result = job.epoch(root / "savepoint")
    assert result.checkpoint is not None
    return str(root / "savepoint"), result.checkpoint, job.collected


@pytest.fixture(params=["savepoint", "checkpoint"])
def base(request: pytest.FixtureRequest, lives: tuple[str, str, list[Any]]) -> str:
    return lives[0] if request.param == "savepoint" else lives[1]


def rest_of(path: str, directory: Path, parallelism: int = 2) -> list[Any]:
    """What a job puts out that begins with a savepoint, in any order."""
    job = SavedJob(collecting(every_state, parallelism), directory)
    job.now = 10
    job.restore(path)
    return sorted(map(repr, job.finish()))


def test_written_as_it_was_read_nothing_changes(base: str, tmp_path: Path) -> None:
    path = SavepointWriter.from_savepoint(base).write(str(tmp_path / "copy"))
    assert not compare_savepoints(open_snapshot(base, trust=True), open_snapshot(path, trust=True), 5)
    assert rest_of(path, tmp_path / "one") == rest_of(base, tmp_path / "two")
    before, after = SavepointReader.read(base, trust=True), SavepointReader.read(path, trust=True)
    assert after.metadata.kind == "savepoint"
    assert [(state.name, state.kind, state.type, state.ttl, state.rows) for state in after.states("states")] == [
        (state.name, state.kind, state.type, state.ttl, state.rows) for state in before.states("states")
    ]


def test_a_job_goes_on_from_a_copy_with_another_parallelism(
    lives: tuple[str, str, list[Any]], base: str, tmp_path: Path
) -> None:
    path = SavepointWriter.from_savepoint(base).write(str(tmp_path / "copy"))
    whole = SavedJob(collecting(every_state, 1), tmp_path / "whole").finish()
    found = [*map(repr, lives[2]), *rest_of(path, tmp_path / "job", parallelism=3)]
    # How many elements a subtask of "positions" has seen is another matter with another number of subtasks.
    assert Counter(each for each in found if "positions" not in each) == Counter(
        repr(each) for each in whole if each[0] != "positions"
    )
    assert len(found) == len(whole)


CHANGES: dict[str, Callable[[Any, Any], Any]] = {
    "value": lambda key, value: None if key == 1 else f"{key}: {value.owner}",
    "memo": lambda key, value: value if key % 2 else None,
    "list": lambda key, values: [point for point in values if point.x % 2] + [key],
    "map": lambda key, values: {**values, "new": key} if key else {},
    "largest": lambda key, value: value + key,
    "mean": lambda key, value: (value[0] * 2, value[1]),
    "ttl value": lambda key, value: -value,
    "ttl list": lambda key, values: [*values, 99] if key else [],
    "ttl map": lambda key, values: {number: text * 2 for number, text in values.items() if number or key},
}


def timers_by_key(path: str) -> list[Any]:
    """Of each key in the order of their registration: savepoints go by key group, checkpoints do not."""
    return sorted(SavepointReader.read(path, trust=True).timers("states").items(), key=lambda item: item[0])


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_a_loop_over_the_entries(name: str, base: str, tmp_path: Path) -> None:
    change = CHANGES[name]
    path = SavepointWriter.from_savepoint(base).change("states", name, change).write(str(tmp_path / "changed"))
    expected = {key: change(key, value) for key, value in contents(base, "states", name).items()}
    assert contents(path, "states", name) == {key: value for key, value in expected.items() if value}
    others = [state.name for state in SavepointReader.read(base, trust=True).states("states") if state.kind != "timers"]
    for other in others:
        if other != name:
            assert contents(path, "states", other) == contents(base, "states", other)
    assert timers_by_key(path) == timers_by_key(base)


@pytest.mark.parametrize("uid", ["tumbling", "elements", "sessions"])
def test_windows_can_be_changed(uid: str, base: str, tmp_path: Path) -> None:
    def change(at: Any, value: Any) -> Any:
        key, window = at
        end = getattr(window, "end", window)
        if key == 2:
            return None
        return [*value, end] if isinstance(value, list) else (value[0] + end, value[1])

    path = SavepointWriter.from_savepoint(base).change(uid, "window-contents", change).write(str(tmp_path / "changed"))
    expected = {at: change(at, value) for at, value in SavepointReader.read(base, trust=True).window_state(uid).items()}
    found = dict(SavepointReader.read(path, trust=True).window_state(uid).items())
    assert found == {at: value for at, value in expected.items() if value is not None}
    assert len(found) < len(expected)


def test_buffers_can_be_changed(base: str, tmp_path: Path) -> None:
    change = lambda key, pairs: [(time, -value) for time, value in reversed(pairs)] if key != 2 else None
    path = SavepointWriter.from_savepoint(base).change("join", "RIGHT_BUFFER", change).write(str(tmp_path / "changed"))
    expected = {key: sorted(change(key, pairs) or []) for key, pairs in contents(base, "join", "RIGHT_BUFFER").items()}
    assert contents(path, "join", "RIGHT_BUFFER") == {key: pairs for key, pairs in expected.items() if pairs}


def test_operator_state_can_be_changed(base: str, tmp_path: Path) -> None:
    path = (
        SavepointWriter.from_savepoint(base)
        .change("positions", "mine", lambda subtask, value: None if value % 2 else value * 10 + subtask)
        .change("rules", "rules", lambda key, value: value.owner if key else None)
        .write(str(tmp_path / "changed"))
    )
    before, after = SavepointReader.read(base, trust=True), SavepointReader.read(path, trust=True)
    mine = before.list_state("positions", "mine").items()
    assert list(after.list_state("positions", "mine").items()) == [
        (subtask, value * 10 + subtask) for subtask, value in mine if not value % 2
    ]
    assert dict(after.broadcast_state("rules", "rules").items()) == {1: "owner 1", 2: "owner 2"}
    assert SavepointReader.read(path, trust=True).states("rules")[0].rows == 4, "both copies"


def test_several_changes_follow_each_other(base: str, tmp_path: Path) -> None:
    path = (
        SavepointWriter.from_savepoint(base)
        .change("states", "largest", lambda key, value: value + 1)
        .rename_state("states", "largest", "greatest")
        .change("states", "greatest", lambda key, value: value * 2)
        .write(str(tmp_path / "changed"))
    )
    assert contents(path, "states", "greatest") == {
        key: (value + 1) * 2 for key, value in contents(base, "states", "largest").items()
    }
    names = [state.name for state in SavepointReader.read(path, trust=True).states("states")]
    assert "largest" not in names


def test_a_change_of_type_is_declared(base: str, tmp_path: Path) -> None:
    path = (
        SavepointWriter.from_savepoint(base)
        .change("states", "ttl list", lambda key, values: list(map(str, values)))
        .change("states", "largest", lambda key, value: str(value), ReducingStateDescriptor("largest", max, TEXT))
        .write(str(tmp_path / "changed"))
    )
    types = {state.name: (state.kind, state.type) for state in SavepointReader.read(path, trust=True).states("states")}
    assert types["largest"] == ("reducing", "STRING")
    writer = SavepointWriter.from_savepoint(base)
    with pytest.raises(ValueError, match="'ttl value' is a value state with time to live, which change"):
        writer.change("states", "ttl value", lambda key, value: value, ValueStateDescriptor("ttl value", TEXT))
    with pytest.raises(ValueError, match="'largest' is a reducing state without time to live"):
        writer.change("states", "largest", lambda key, value: value, ValueStateDescriptor("largest", TEXT))


def test_a_function_that_gives_the_wrong_thing(base: str, tmp_path: Path) -> None:
    writer = SavepointWriter.from_savepoint(base).change("states", "list", lambda key, values: 5)
    with pytest.raises(TypeError, match=r"the state holds a list for each key, but the function gave 5 for \d"):
        writer.write(str(tmp_path / "changed"))
    assert not (tmp_path / "changed").exists()


def test_renamed_and_removed_states(base: str, tmp_path: Path) -> None:
    path = (
        SavepointWriter.from_savepoint(base)
        .rename_state("states", "value", "account")
        .remove_state("states", "memo")
        .rename_state("positions", "mine", "ours")
        .keyed_state("states", ValueStateDescriptor("memo", LONG), [1, 2], key=lambda value: value)
        .write(str(tmp_path / "changed"))
    )
    assert contents(path, "states", "account") == contents(base, "states", "value")
    assert contents(path, "states", "memo") == {1: 1, 2: 2}
    reader = SavepointReader.read(path, trust=True)
    assert {state.name for state in reader.states("positions")} == {"ours", "all"}
    assert next(state.type for state in reader.states("states") if state.name == "memo") == "LONG"


def test_operators_are_removed_renamed_and_added(base: str, tmp_path: Path) -> None:
    before = SavepointReader.read(base, trust=True)
    path = (
        SavepointWriter.from_savepoint(base)
        .remove_operator("rules")
        .remove_operator("rule numbers")
        .change_operator_uid("sum", "grand-total")
        .change_operator_uid("numbers", "digits")
        .keyed_state("new", TOTAL, USERS, "user", "total")
        .write(str(tmp_path / "changed"))
    )
    after = SavepointReader.read(path, trust=True)
    uids = {operator.uid for operator in before.operators()}
    gone = {"rules", "rule numbers", "sum", "numbers"}
    assert {operator.uid for operator in after.operators()} == uids - gone | {"grand-total", "digits", "new"}
    assert contents(path, "grand-total", "_reduce") == contents(base, "sum", "_reduce")
    assert {source.uid: source.splits for source in after.sources()} == {
        "digits": next(source.splits for source in before.sources() if source.uid == "numbers")
    }


def test_uids_can_be_swapped(base: str, tmp_path: Path) -> None:
    path = (
        SavepointWriter.from_savepoint(base)
        .change_operator_uid("tumbling", "x")
        .change_operator_uid("elements", "tumbling")
        .change_operator_uid("x", "elements")
        .change("elements", "window-contents", lambda at, value: value)
        .write(str(tmp_path / "changed"))
    )
    before, after = SavepointReader.read(base, trust=True), SavepointReader.read(path, trust=True)
    assert dict(after.window_state("elements").items()) == dict(before.window_state("tumbling").items())
    assert dict(after.window_state("tumbling").items()) == dict(before.window_state("elements").items())


def test_what_is_changed_is_what_the_job_goes_on_with(base: str, tmp_path: Path) -> None:
    writer = SavepointWriter.from_savepoint(base).change("sum", "_reduce", lambda key, value: value + 1_000_000)
    path = writer.write(str(tmp_path / "changed"))

    def sums(results: list[Any]) -> list[int]:
        return sorted(result[2] for result in results if result[0] == "sum")

    lives = []
    for name, begin in (("one", path), ("two", base)):
        job = SavedJob(collecting(every_state, 2), tmp_path / name)
        job.restore(begin)
        lives.append(sums(job.finish()))
    assert lives[0] == [value + 1_000_000 for value in lives[1]]
    assert lives[1]


@pytest.mark.parametrize(
    ("wrong", "error", "text"),
    [
        (lambda it: it.change("stats", "value", max), NotInSavepointError, "did you mean 'states'"),
        (lambda it: it.change("states", "valu", max), NotInSavepointError, "did you mean 'value'"),
        (lambda it: it.change("states", "event-time timers", max), NotInSavepointError, "has kept no state"),
        (lambda it: it.remove_state("states", "x"), NotInSavepointError, "has kept no state 'x'"),
        (lambda it: it.remove_operator("x"), NotInSavepointError, "the savepoint has no operator 'x'"),
        (lambda it: it.rename_state("states", "value", "memo"), ValueError, "has a state 'memo' already"),
        (lambda it: it.change_operator_uid("states", "sum"), ValueError, "there is an operator 'sum' already"),
        (lambda it: it.keyed_state("states", MEMO, [], "a"), ValueError, "remove_state()"),
        (lambda it: it.with_operator("sum", _begin()), ValueError, "remove_operator() it first"),
        (lambda it: it.with_operator("new", Begin()), TypeError, "bootstrap_with(rows).key_by(key).transform("),
        (lambda it: it.keyed_state("new", "total", [], "a"), TypeError, "described by a StateDescriptor"),
        (lambda it: it.keyed_state("new", TOTAL, [], 5), TypeError, "key must be the name of a column or a function"),
        (lambda it: it.list_state("new", TOTAL, []), TypeError, "takes a ListStateDescriptor"),
        (lambda it: it.broadcast_state("new", TOTAL, {}), TypeError, "takes a MapStateDescriptor"),
    ],
)
def test_what_cannot_be_done_is_refused_at_once(lives: Any, wrong: Any, error: type, text: str) -> None:
    with pytest.raises(error) as caught:
        wrong(SavepointWriter.from_savepoint(lives[0]))
    assert text in str(caught.value)


def _begin() -> Any:
    return OperatorTransformation.bootstrap_with([]).key_by(lambda value: value).transform(Begin())


def test_new_states_of_one_name_are_refused(tmp_path: Path) -> None:
    writer = SavepointWriter.new().keyed_state("op", TOTAL, [1], lambda value: value)
    writer.keyed_state("op", TOTAL, [2], lambda value: value)
    with pytest.raises(ValueError, match="operator 'op' has a state 'total' already"):
        writer.write(str(tmp_path / "s"))
    assert not (tmp_path / "s").exists()


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x")
    with pytest.raises(ValueError, match="is not empty: a savepoint needs a folder of its own"):
        SavepointWriter.new().write(str(tmp_path))
    assert (tmp_path / "mine").read_text() == "x"


def test_new_operator_state_reaches_all_subtasks(base: str, tmp_path: Path) -> None:
    path = (
        SavepointWriter.from_savepoint(base)
        .broadcast_state("rules", MapStateDescriptor("more rules", LONG, LONG), {1: 2})
        .list_state("positions", ListStateDescriptor("more", LONG), range(10))
        .write(str(tmp_path / "changed"))
    )
    reader = SavepointReader.read(path, trust=True)
    rows = {state.name: state.rows for state in reader.states("rules")}
    assert rows["more rules"] == 2, "each subtask has a copy"
    shares = Counter(subtask for subtask, _ in reader.list_state("positions", "more").items())
    assert shares == {0: 5, 1: 5}


def test_names_that_look_alike_are_kept_apart(tmp_path: Path) -> None:
    """What is written anew must not take the place of a file that is kept."""
    writer = SavepointWriter.new()
    names = ["a b", "a_b", "a.b", "a/b"]
    for name in names:
        writer.keyed_state("op", ValueStateDescriptor(name, TEXT), [name], lambda row: 0)
    path = writer.write(str(tmp_path / "one"))
    writer = SavepointWriter.from_savepoint(path)
    for name in names[1:]:
        writer.change("op", name, lambda key, value: value * 2)
    writer.keyed_state("op", ValueStateDescriptor("a*b", TEXT), ["a*b"], lambda row: 0)
    path = writer.write(str(tmp_path / "two"))
    found = {name: contents(path, "op", name)[0] for name in [*names, "a*b"]}
    assert found == {"a b": "a b", **{name: name * 2 for name in names[1:]}, "a*b": "a*b"}


def test_event_time_begins_at_its_beginning(tmp_path: Path) -> None:
    path = SavepointWriter.new().keyed_state("op", TOTAL, [1], lambda value: value).write(str(tmp_path / "s"))
    assert open_snapshot(path, trust=True).metadata.saved["op"].watermark == -(2**63)


def test_a_writer_can_write_twice(base: str, tmp_path: Path) -> None:
    writer = SavepointWriter.from_savepoint(base).change("states", "largest", lambda key, value: value + 1)
    paths = [writer.write(str(tmp_path / name)) for name in ("one", "two")]
    assert not compare_savepoints(*(open_snapshot(path, trust=True) for path in paths), 5)
    once_more = SavepointWriter.from_savepoint(paths[0]).change("states", "largest", lambda key, value: value - 1)
    back = once_more.write(str(tmp_path / "three"))
    assert not compare_savepoints(open_snapshot(base, trust=True), open_snapshot(back, trust=True), 5)


def test_the_savepoint_that_was_read_stays_as_it_is(lives: Any, tmp_path: Path) -> None:
    files = {path: path.read_bytes() for path in Path(lives[0]).rglob("*") if path.is_file()}
    writer = SavepointWriter.from_savepoint(lives[0]).change("states", "list", lambda key, values: values.clear())
    writer.remove_operator("sum").write(str(tmp_path / "changed"))
    assert {path: path.read_bytes() for path in Path(lives[0]).rglob("*") if path.is_file()} == files
    assert contents(str(tmp_path / "changed"), "states", "list") == {}


def test_the_program_reads_so_many(lives: Any) -> None:
    assert isinstance(EveryState(), KeyedProcessFunction)
    assert 0 < max(result[2] for result in lives[2] if result[0] == "states") < COUNT - 1


def test_uris_will_do(tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    place = f"memory://savepoints/{uuid.uuid4().hex}"
    one = SavepointWriter.new().keyed_state("op", TOTAL, USERS, "user", "total").write(f"{place}/one")
    two = SavepointWriter.from_savepoint(one).change("op", "total", lambda key, value: -value).write(f"{place}/two")
    assert contents(one, "op", "total") == {"ann": 3, "bob": 5, "cid": 8}
    assert contents(two, "op", "total") == {"ann": -3, "bob": -5, "cid": -8}
    with pytest.raises(ValueError, match="is not empty"):
        SavepointWriter.new().write(one)
