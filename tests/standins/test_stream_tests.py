"""What PyFlink's tests of streams share: a sink whose elements a test gets back, as they are or as Java's texts."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from millrace.common import Row, Types
from millrace.datastream import StreamExecutionEnvironment
from millrace.standins.stream_tests.test_util import _Keeper, _Part
from millrace.testing import run_locally


def sink() -> Any:
    return import_module("pyflink.datastream.tests.test_util").DataStreamTestSinkFunction()


def filled(elements: list[Any], type_info: Any = None) -> Any:
    made = sink()
    env = StreamExecutionEnvironment()
    env.set_parallelism(2)
    env.from_collection(elements, type_info).add_sink(made)
    run_locally(env)
    return made


def test_texts_are_those_of_java() -> None:
    rows = filled([Row(1, None, True), Row(2, "b", False)], Types.ROW([Types.INT(), Types.STRING(), Types.BOOLEAN()]))
    assert sorted(rows.get_results()) == ["+I[1, null, true]", "+I[2, b, false]"]
    assert rows.get_results() == []
    tuples = filled([(1, "a"), (2, "b")], Types.TUPLE([Types.INT(), Types.STRING()]))
    assert sorted(tuples.get_results()) == ["(1,a)", "(2,b)"]


def test_values_are_those_of_python() -> None:
    assert sorted(filled([(1, "a"), (2, "b")]).get_results(True)) == ["(1, 'a')", "(2, 'b')"]
    assert sorted(filled([(1, "a"), (2, "b")]).get_results(True, stringify=False)) == [(1, "a"), (2, "b")]
    made = filled([1])
    made.clear()
    assert made.get_results() == []


def test_a_repeated_commit_adds_nothing() -> None:
    made = sink()
    part = _Part(made._key, "job", 1, 0, [("1", 1)])
    _Keeper().commit([part])
    _Keeper().commit([part, _Part(made._key, "job", 2, 0, [("2", 2)])])
    assert made.get_results() == ["1", "2"]


def test_the_workers_names_that_programs_use() -> None:
    map_view = import_module("pyflink.table.data_view").MapView()
    map_view.put("a", 1)
    iterator = iter(map_view.items())
    assert isinstance(iterator, import_module("pyflink.fn_execution.state_impl").RemovableConcatIterator)
    assert import_module("pyflink.pyflink_gateway_server").on_windows() is False
