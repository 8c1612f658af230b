"""The full texts of errors: what a user sees first must name the operator, the own line, the element and the cause."""

from __future__ import annotations

import functools
import os
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from millrace.common.sink import Sink, SinkWriter
from millrace.common.source import Boundedness
from millrace.common.time import Time
from millrace.common.typeinfo import Types
from millrace.common.types import Row
from millrace.common.watermark_strategy import TimestampAssigner, WatermarkGenerator, WatermarkStrategy
from millrace.connectors.generated_sources import NumberSequenceSource
from millrace.datastream import DataStream, OutputTag, RuntimeExecutionMode, StreamExecutionEnvironment
from millrace.datastream.functions import (
    CoMapFunction,
    CoProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
)
from millrace.datastream.state import StateTtlConfig, ValueStateDescriptor
from millrace.runtime.coordination.coordinator import Coordinator
from millrace.testing import run_locally

LOCK = threading.Lock()


def text_of(action: Callable[[], Any]) -> str:
    """The text of the error, with <here> for places in this file."""
    with pytest.raises(Exception) as caught:
        action()
    return re.sub(re.escape(__file__) + r":\d+", "<here>", str(caught.value))


def failure(stream: DataStream) -> str:
    return text_of(lambda: run_locally(stream))


def elements(*values: Any, parallelism: int = 2, declared: Any = None) -> DataStream:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)
    return env.from_collection(list(values), declared)


# -- what can't be sent to the workers ----------------------------------------------------------------------------


class Locked(MapFunction):
    def __init__(self) -> None:
        self.settings = {"locks": [1, LOCK]}

    def map(self, value: Any) -> Any:
        return value


class Session:
    """Like a SparkSession: it refuses to be pickled itself."""

    def __init__(self) -> None:
        self.gateway = LOCK

    def __reduce__(self) -> Any:
        raise RuntimeError("SparkContext can only be used on the driver")


def unsendable(place: str, what: str, held: str, cause: str = "TypeError: cannot pickle '_thread.lock' object") -> str:
    return (
        f"{place}: {what} can't be sent to the workers: it holds {held}\n"
        f"  cause:   {cause}\n"
        f"  instead: make such an object in open() of a function class, or in the function itself"
    )


class TestWhatCantBeSent:
    MAP = "operator 'Map' at <here>"

    def test_a_variable(self) -> None:
        connection = LOCK
        text = failure(elements(1).map(lambda x: connection))
        assert text == unsendable(self.MAP, "its lambda", "the variable connection (of type lock)")

    def test_a_variable_deep_inside(self) -> None:
        pools = [1, {"main": [LOCK]}]

        def ask(value: Any) -> Any:
            return pools

        text = failure(elements(1).map(ask))
        assert text == unsendable(self.MAP, "its function ask", "the variable pools[1]['main'][0] (of type lock)")

    def test_an_open_file(self) -> None:
        with open(os.devnull, "w") as log:
            text = failure(elements(1).filter(lambda x: log.write(x)))
        cause = f"{type_of_file_error()}: Cannot pickle files that are not opened for reading: w"
        held = "the variable log (of type TextIOWrapper)"
        assert text == unsendable("operator 'Filter' at <here>", "its lambda", held, cause)

    def test_a_global(self) -> None:
        text = failure(elements(1).map(lambda x: LOCK))
        assert text == unsendable(self.MAP, "its lambda", "the global LOCK (of type lock)")

    def test_a_global_of_a_function_that_is_called(self) -> None:
        def helper(value: Any) -> Any:
            return LOCK

        text = failure(elements(1).map(lambda x: helper(x)))
        assert text == unsendable(self.MAP, "its lambda", "the global LOCK of helper (of type lock)")

    def test_an_attribute(self) -> None:
        held = "the attribute Locked.settings['locks'][1] (of type lock)"
        assert failure(elements(1).map(Locked())) == unsendable(self.MAP, "its Locked", held)
        assert failure(elements(1).key_by(str).map(Locked())) == unsendable(self.MAP, "its Locked", held)

    def test_an_object_that_refuses(self) -> None:
        spark = Session()
        text = failure(elements(1).map(lambda x: spark))
        cause = "RuntimeError: SparkContext can only be used on the driver"
        assert text == unsendable(self.MAP, "its lambda", "the variable spark (of type Session)", cause)

    def test_an_argument_and_a_generator(self) -> None:
        text = failure(elements(1).flat_map(functools.partial(zip, iter_numbers())))
        cause = "TypeError: cannot pickle 'generator' object"
        held = "the argument 0 (of type generator)"
        assert text == unsendable("operator 'FlatMap' at <here>", "its partial", held, cause)

    def test_several(self) -> None:
        one, two = LOCK, threading.Condition
        three = threading.Lock()
        text = failure(elements(1).map(lambda x: (one, two, three)))
        held = "the variable one (of type lock) and the variable three (of type lock)"
        assert text == unsendable(self.MAP, "its lambda", held)

    def test_a_key_selector_and_a_partitioner(self) -> None:
        text = failure(elements(1).key_by(lambda x: LOCK).reduce(max))
        assert text == unsendable("key_by() at <here>", "its lambda", "the global LOCK (of type lock)")
        text = failure(elements(1).partition_custom(lambda key, count: LOCK, abs).map(abs))
        assert text == unsendable("partition_custom() at <here>", "its lambda", "the global LOCK (of type lock)")


