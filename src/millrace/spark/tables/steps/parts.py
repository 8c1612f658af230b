"""``Part``: what the nodes of a plan hand to each other, rows in columns c0, c1, ..., as a query in Spark's SQL or a
frame.

Each call into the JVM costs about as much as Spark takes to read a whole expression. So nodes build one SQL text, and
Spark is called only for what has no text: a source, a function in Python, the end of the plan. Functions in Python that
follow each other run in the same process (``FromPython``): sending rows through the JVM in between costs several times
as much as most functions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as s

from millrace.spark.tables.steps.spark_types import numbered_schema


def frame_of_sql(session: SparkSession, text: str) -> DataFrame:
    """A query as a frame: ``session.sql`` without arguments.

    :raises AnalysisException: Spark does not understand it.
    """
    java: Any = session._jsparkSession
    return DataFrame(java.sql(text), session)


def run_sql(session: SparkSession, text: str) -> None:
    """A statement that is run at once."""
    java: Any = session._jsparkSession
    java.sql(text)


def register_view(frame: DataFrame, name: str) -> None:
    """The frame as a view of its session, which is there as long as the session."""
    frame._jdf.createOrReplaceTempView(name)


MOST_ROWS = 10_000
"""The most rows of a batch; batches that come from Spark have at most this many (``tables/settings.py``)."""
_MOST_BYTES = 16 << 20
"""The bytes after which no further batch is joined to others; a single batch may be larger."""


def gathered(batches: Iterable[pa.RecordBatch], rows: int, size: int) -> Iterator[list[pa.RecordBatch]]:
    """Batches one after the other until they have that many rows, or bytes. Those without rows are left out."""
    waiting: list[pa.RecordBatch] = []
    so_many = so_large = 0
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
            so_many, so_large = so_many + batch.num_rows, so_large + batch.nbytes
        if so_many >= rows or so_large >= size:
            yield waiting
            waiting, so_many, so_large = [], 0, 0
    if waiting:
        yield waiting


def evened(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the same rows in batches of similar size: small batches are joined, large ones cut at ``MOST_ROWS``. So a
    function behind one that multiplies rows gets no larger batches than from Spark, and one that is called for each
    batch is not called for each row."""
    for each in gathered(batches, MOST_ROWS // 2, _MOST_BYTES):
        whole = each[0] if len(each) == 1 else pa.concat_batches(each)
        pieces = -(-whole.num_rows // MOST_ROWS)
        step = -(-whole.num_rows // pieces)
        for start in range(0, whole.num_rows, step):
            yield whole.slice(start, step)


Batches = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""A picklable function that the workers run on the batches of each partition."""
Shipping = Callable[[Batches], Batches]
"""Turns a function into the one that travels to the workers."""


@dataclass(frozen=True)
class FromPython:
    """A frame, a Python function over its rows, and the columns of the function's results."""

    source: DataFrame
    function: Batches
    schema: s.StructType
    shipped: Shipping

    def frame(self) -> DataFrame:
        return self.source.mapInArrow(self.shipped(self.function), self.schema)

    def then(self, function: Batches, schema: s.StructType, shipped: Shipping) -> FromPython:
        """Apply another function to the results, in the same process."""
        return FromPython(self.source, Then(self.function, function), schema, shipped)

    def picked(self, places: Sequence[int]) -> FromPython:
        """Keep only the columns at these positions, renamed c0, c1, ..."""
        types = [self.schema.fields[place].dataType for place in places]
        return self.then(Picked(tuple(places)), numbered_schema(types), self.shipped)

    def coalesced(self, partitions: int) -> FromPython:
        """Reduce the rows to at most this many partitions."""
        return replace(self, source=self.source.coalesce(partitions))


@dataclass(frozen=True)
class Then:
    """Two functions over batches as one: the second gets the results of the first."""

    first: Batches
    second: Batches

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return self.second(evened(self.first(batches)))


@dataclass(frozen=True)
class Picked:
    """A function that keeps some columns of each batch, renamed c0, c1, ..."""

    places: tuple[int, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        names = [f"c{at}" for at in range(len(self.places))]
        for batch in batches:
            yield pa.RecordBatch.from_arrays([batch.column(place) for place in self.places], names)


NOTHING = "1 AS none"
"""The column of a SELECT for rows without columns, which SQL does not have."""
_DEEPEST = 24
"""the most nested queries that Spark's parser gets at once"""
_LONGEST = 100_000
"""the most characters that Spark's parser gets at once"""
_numbers = count()
_COLUMN = re.compile(r"c(\d+)( AS c\d+)?")


class Part:
    """The rows of a node, or of a step on the way to them."""

    def __init__(
        self, session: SparkSession, text: str | None = None, frame: DataFrame | None = None, depth: int = 0
    ) -> None:
        """:param text: a query; None: there is a frame."""
        self.session = session
        self._text = text
        self._frame = frame
        self._depth = depth
        self._view: str | None = None
        self._shared = False
        self._python: FromPython | None = None
        self._in_python: Callable[[], FromPython] | None = None

    @classmethod
    def of_python(cls, rows: FromPython) -> Part:
        part = cls(rows.source.sparkSession)
        part._python = rows
        return part

    @classmethod
    def of_frame(cls, frame: DataFrame) -> Part:
        return cls(frame.sparkSession, frame=frame)

    @classmethod
    def of_view(cls, session: SparkSession, statement: Callable[[str], str]) -> Part:
        """The rows of a view.

        :param statement: the name of the view -> the text that makes it.
        """
        name = f"millrace_{next(_numbers)}"
        run_sql(session, statement(name))
        part = cls(session, f"SELECT * FROM {name}")
        part._view = name
        return part

    @property
    def frame(self) -> DataFrame:
        """The rows as a frame. Rows without columns have one in it that means nothing."""
        if self._frame is None:
            if self._text is not None:
                self._frame = frame_of_sql(self.session, self._text)
            else:
                assert self._python is not None
                self._frame = self._python.frame()
        return self._frame

    @property
    def types(self) -> list[s.DataType]:
        """Spark's types of the columns."""
        schema = self.frame.schema if self.python is None else self.python.schema
        return [field.dataType for field in schema.fields]

    @property
    def python(self) -> FromPython | None:
        """The Python function that makes the rows; None if there is none, if a later step has changed its rows, or if
        several parts of the plan read them."""
        if not self._may_be_python:
            return None
        if self._python is None and self._in_python is not None:
            self._python = self._in_python()
        return self._python

    @property
    def relation(self) -> str:
        """What names the rows in a FROM clause."""
        if self._view is None and (self._text is None or self._depth > _DEEPEST or len(self._text) > _LONGEST):
            self._make_view()
        return self._view or f"({self._text})"

    @property
    def depth(self) -> int:
        """How many queries within each other the relation is."""
        return 0 if self._view is not None else self._depth

    def keep_as_view(self) -> None:
        """Let Spark read the query once, where several others read from it."""
        self._shared = True
        self._make_view()

    def _make_view(self) -> None:
        if self._view is None:
            self._view = f"millrace_{next(_numbers)}"
            register_view(self.frame, self._view)

    def select(self, columns: Iterable[str], clause: str = "") -> Part:
        """``SELECT columns FROM these rows clause``."""
        columns = list(columns)
        places = None if clause else _picks(columns)
        if places and self._text is None and self.python is not None:
            return Part.of_python(self.python.picked(places))
        made = query(f"SELECT {', '.join(columns) or NOTHING} FROM {self.relation}{clause and ' ' + clause}", self)
        return made.or_in_python(lambda rows: rows.picked(places), self) if places else made

    def or_in_python(self, way: Callable[[FromPython], FromPython], source: Part) -> Part:
        """These rows, which Spark computes from ``source``, and Python can as well: where that comes from a Python
        function and a Python function reads this, they stay in the process, and Spark gets no row of either.

        :param way: what Python does; it must give the same rows.
        """
        if source._may_be_python:
            self._in_python = lambda: way(source.known_python)
        return self

    @property
    def _may_be_python(self) -> bool:
        return not self._shared and (self._python is not None or self._in_python is not None)

    @property
    def known_python(self) -> FromPython:
        """``python``, of which there must be one."""
        found = self.python
        assert found is not None, "only parts that several others read become views, and that before they are read"
        return found

    def where(self, conditions: Iterable[str]) -> Part:
        """The rows for which all conditions are TRUE."""
        return self.select("*", f"WHERE {' AND '.join(conditions)}")

    def coalesced(self, partitions: int) -> Part:
        """Reduce the rows to at most this many partitions."""
        if self.python is not None:
            return Part.of_python(self.python.coalesced(partitions))
        return Part.of_frame(self.frame.coalesce(partitions))

    def in_python(self, function: Batches, schema: s.StructType, shipped: Shipping) -> Part:
        """The rows that a function makes of these, partition by partition."""
        python = self.python
        if python is None:
            return Part.of_python(FromPython(self.frame, function, schema, shipped))
        return Part.of_python(python.then(function, schema, shipped))

    def plus(self, columns: Mapping[str, str]) -> Part:
        """All columns and more: name -> text."""
        return self.select(["*", *(f"{text} AS {name}" for name, text in columns.items())])


def query(text: str, *parts: Part) -> Part:
    """A query over the relations of these parts, of which there is one at least."""
    return Part(parts[0].session, text, depth=1 + max(part.depth for part in parts))


def _picks(columns: Sequence[str]) -> list[int] | None:
    """The positions of the columns that these texts name; None if a text does anything else than name a column."""
    found = [_COLUMN.fullmatch(text) for text in columns]
    places = [int(each[1]) for each in found if each]
    return places if numbered(f"c{place}" for place in places) == columns else None


def numbered(texts: Iterable[str], start: int = 0) -> list[str]:
    """Give expressions the names c0, c1, ..., or from another number on."""
    return [text if text == f"c{at}" else f"{text} AS c{at}" for at, text in enumerate(texts, start)]
