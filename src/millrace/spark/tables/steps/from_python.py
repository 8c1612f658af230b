"""Rows that Python makes of a frame's. What comes next in Python is put behind it, in the same process: to go through
the JVM in between costs rows several times as much as most functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as s

from millrace.spark.tables.steps.batches import evened
from millrace.spark.tables.texts.types import numbered_schema

Batches = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""a function that pickles, run by the workers on each partition"""
Shipping = Callable[[Batches], Batches]
"""makes of it what travels to them"""


@dataclass(frozen=True)
class FromPython:
    """A function over the rows of a frame, and the columns of what it makes."""

    source: DataFrame
    function: Batches
    schema: s.StructType
    shipped: Shipping

    def frame(self) -> DataFrame:
        return self.source.mapInArrow(self.shipped(self.function), self.schema)

    def then(self, function: Batches, schema: s.StructType, shipped: Shipping) -> FromPython:
        """The rows that another function makes of these ones."""
        return FromPython(self.source, Then(self.function, function), schema, shipped)

    def picked(self, places: Sequence[int]) -> FromPython:
        """Some of the columns, as c0, c1, ..."""
        types = [self.schema.fields[place].dataType for place in places]
        return self.then(Picked(tuple(places)), numbered_schema(types), self.shipped)

    def coalesced(self, partitions: int) -> FromPython:
        """In that many partitions at most."""
        return replace(self, source=self.source.coalesce(partitions))


@dataclass(frozen=True)
class Then:
    """One function of batches behind the other."""

    first: Batches
    second: Batches

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return self.second(evened(self.first(batches)))


@dataclass(frozen=True)
class Picked:
    """Some columns of each batch, as c0, c1, ..."""

    places: tuple[int, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        names = [f"c{at}" for at in range(len(self.places))]
        for batch in batches:
            yield pa.RecordBatch.from_arrays([batch.column(place) for place in self.places], names)