def type_of_file_error() -> str:
    return "_pickle.PicklingError"


def iter_numbers() -> Iterator[int]:
    yield 1


# -- results of the wrong type ------------------------------------------------------------------------------------


class TestResults:
    def test_basic_type(self) -> None:
        assert failure(elements(1).map(str, Types.INT())) == (
            "operator 'Map' (subtask 1), made at <here>, failed to give a result its declared type\n"
            "  element: '1'\n"
            "  cause:   TypeMismatchError: expected Integer, got str '1'"
        )

    def test_none(self) -> None:
        assert failure(elements(1).map(lambda x: None, Types.STRING())) == (
            "operator 'Map' (subtask 1), made at <here>, failed to give a result its declared type\n"
            "  element: None\n"
            "  cause:   TypeMismatchError: expected String, got None"
        )

    def test_tuple_of_the_wrong_length(self) -> None:
        pair = Types.TUPLE([Types.INT(), Types.INT()])
        assert failure(elements(1).map(lambda x: (x, x, x), pair)) == (
            "operator 'Map' (subtask 1), made at <here>, failed to give a result its declared type\n"
            "  element: (1, 1, 1)\n"
            "  cause:   TypeMismatchError: expected TupleTypeInfo(Integer, Integer), got tuple (1, 1, 1): "
            "3 fields instead of 2"
        )

    def test_field_of_a_row(self) -> None:
        row = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])
        assert failure(elements(1).map(lambda x: Row(id=x, name=2.5), row)) == (
            "operator 'Map' (subtask 1), made at <here>, failed to give a result its declared type of "
            "RowTypeInfo(id: Integer, name: String)\n"
            "  element: Row(id=1, name=2.5)\n"
            "  cause:   TypeMismatchError: expected String, got float 2.5 (field name)"
        )

    def test_side_output(self) -> None:
        class Late(ProcessFunction):
            def process_element(self, value: Any, ctx: Any) -> Any:
                yield OutputTag("late", Types.INT()), "x"

        late = elements(1).process(Late()).name("split").get_side_output(OutputTag("late", Types.INT()))
        assert failure(late) == (
            "operator 'split' (subtask 1), made at <here>, failed to give a result its declared type\n"
            "  element: 'x'\n"
            "  cause:   TypeMismatchError: expected Integer, got str 'x'"
        )

    def test_elements_of_a_collection(self) -> None:
        assert failure(elements("a", declared=Types.INT()).name("words").map(abs)) == (
            "operator 'Source: words' (subtask 1), made at <here>, failed to give a result its declared type\n"
            "  element: 'a'\n"
            "  cause:   TypeMismatchError: expected Integer, got str 'a'"
        )

    def test_nothing_to_iterate_over(self) -> None:
        assert failure(elements(1).flat_map(lambda x: x)) == (
            "operator 'FlatMap' (subtask 1), made at <here>, failed\n"
            "  element: 1\n"
            "  cause:   TypeError: 'int' object is not iterable; the function must return an iterable or None, "
            "or yield its results"
        )


# -- keys and partitions ------------------------------------------------------------------------------------------


