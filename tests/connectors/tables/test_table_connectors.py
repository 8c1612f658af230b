"""datagen, print, blackhole and values."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from millrace.common.source import Boundedness
from millrace.common.types import Row, RowKind
from millrace.connectors.tables.datagen_table import Batches, DatagenFactory, generator
from millrace.connectors.tables.print_table import BlackholeFactory, PrintFactory, _Writer
from millrace.connectors.tables.values_table import ValuesFactory, clear_values, register_values, results_of
from millrace.relational.nodes import Field
from millrace.relational.rows import Rows, record_batch
from millrace.relational.sources import ALL_KINDS, UPSERT, TableContext
from millrace.relational.type_table import arrow_type
from millrace.table import DataTypes as D

COLUMNS = (Field("a", D.INT()), Field("b", D.STRING()))


def context(options: dict[str, str] | None = None, columns: Any = COLUMNS, streaming: bool = True) -> TableContext:
    return TableContext(("c", "d", "t"), columns, options=options or {}, streaming=streaming)


KINDS = [
    D.BOOLEAN(), D.TINYINT(), D.SMALLINT(), D.INT(), D.BIGINT(), D.FLOAT(), D.DOUBLE(), D.DECIMAL(5, 2), D.CHAR(4),
    D.VARCHAR(7), D.STRING(), D.BINARY(4), D.BYTES(), D.DATE(), D.TIME(0), D.TIMESTAMP(3), D.TIMESTAMP_LTZ(3),
    D.INTERVAL(D.SECOND()), D.INTERVAL(D.MONTH()), D.ARRAY(D.INT()), D.MAP(D.STRING(False), D.INT()),
    D.MULTISET(D.STRING()), D.ROW([D.FIELD("x", D.INT()), D.FIELD("y", D.ARRAY(D.STRING()))]),
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, ids=map(str, KINDS))
def test_random_values_of_every_type(kind: Any) -> None:
    made = generator(kind, {}, "here").column(0, 50, (1, 2, 3))
    assert made.type.equals(arrow_type(kind)) or pa.types.is_nested(made.type)
    assert len(made) == 50
    assert made.null_count == 0
    made.validate(full=True)


def test_options_of_random_values() -> None:
    numbers = generator(D.INT(), {"min": "3", "max": "5"}, "here").column(0, 300, (1,)).to_pylist()
    assert set(numbers) == {3, 4, 5}
    texts = generator(D.STRING(), {"length": "4", "var-len": "true"}, "here").column(0, 300, (1,)).to_pylist()
    assert {len(text) for text in texts} == {1, 2, 3, 4}
    some = generator(D.INT(), {"null-rate": "0.5"}, "here").column(0, 300, (1,))
    assert 50 < some.null_count < 250
    doubles = np.array(generator(D.DOUBLE(), {"min": "-1", "max": "1"}, "here").column(0, 300, (1,)).to_pylist())
    assert doubles.min() >= -1 and doubles.max() <= 1
    inner = generator(D.ARRAY(D.INT()), {"length": "2", "element.min": "7", "element.max": "7"}, "here")
    assert inner.column(0, 2, (1,)).to_pylist() == [[7, 7], [7, 7]]


WRONG = [
    ({"kind": "sequence", "start": "1"}, "a sequence has 'start' and 'end'"),
    ({"kind": "serial"}, "kind is 'random' or 'sequence'"),
    ({"minimum": "1"}, "no option 'minimum'"),
    ({"min": "5", "max": "3"}, "here: "),
]


@pytest.mark.parametrize(("options", "message"), WRONG)
def test_wrong_options(options: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        generator(D.INT(), options, "here")


def test_datagen_makes_each_row_once_and_again_the_same() -> None:
    options = {"number-of-rows": "25", "seed": "7", "fields.a.kind": "sequence", "fields.a.start": "1",
               "fields.a.end": "100", "fields.b.length": "3"}  # fmt: skip
    source = DatagenFactory().source(context(options))
    assert source.bounded
    assert source.stream([0]).get_boundedness() is Boundedness.BOUNDED
    batches = Batches(tuple(enumerate(source._generators)), 10, 25, 7)  # type: ignore[attr-defined]
    made = [batches.map(index) for index in range(3)]
    assert [len(each) for each in made] == [10, 10, 5]
    assert [value for each in made for value in each.columns[0].to_pylist()] == list(range(1, 26))
    assert batches.map(1).columns[1].equals(made[1].columns[1])
    only_b = Batches(((1, source._generators[1]),), 10, 25, 7).map(1)  # type: ignore[attr-defined]
    assert only_b.columns[0].equals(made[1].columns[1])


def test_datagen_without_an_end() -> None:
    source = DatagenFactory().source(context())
    assert not source.bounded
    assert source.stream([0, 1]).get_boundedness() is Boundedness.CONTINUOUS_UNBOUNDED
    with pytest.raises(ValueError, match="names no column"):
        DatagenFactory().source(context({"fields.x.min": "1"}))


def batch() -> Rows:
    columns = [pa.array([1, None], pa.int32()), pa.array(["x", "y"])]
    return Rows(record_batch(columns, 2), np.array([RowKind.INSERT.value, RowKind.DELETE.value], np.uint8))


def test_print(capsys: pytest.CaptureFixture[str]) -> None:
    sink = PrintFactory().sink(context({"print-identifier": "me"}))
    assert sink.kinds == ALL_KINDS
    writer = _Writer(COLUMNS, "me:2> ")
    writer.write(batch(), None)  # type: ignore[arg-type]
    committer = sink.stream().create_committer()
    assert committer is not None
    committer.commit(writer.prepare_commit())
    assert capsys.readouterr().out == "me:2> +I[1, x]\nme:2> -D[null, y]\n"
    assert writer.prepare_commit() == []


@pytest.mark.parametrize(
    ("identifier", "subtasks", "prefix"),
    [("", 1, ""), ("", 3, "2> "), ("out", 1, "out> "), ("out", 3, "out:2> ")],
)
def test_print_names_sink_and_subtask(identifier: str, subtasks: int, prefix: str) -> None:
    where: Any = SimpleNamespace(
        get_number_of_parallel_subtasks=lambda: subtasks, get_index_of_subtask=lambda: 1 if subtasks > 1 else 0
    )
    writer = PrintFactory().sink(context({"print-identifier": identifier})).stream().create_writer(where)
    writer.write(batch(), None)  # type: ignore[arg-type]
    assert writer.prepare_commit() == [[f"{prefix}+I[1, x]", f"{prefix}-D[null, y]"]]


def test_blackhole() -> None:
    writer = BlackholeFactory().sink(context()).stream().create_writer(None)  # type: ignore[arg-type]
    writer.write(batch(), None)  # type: ignore[arg-type]
    assert writer.prepare_commit() == []


def test_values() -> None:
    register_values("some", [(1, "x"), Row.of_kind(RowKind.DELETE, 2, "y")])
    try:
        source = ValuesFactory().source(context({"data-id": "some", "changelog-mode": "I,UA,D"}))
        assert source.kinds == UPSERT
        [part] = source._parts  # type: ignore[attr-defined]
        assert part.columns[1].to_pylist() == ["x", "y"]
        assert part.kind_values().tolist() == [0, 3]
        stream = ValuesFactory().sink(context()).stream()
        writer = stream.create_writer(None)  # type: ignore[arg-type]
        writer.write(batch(), None)  # type: ignore[arg-type]
        committer = stream.create_committer()
        assert committer is not None
        committer.commit(writer.prepare_commit())
        assert [list(row) for row in results_of("c.d.t")] == [[1, "x"], [None, "y"]]
    finally:
        clear_values()
    with pytest.raises(ValueError, match="there are no values 'gone'"):
        ValuesFactory().source(context({"data-id": "gone"}))
