"""A program whose states or keys have another type goes on where that means the same; else it is refused, and says what
was and what is. Allowed to, the changed state begins empty, and the others go on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.checkpoint.jobs import SavedJob, Sum, collecting

from millrace.checkpoint.folder import RestoreError
from millrace.common import Row, Types
from millrace.common.functions import ReduceFunction
from millrace.datastream import DataStream, KeyedProcessFunction, MapFunction, StreamExecutionEnvironment
from millrace.datastream.functions import CheckpointedFunction
from millrace.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from millrace.runtime.failure import JobFailedError
from millrace.runtime.state.disk.plan import OnDisk

INT, LONG, STRING, DOUBLE = Types.INT(), Types.LONG(), Types.STRING(), Types.DOUBLE()
ANY = Types.PICKLED_BYTE_ARRAY()
KEYS = 3
AS_IT_WAS = ValueStateDescriptor("s", INT)


class Highest(ReduceFunction):
    def reduce(self, a: int, b: int) -> int:
        return max(a, b)


class Keeps(KeyedProcessFunction):
    """Stores ``make(value)`` in one state and counts in another; shows what was there before."""

    def __init__(self, descriptor: StateDescriptor, make: Callable[[int], Any], lazy: bool) -> None:
        self.descriptor, self.make, self.lazy = descriptor, make, lazy

    def open(self, runtime_context: Any) -> None:
        self.context = runtime_context
        self.count = runtime_context.get_state(ValueStateDescriptor("count", LONG))
        if not self.lazy:
            self.context.keyed.get_any(self.descriptor)

    def process_element(self, value: int, ctx: Any) -> Iterable[Any]:
        state = self.context.keyed.get_any(self.descriptor)
        counted = self.count.value() or 0
        self.count.update(counted + 1)
        match self.descriptor:
            case ValueStateDescriptor():
                yield value, counted, state.value()
                state.update(self.make(value))
            case ListStateDescriptor():
                yield value, counted, list(state.get()) or None
                state.add(self.make(value))
            case MapStateDescriptor():
                yield value, counted, dict(state.items()) or None
                state.put(*self.make(value))
            case _:
                yield value, counted, state.get()
                state.add(self.make(value))


Build = Callable[[StreamExecutionEnvironment], DataStream]


def keyed(
    descriptor: StateDescriptor = AS_IT_WAS,
    make: Callable[[int], Any] = int,
    key: Callable[[int], Any] = lambda value: value % KEYS,
    key_type: Any = None,
    lazy: bool = False,
) -> Build:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        values = env.from_sequence(0, 29).uid("values").set_parallelism(1)
        return values.key_by(key, key_type).process(Keeps(descriptor, make, lazy)).uid("keeps")

    return build


def job_of(build: Build, disk: Path | None) -> Any:
    job = collecting(build, 2)
    return job if disk is None else replace(job, state=OnDisk((str(disk),)))


def taken(before: Build, after: Build, tmp_path: Path, disk: Path | None, source: str, drop: bool = False) -> SavedJob:
    """A job that has taken over what another one left after two epochs of five values."""
    first = SavedJob(job_of(before, disk), tmp_path / "first", 1)
    first.epoch()
    checkpoint = first.epoch(tmp_path / "saved").checkpoint
    second = SavedJob(job_of(after, disk), tmp_path / "second")
    second.restore(str(tmp_path / "saved") if source == "savepoint" else str(checkpoint), allow_non_restored=drop)
    return second


def seconds(number: int) -> Any:
    from millrace.common import Time

    return Time.seconds(number)


def living(descriptor: StateDescriptor) -> StateDescriptor:
    descriptor.enable_time_to_live(StateTtlConfig.new_builder(seconds(100)).build())
    return descriptor


def text(value: int) -> str:
    return str(value)


def pair(value: int) -> Any:
    return value, value


def text_and_value(value: int) -> Any:
    return str(value), value


VALUE, LIST, MAP = ValueStateDescriptor, ListStateDescriptor, MapStateDescriptor
REDUCING, AGGREGATING = ReducingStateDescriptor, AggregatingStateDescriptor
REFUSED: Mapping[str, tuple[Build, Build, str]] = {
    "INT, STRING": (keyed(), keyed(VALUE("s", STRING), text), "state 's' is incompatible: INT can't become STRING"),
    "LONG, INT": (keyed(VALUE("s", LONG)), keyed(VALUE("s", INT)), "LONG can't become INT"),
    "STRING, INT": (keyed(VALUE("s", STRING), text), keyed(), "STRING can't become INT"),
    "BYTES, STRING": (
        keyed(VALUE("s", Types.PRIMITIVE_ARRAY(Types.BYTE())), lambda n: b"x"), keyed(VALUE("s", STRING), text),
        "BYTES can't become STRING"),
    "TUPLE, its parts": (
        keyed(VALUE("s", Types.TUPLE([INT, STRING])), lambda n: (n, str(n))),
        keyed(VALUE("s", Types.TUPLE([STRING, INT])), lambda n: (str(n), n)), "f0: INT can't become STRING"),
    "ROW, TUPLE": (
        keyed(VALUE("s", Types.ROW([INT])), lambda n: Row(n)), keyed(VALUE("s", Types.TUPLE([INT])), lambda n: (n,)),
        r"ROW<f0 INT> can't become TUPLE<INT>"),
    "value, list": (keyed(), keyed(LIST("s", INT)), "was a value state and is a list state"),
    "value, map": (keyed(), keyed(MAP("s", INT, INT), pair), "was a value state and is a map state"),
    "list, map": (keyed(LIST("s", INT)), keyed(MAP("s", INT, INT), pair), "was a list state and is a map state"),
    "value, reducing": (keyed(), keyed(REDUCING("s", Highest(), INT)), "is a reducing state"),
    "reducing, aggregating": (
        keyed(REDUCING("s", Highest(), INT)), keyed(AGGREGATING("s", Sum(), INT)), "is a aggregating state"),
    "elements of a list": (keyed(LIST("s", INT)), keyed(LIST("s", STRING), text), "INT can't become STRING"),
    "keys of a map": (
        keyed(MAP("s", STRING, INT), text_and_value), keyed(MAP("s", INT, INT), pair),
        "key: STRING can't become INT"),
    "values of a map": (
        keyed(MAP("s", INT, INT), pair), keyed(MAP("s", INT, STRING), lambda n: (n, str(n))),
        "value: INT can't become STRING"),
    "time to live": (keyed(), keyed(living(VALUE("s", INT))), "was without time to live and is with now"),
    "keys, STRING, INT": (
        keyed(key=lambda n: str(n % KEYS), key_type=STRING), keyed(key_type=INT), "its keys were STRING and are INT"),
    "keys, INT, STRING": (
        keyed(key_type=INT), keyed(key=lambda n: str(n % KEYS), key_type=STRING), "its keys were INT and are STRING"),
    "keys, INT, TUPLE": (
        keyed(key_type=INT), keyed(key=lambda n: (n % KEYS, 1), key_type=Types.TUPLE([INT, INT])),
        "its keys were INT and are TUPLE<INT, INT>"),
    "keys, a part of TUPLE": (
        keyed(key=lambda n: (n % KEYS, "x"), key_type=Types.TUPLE([INT, STRING])),
        keyed(key=lambda n: (n % KEYS, 1), key_type=Types.TUPLE([INT, INT])),
        "its keys were TUPLE<INT, STRING> and are TUPLE<INT, INT>"),
}  # fmt: skip
MEANS_THE_SAME = {
    "INT, LONG": (keyed(), keyed(VALUE("s", LONG))),
    "keys, INT, LONG": (keyed(key_type=INT), keyed(key_type=LONG)),
    "keys, LONG, INT": (keyed(key_type=LONG), keyed(key_type=INT)),
    "keys, INT, not declared": (keyed(key_type=INT), keyed()),
    "keys, not declared, INT": (keyed(), keyed(key_type=INT)),
    "keys, numbers of another class": (keyed(), keyed(key=lambda n: float(n % KEYS))),
    "keys, names of fields": (
        keyed(key=lambda n: (n % KEYS, 1), key_type=Types.TUPLE([INT, INT])),
        keyed(key=lambda n: (n % KEYS, 1), key_type=Types.TUPLE([LONG, LONG]))),
}  # fmt: skip
AT_WORK = {
    "keys that are not declared": (
        keyed(key=lambda n: str(n % KEYS)), keyed(), "the keys of its restored state are str, .* now are number"),
    "parts of keys": (
        keyed(key=lambda n: (str(n % KEYS), 1)), keyed(key=lambda n: (n % KEYS, 1)),
        r"are tuple of 2 \(str, number\), .* are tuple of 2 \(number, number\)"),
    "asked for late, another type": (keyed(), keyed(VALUE("s", STRING), text, lazy=True), "INT can't become STRING"),
    "asked for late before, too": (
        keyed(lazy=True), keyed(VALUE("s", STRING), text, lazy=True), "INT can't become STRING"),
    "asked for late, another kind": (keyed(), keyed(LIST("s", INT), lazy=True), "one name, one kind"),
    "asked for late, reducing": (keyed(), keyed(REDUCING("s", Highest(), INT), lazy=True), "is a reducing state"),
    "asked for late, keys of a map": (
        keyed(MAP("s", STRING, INT), text_and_value), keyed(MAP("s", INT, INT), pair, lazy=True),
        "key: STRING can't become INT"),
    "asked for late, to be converted": (
        keyed(), keyed(VALUE("s", DOUBLE), float, lazy=True), r"was INT and is DOUBLE now.*open\(\)"),
}  # fmt: skip


@pytest.fixture(params=["memory", "disk"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    return tmp_path / "state" if request.param == "disk" else None


@pytest.mark.draw(3)
@pytest.mark.parametrize("source", ["savepoint", "checkpoint"])
@pytest.mark.parametrize("what", REFUSED)
def test_another_type_is_refused(what: str, source: str, disk: Path | None, tmp_path: Path) -> None:
    before, after, message = REFUSED[what]
    with pytest.raises(RestoreError) as raised:
        taken(before, after, tmp_path, disk, source)
    said = str(raised.value)
    assert "nothing has run" in said and "'KEYED PROCESS' (uid keeps)" in said and "--allowNonRestoredState" in said
    assert raised.match(message)


@pytest.mark.draw(3)
@pytest.mark.parametrize("source", ["savepoint", "checkpoint"])
@pytest.mark.parametrize("what", REFUSED)
def test_it_may_begin_empty(what: str, source: str, tmp_path: Path) -> None:
    """The changed state does, and all keyed state where it is the keys."""
    before, after, _ = REFUSED[what]
    job = taken(before, after, tmp_path, None, source, drop=True)
    firsts: dict[int, Any] = {}
    for value, counted, found in job.finish():
        firsts.setdefault(value % KEYS, (counted, found))
    counts = [0, 0, 0] if what.startswith("keys,") else [4, 3, 3]
    assert [firsts[key] for key in range(KEYS)] == [(count, None) for count in counts]


@pytest.mark.draw(3)
@pytest.mark.parametrize("source", ["savepoint", "checkpoint"])
@pytest.mark.parametrize("what", MEANS_THE_SAME)
def test_a_type_that_means_the_same_goes_on(what: str, source: str, disk: Path | None, tmp_path: Path) -> None:
    before, after = MEANS_THE_SAME[what]
    found = {value: rest for value, *rest in taken(before, after, tmp_path, disk, source).finish()}
    assert found == {value: [value // KEYS, value - KEYS] for value in range(10, 30)}


@pytest.mark.draw(3)
@pytest.mark.parametrize("source", ["savepoint", "checkpoint"])
@pytest.mark.parametrize("what", AT_WORK)
def test_what_shows_at_work_fails_the_first_epoch(what: str, source: str, disk: Path | None, tmp_path: Path) -> None:
    before, after, message = AT_WORK[what]
    job = taken(before, after, tmp_path, disk, source)
    with pytest.raises(JobFailedError, match=message):
        job.finish()
    assert job.collected == []


def test_keys_that_are_declared_to_be_anything_are_not_compared(tmp_path: Path) -> None:
    job = taken(keyed(key=str), keyed(key_type=ANY), tmp_path, None, "savepoint")
    assert {count for _, count, _ in job.finish()[:KEYS]} == {0}


@pytest.mark.parametrize(("source", "error"), [("savepoint", RestoreError), ("checkpoint", JobFailedError)])
def test_values_that_were_declared_to_be_anything(source: str, error: type, tmp_path: Path) -> None:
    with pytest.raises(error, match="STRING"):
        taken(keyed(VALUE("s", ANY)), keyed(VALUE("s", STRING), text), tmp_path, None, source)


# -- state of another job life ----------------------------------------------------------------------------------------


def test_a_driver_that_goes_on_with_a_changed_program_refuses_too(tmp_path: Path) -> None:
    first = SavedJob(job_of(keyed(), None), tmp_path, 1)
    first.epoch()
    changed = replace(job_of(keyed(VALUE("s", STRING), text), None), job_id=first.job.job_id)
    second = SavedJob(changed, tmp_path, 1)
    second.go_on()
    with pytest.raises(JobFailedError, match=r"INT can't become STRING.*last checkpoint"):
        second.finish()


def test_types_of_states_that_are_not_asked_for_yet_stay_known(tmp_path: Path) -> None:
    """A life in between never asks for the state."""

    class Counts(Keeps):
        def process_element(self, value: int, ctx: Any) -> Iterable[Any]:
            yield value

    def counting(env: StreamExecutionEnvironment) -> DataStream:
        values = env.from_sequence(0, 29).uid("values").set_parallelism(1)
        return values.key_by(lambda value: value % KEYS).process(Counts(VALUE("s", INT), int, True)).uid("keeps")

    between = taken(keyed(), counting, tmp_path, None, "savepoint")
    between.epoch(tmp_path / "later")
    third = SavedJob(job_of(keyed(VALUE("s", STRING), text), None), tmp_path / "third")
    with pytest.raises(RestoreError, match="INT can't become STRING"):
        third.restore(str(tmp_path / "later"))


class Lists(MapFunction, CheckpointedFunction):
    """Lists in operator state."""

    def __init__(self, of: str, type_info: Any) -> None:
        self.of, self.type_info = of, type_info

    def initialize_state(self, context: Any) -> None:
        store = context.get_operator_state_store()
        get = store.get_list_state if self.of == "list" else store.get_union_list_state
        self.state = get(ListStateDescriptor("mine", self.type_info))
        self.before = list(self.state.get())

    def snapshot_state(self, context: Any) -> None:
        """All of it is in the state already."""

    def map(self, value: int) -> Any:
        self.state.add(value)
        return value, self.before


@pytest.mark.parametrize("after", [("list", STRING), ("union", INT)])
def test_operator_state_of_another_type_may_begin_empty(after: tuple[str, Any], tmp_path: Path) -> None:
    def lists(of: str, type_info: Any) -> Build:
        return lambda env: (
            env.from_sequence(0, 29).uid("values").set_parallelism(1).map(Lists(of, type_info)).uid("lists")
        )

    with pytest.raises((RestoreError, JobFailedError), match=r"INT can't become STRING|registered as SPLIT_DISTRIBUTE"):
        taken(lists("list", INT), lists(*after), tmp_path / "refused", None, "savepoint")
    job = taken(lists("list", INT), lists(*after), tmp_path / "empty", None, "savepoint", drop=True)
    job.epoch()
    assert [before for _, before in job.collected] == [[]] * 5