class TestKeys:
    BEHIND = "behind operator 'Source: Collection Source' (subtask 1), failed"

    def test_a_key_function_that_raises(self) -> None:
        words = elements({"word": "a"}, {"text": "b"})

        def word_of(value: Any) -> Any:
            return value["word"]

        assert failure(words.key_by(word_of).reduce(max)) == (
            f"key_by() at <here>, {self.BEHIND} in the key selector\n"
            "  element: {'text': 'b'}\n"
            '  at:      <here> in word_of: return value["word"]\n'
            "  cause:   KeyError: 'word'"
        )

    def test_a_field_that_is_not_there(self) -> None:
        assert failure(elements((1, 2)).key_by(2).reduce(max)) == (
            f"key_by() at <here>, {self.BEHIND} in the key selector\n"
            "  element: (1, 2)\n"
            "  cause:   IndexError: tuple index out of range"
        )

    @pytest.mark.parametrize("parallelism", [1, 2])
    def test_a_key_that_is_not_hashable(self, parallelism: int) -> None:
        assert failure(elements("ab", parallelism=parallelism).key_by(set).reduce(max)) == (
            f"key_by() at <here>, {self.BEHIND} to hash the key\n"
            "  element: 'ab'\n"
            "  cause:   UnstableKeyError: a set can't be a key: unhashable type: 'set'; use a tuple of its parts"
        )

    @pytest.mark.parametrize("parallelism", [1, 2])
    @pytest.mark.parametrize(("make", "kind"), [(frozenset, "frozenset"), (lambda x: Session(), "Session")])
    def test_a_key_without_stable_hash(self, parallelism: int, make: Callable[[Any], Any], kind: str) -> None:
        assert failure(elements("ab", parallelism=parallelism).key_by(make).reduce(max)) == (
            f"key_by() at <here>, {self.BEHIND} to hash the key\n"
            "  element: 'ab'\n"
            f"  cause:   UnstableKeyError: a key of type {kind} has no hash that is the same in every process; use a "
            "str, int, float, bytes, tuple, Row, date, Enum or dataclass, or give the class a method "
            "__stable_hash__() -> int"
        )

    def test_keys_of_connected_streams(self) -> None:
        numbers = elements(1)
        keyed = numbers.connect(numbers).key_by(abs, len)
        assert failure(keyed.process(Both())) == (
            f"key_by() at <here>, {self.BEHIND} in the key selector\n"
            "  element: 1\n"
            "  cause:   TypeError: object of type 'int' has no len()"
        )

    @pytest.mark.parametrize("answer", [2, -1, 1.5, None])
    def test_a_partitioner_out_of_range(self, answer: Any) -> None:
        assert failure(elements(5).partition_custom(lambda key, count: answer, abs).map(abs)) == (
            f"partition_custom() at <here>, {self.BEHIND} in the partitioner\n"
            "  element: 5\n"
            f"  cause:   ValueError: the partitioner answered {answer!r}, which is not an int in 0..1"
        )


# -- programs that can't run --------------------------------------------------------------------------------------


class Both(KeyedCoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Any:
        yield value

    process_element2 = process_element1


class Plain(CoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Any:
        yield value

    process_element2 = process_element1


class Timing(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        ctx.timer_service().register_event_time_timer(1)
        yield value


class Remembering(MapFunction):
    def __init__(self, ttl: bool = False) -> None:
        self.ttl = ttl

    def open(self, runtime_context: Any) -> None:
        seen = ValueStateDescriptor("seen", Types.INT())
        self.seen = runtime_context.get_state(seen)
        if self.ttl:
            seen.enable_time_to_live(StateTtlConfig.new_builder(Time.seconds(1)).build())
            self.seen = runtime_context.get_state(seen)

    def map(self, value: Any) -> Any:
        return value


class Ticking(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        ctx.timer_service().register_event_time_timer(5)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        raise ValueError("no timer today")


class Endless(NumberSequenceSource):
    def get_boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED


class TestPrograms:
    def test_a_missing_file(self, tmp_path: Path) -> None:
        env = StreamExecutionEnvironment.get_execution_environment()
        env.read_text_file(str(tmp_path / "none.txt")).print()
        coordinator = Coordinator(env.job_graph(), lambda: 0)
        assert text_of(coordinator.find_splits) == (
            "operator 'Source: Text File Source', made at <here>, failed to find its splits\n"
            f"  cause:   FileNotFoundError: there is no file or folder {tmp_path}/none.txt"
        )

    def test_two_operators_with_one_uid(self) -> None:
        assert failure(elements(1).map(abs).uid("mine").map(abs).name("second").uid("mine")) == (
            "operator 'second' at <here> has the uid 'mine', which operator 'Map' at <here> has already; "
            "a uid must be unique in a job"
        )

    def test_forward_between_unequal_parallelism(self) -> None:
        assert failure(elements(1).map(abs).name("upper").set_parallelism(3).forward().map(abs)) == (
            "operator 'Map' at <here> has parallelism 2, but forward() leads to it from operator 'upper' at <here> "
            "with parallelism 3: forward() needs equal parallelism; use rebalance() or rescale()"
        )

    def test_union_of_different_types(self) -> None:
        numbers = elements(1, declared=Types.INT())
        assert text_of(lambda: numbers.union(numbers.map(str, Types.STRING()))) == (
            "union() at <here>: the streams have different types: Integer and String: map them to one, or "
            "connect() them"
        )

    def test_streams_of_different_environments(self) -> None:
        text = "the streams belong to different environments: make all streams of a job with the same one"
        assert text_of(lambda: elements(1).union(elements(1))) == f"union() at <here>: {text}"
        assert text_of(lambda: elements(1).connect(elements(1))) == f"connect() at <here>: {text}"

    def test_one_of_two_connected_streams_keyed(self) -> None:
        numbers = elements(1)
        first, second = numbers.key_by(abs).connect(numbers), numbers.connect(numbers.key_by(abs))
        advice = "key both or none, for example with connect(...).key_by(...)"
        assert text_of(lambda: first.process(Plain())) == (
            f"process() at <here>: only the first of the connected streams is keyed; {advice}"
        )
        assert text_of(lambda: second.process(Plain())) == (
            f"process() at <here>: only the second of the connected streams is keyed; {advice}"
        )

    @pytest.mark.parametrize(
        ("use", "text"),
        [
            (
                lambda s: s.process(Ticking()),
                "process() on a stream that is not keyed at <here> takes a ProcessFunction, not Ticking",
            ),
            (
                lambda s: s.key_by(abs).process(Timing()),
                "process() on a keyed stream at <here> takes a KeyedProcessFunction, not Timing",
            ),
            (
                lambda s: s.process(Timing),
                "process() on a stream that is not keyed at <here> takes a ProcessFunction, not the class Timing: did "
                "you mean Timing()?",
            ),
            (
                lambda s: s.process(lambda value, ctx: [value]),
                "process() on a stream that is not keyed at <here> takes a ProcessFunction, not a function: map(), "
                "filter() and flat_map() take functions",
            ),
            (
                lambda s: s.map(Remembering),
                "map() at <here>: The input must be a MapFunction or a callable function, not the class Remembering: "
                "did you mean Remembering()?",
            ),
            (
                lambda s: s.key_by(abs).flat_map(3),
                "flat_map() at <here>: The input must be a FlatMapFunction or a callable function, not 3",
            ),
            (
                lambda s: s.key_by(None),
                "key_by() at <here>: The input must be a KeySelector or a callable function, not None",
            ),
            (
                lambda s: s.partition_custom(1, abs),
                "partition_custom() at <here>: The input must be a Partitioner or a callable function, not 1",
            ),
            (
                lambda s: s.connect(s).map(abs),
                "map() on connected streams at <here> takes a CoMapFunction, not builtin_function_or_method",
            ),
            (
                lambda s: s.connect(s).flat_map(CoMapFunction),
                "flat_map() on connected streams at <here> takes a CoFlatMapFunction, not the class CoMapFunction",
            ),
            (
                lambda s: s.connect(s).process(Both()),
                "process() on connected streams that are not keyed at <here> takes a CoProcessFunction, not Both",
            ),
            (
                lambda s: s.connect(s).key_by(abs, abs).process(Timing()),
                "process() on keyed connected streams at <here> takes a KeyedCoProcessFunction, not Timing",
            ),
            (
                lambda s: s.sink_to(Broken),
                "sink_to() at <here> takes a Sink, not the class Broken: did you mean Broken()?",
            ),
            (lambda s: s.union([s]), "union() at <here> takes a DataStream, not list"),
            (lambda s: s.get_side_output("late"), "get_side_output() at <here> takes an OutputTag, not str"),
            (
                lambda s: s.assign_timestamps_and_watermarks(None),
                "assign_timestamps_and_watermarks() at <here> takes a WatermarkStrategy, not NoneType",
            ),
            (
                lambda s: s.map(abs, int),
                "the type at <here> must be a TypeInformation such as Types.INT(), not <class 'int'>",
            ),
            (
                lambda s: s.get_execution_environment().from_collection([1], int),
                "the type at <here> must be a TypeInformation such as Types.INT(), not <class 'int'>",
            ),
            (
                lambda s: s.get_execution_environment().from_source([1], None, "x"),
                "from_source() at <here> takes a Source, not list",
            ),
            (
                lambda s: s.get_execution_environment().add_source(abs),
                "add_source() at <here> takes a SourceFunction, not builtin_function_or_method",
            ),
        ],
    )
    def test_a_wrong_argument(self, use: Callable[[DataStream], Any], text: str) -> None:
        assert text_of(lambda: use(elements(1))) == text

    def test_project(self) -> None:
        pairs = elements((1, 2), declared=Types.TUPLE([Types.INT(), Types.INT()]))
        assert text_of(lambda: elements((1, 2)).project(0)) == (
            "project() at <here>: only streams of a declared Tuple or Row type can be projected, "
            "not PickledByteArrayTypeInfo: say it where the stream is made, with a type such as "
            "Types.TUPLE([Types.STRING(), Types.INT()])"
        )
        assert text_of(lambda: pairs.project(1, 2)) == "project() at <here>: fields [2] are not in 0..1"
        assert text_of(pairs.project).startswith("project() at <here>: ")

    def test_a_keyed_stream_can_t_be_partitioned_again(self) -> None:
        keyed = elements(1).key_by(abs)
        names = ("forward", "rebalance", "rescale", "shuffle", "broadcast", "global_")
        calls: dict[str, Callable[[], Any]] = {name: getattr(keyed, name) for name in names}
        calls["partition_custom"] = lambda: keyed.partition_custom(lambda key, count: 0, abs)
        for name, call in calls.items():
            assert text_of(call) == (
                f"{name}() at <here>: a keyed stream can't be partitioned in another way; call {name}() before key_by()"
            )

    def test_parallelism(self) -> None:
        assert failure(elements(1).map(abs).set_max_parallelism(4).set_parallelism(5)) == (
            "operator 'Map' at <here>: parallelism 5 is above its maximum parallelism 4; "
            "raise it with set_max_parallelism() (up to 32768)"
        )
        assert text_of(lambda: elements(1).set_parallelism(2)) == (
            "operator 'Source: Collection Source' at <here> runs in one subtask only: its parallelism can't be 2"
        )
        assert text_of(lambda: elements(1).map(abs).set_parallelism(0)) == (
            "operator 'Map' at <here>: its parallelism must be at least 1, not 0"
        )

    def test_batch_mode_with_an_endless_source(self) -> None:
        env = StreamExecutionEnvironment.get_execution_environment().set_runtime_mode(RuntimeExecutionMode.BATCH)
        stream = env.from_source(Endless(1, 2), WatermarkStrategy.no_watermarks(), "clicks")
        assert failure(stream.map(abs)) == (
            "operator 'Source: clicks' at <here> never ends, but BATCH mode needs bounded sources; "
            "use STREAMING or AUTOMATIC"
        )

    def test_no_operators(self) -> None:
        env = StreamExecutionEnvironment.get_execution_environment()
        env.from_collection([1])
        assert text_of(lambda: run_locally(env)) == "No operators defined in streaming topology. Cannot execute."

    def test_timers_without_keys(self) -> None:
        assert failure(elements(1).process(Timing())) == (
            "operator 'PROCESS' (subtask 1), made at <here>, failed\n"
            "  element: 1\n"
            "  at:      <here> in process_element: ctx.timer_service().register_event_time_timer(1)\n"
            "  cause:   RuntimeError: Setting timers is only supported on a keyed stream: call key_by() before "
            "process()"
        )

    def test_keyed_state_without_keys(self) -> None:
        assert failure(elements(1).map(Remembering())) == (
            "operator 'Map' (subtask 1), made at <here>, failed in open()\n"
            "  at:      <here> in open: self.seen = runtime_context.get_state(seen)\n"
            "  cause:   RuntimeError: Keyed state 'seen' can only be used on a keyed stream, i.e. after key_by()."
        )

    def test_state_with_and_without_time_to_live(self) -> None:
        assert failure(elements(1).key_by(abs).map(Remembering(ttl=True))) == (
            "operator 'Map' (subtask 1), made at <here>, failed in open()\n"
            "  at:      <here> in open: self.seen = runtime_context.get_state(seen)\n"
            "  cause:   ValueError: state 'seen' holds entries without time to live, but is asked for with it "
            "(StateTtlConfig): the two can't go by one name"
        )

    def test_window_without_an_assigner(self) -> None:
        keyed = elements(1).key_by(abs)
        assert text_of(lambda: keyed.window(None)) == "window() at <here> takes a WindowAssigner, not NoneType"


# -- user functions that fail -------------------------------------------------------------------------------------


class Divides(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield 1 / value


class Life(MapFunction):
    def __init__(self, fails_in: str, trace: str | None = None) -> None:
        self.fails_in = fails_in
        self.trace = trace

    def open(self, runtime_context: Any) -> None:
        self.step("open")

    def map(self, value: Any) -> Any:
        self.step("map")
        return value

    def close(self) -> None:
        self.step("close")
        if self.trace is not None:
            Path(self.trace).touch()

    def step(self, name: str) -> None:
        if name == self.fails_in:
            raise OSError("no database")


class At(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> Any:
        return value["at"]


class Stubborn(WatermarkGenerator):
    def on_event(self, event: Any, event_timestamp: int, output: Any) -> None:
        raise ArithmeticError("no time")

    def on_periodic_emit(self, output: Any) -> None:
        pass


class BrokenWriter(SinkWriter[Any]):
    def __init__(self, fails_in: str) -> None:
        self.fails_in = fails_in

    def write(self, element: Any, context: Any) -> None:
        if self.fails_in == "write":
            raise OSError("disk full")

    def flush(self, end_of_input: bool) -> None:
        if self.fails_in == "flush":
            raise OSError("disk full")

    def close(self) -> None:
        pass


class Broken(Sink[Any]):
    def __init__(self, fails_in: str = "") -> None:
        self.fails_in = fails_in

    def create_writer(self, context: Any) -> Any:
        if self.fails_in == "create":
            raise OSError("no disk")
        return BrokenWriter(self.fails_in)


def half(value: int) -> Iterator[int]:
    yield value
    raise LookupError("no second half")


class TestFunctions:
    def test_map_with_a_long_element(self) -> None:
        assert failure(elements("a" * 300).map(lambda text: text.wrong)) == (
            "operator 'Map' (subtask 1), made at <here>, failed\n"
            f"  element: '{'a' * 132} ... {'a' * 66}' (302 characters)\n"
            '  at:      <here> in <lambda>: assert failure(elements("a" * 300).map(lambda text: text.wrong)) == (\n'
            "  cause:   AttributeError: 'str' object has no attribute 'wrong'"
        )

    def test_the_subtask_and_the_element_among_many(self) -> None:
        numbers = elements(*range(10)).rebalance().map(lambda x: 1 // (x - 7)).name("invert")
        text = failure(numbers)
        assert re.sub(r"  at: .*\n", "", text) == (
            "operator 'invert' (subtask 2), made at <here>, failed\n"
            "  element: 7\n"
            "  cause:   ZeroDivisionError: integer division or modulo by zero"
        )

    def test_filter(self) -> None:
        def accepts(value: Any) -> bool:
            raise KeyError(value)

        assert failure(elements("x").filter(accepts)) == (
            "operator 'Filter' (subtask 1), made at <here>, failed\n"
            "  element: 'x'\n"
            "  at:      <here> in accepts: raise KeyError(value)\n"
            "  cause:   KeyError: 'x'"
        )

    def test_flat_map_half_way(self) -> None:
        assert failure(elements(1).flat_map(half)) == (
            "operator 'FlatMap' (subtask 1), made at <here>, failed\n"
            "  element: 1\n"
            '  at:      <here> in half: raise LookupError("no second half")\n'
            "  cause:   LookupError: no second half"
        )

    def test_reduce(self) -> None:
        def add(first: Any, second: Any) -> Any:
            return first + second

        assert failure(elements("a", 1).key_by(lambda x: 0).reduce(add)) == (
            "operator 'Reduce' (subtask 1), made at <here>, failed\n"
            "  element: 1\n"
            "  at:      <here> in add: return first + second\n"
            '  cause:   TypeError: can only concatenate str (not "int") to str'
        )

    def test_sum(self) -> None:
        assert failure(elements((1, 2), (1, 3)).key_by(0).sum("price")) == (
            "operator 'Reduce' (subtask 1), made at <here>, failed\n"
            "  element: (1, 3)\n"
            "  cause:   TypeError: a tuple has no field 'price'; name its position"
        )

    def test_process(self) -> None:
        assert failure(elements(0).process(Divides())) == (
            "operator 'PROCESS' (subtask 1), made at <here>, failed\n"
            "  element: 0\n"
            "  at:      <here> in process_element: yield 1 / value\n"
            "  cause:   ZeroDivisionError: division by zero"
        )

    def test_on_timer(self) -> None:
        assert failure(elements("k", parallelism=1).key_by(lambda x: x).process(Ticking())) == (
            "operator 'KEYED PROCESS' (subtask 1), made at <here>, failed in on_timer(5) of key 'k'\n"
            '  at:      <here> in on_timer: raise ValueError("no timer today")\n'
            "  cause:   ValueError: no timer today"
        )

    @pytest.mark.parametrize("step", ["open", "close"])
    @pytest.mark.parametrize("keyed", [False, True])
    def test_open_and_close(self, step: str, keyed: bool) -> None:
        stream = elements(1).key_by(abs) if keyed else elements(1)
        assert failure(stream.map(Life(step)).name("life")) == (
            f"operator 'life' (subtask 1), made at <here>, failed in {step}()\n"
            '  at:      <here> in step: raise OSError("no database")\n'
            "  cause:   OSError: no database"
        )

    @pytest.mark.parametrize("step", ["open", "map"])
    def test_what_was_opened_is_closed_after_a_failure(self, step: str, tmp_path: Path) -> None:
        stream = elements(1, parallelism=1).map(Life("", str(tmp_path / "closed"))).map(Life(step))
        assert f"failed in {step}()" in failure(stream) or step == "map"
        assert (tmp_path / "closed").exists()

    @staticmethod
    def timed(element: Any, strategy: WatermarkStrategy) -> str:
        return failure(elements(element).assign_timestamps_and_watermarks(strategy))

    def test_timestamp_assigner(self) -> None:
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(At())
        first = "operator 'Timestamps/Watermarks' (subtask 1), made at <here>, failed to extract a timestamp\n"
        assert self.timed({"time": 1}, strategy) == (
            f"{first}  element: {{'time': 1}}\n"
            '  at:      <here> in extract_timestamp: return value["at"]\n'
            "  cause:   KeyError: 'at'"
        )
        assert self.timed({"at": "monday"}, strategy) == (
            f"{first}  element: {{'at': 'monday'}}\n  cause:   TypeError: a timestamp must be an int (ms), not 'monday'"
        )

    def test_a_generator_that_is_not_made(self) -> None:
        assert self.timed("x", WatermarkStrategy.for_generator(lambda context: Stubborn())) == (
            "operator 'Timestamps/Watermarks' (subtask 1), made at <here>, failed to start\n"
            "  cause:   TypeError: TestFunctions.test_a_generator_that_is_not_made.<locals>.<lambda>() missing 1 "
            "required positional argument: 'context'"
        )

    def test_watermark_generator(self) -> None:
        assert self.timed("x", WatermarkStrategy.for_generator(Stubborn)) == (
            "operator 'Timestamps/Watermarks' (subtask 1), made at <here>, failed to make a watermark\n"
            "  element: 'x'\n"
            '  at:      <here> in on_event: raise ArithmeticError("no time")\n'
            "  cause:   ArithmeticError: no time"
        )

    @pytest.mark.parametrize(
        ("step", "text"),
        [
            ("create", 'to create the sink writer\n  at:      <here> in create_writer: raise OSError("no disk")\n'),
            ("write", 'to write\n  element: 1\n  at:      <here> in write: raise OSError("disk full")\n'),
            ("flush", 'to flush\n  at:      <here> in flush: raise OSError("disk full")\n'),
        ],
    )
    def test_sink_writer(self, step: str, text: str) -> None:
        numbers = elements(1)
        numbers.sink_to(Broken(step)).name("table")
        cause = "no disk" if step == "create" else "disk full"
        assert text_of(lambda: run_locally(numbers.get_execution_environment())) == (
            f"operator 'Sink: table' (subtask 1), made at <here>, failed {text}  cause:   OSError: {cause}"
        )
