"""Tables of DataFrames, and DataFrames of tables, in batch mode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema

from millrace.relational.nodes import Field, Rel, Scan
from millrace.relational.rex import Rex
from millrace.relational.sources import TableSource
from millrace.spark.sessions.families import session_of_program
from millrace.spark.tables.adopting import adopted
from millrace.spark.tables.execute import frame_of
from millrace.spark.tables.steps.context import Context
from millrace.spark.tables.texts.types import quoted
from millrace.table.values.arrow_types import from_arrow_type


class FrameSource(TableSource):
    """A DataFrame of the program."""

    def __init__(self, frame: DataFrame) -> None:
        self._frame = frame

    def frame(self, session: Any, columns: Sequence[int], filters: Sequence[Rex] = ()) -> DataFrame:
        names = self._frame.columns
        chosen = [F.col(quoted(names[index])).alias(f"c{place}") for place, index in enumerate(columns)]
        return adopted(self._frame.select(*chosen), session)

    def stream(self, columns: Sequence[int], filters: Sequence[Rex] = ()) -> Any:
        raise NotImplementedError(
            "a table of from_spark() is read in batch mode only: write the DataFrame into files and read them with "
            "connector 'filesystem', or name its data source with connector 'spark'"
        )


def scan_of_frame(frame: DataFrame) -> Scan:
    """The rows of a frame, with its names and types.

    :raises TypeError: it is none, or has a type that tables do not have.
    """
    if not isinstance(frame, DataFrame):
        raise TypeError(f"from_spark takes a pyspark.sql.DataFrame, not {type(frame).__name__}")
    if frame.isStreaming:
        raise TypeError("from_spark takes a DataFrame that is read once, not a streaming one")
    twice = sorted({name for name in frame.columns if frame.columns.count(name) > 1})
    if twice:
        raise TypeError(f"the columns of a table have different names; several are {', '.join(twice)}")
    arrow = to_arrow_schema(frame.schema, timezone="UTC")
    columns = tuple(Field(field.name, from_arrow_type(field.type).with_nullable(field.nullable)) for field in arrow)
    return Scan(("default_catalog", "default_database", "*anonymous_spark*"), columns, FrameSource(frame))


def frame_of_table(plan: Rel, context: Context) -> DataFrame:
    """The rows of a plan as a frame of the program's session, with the names of the columns."""
    frame = frame_of(plan, context)
    named = frame.select(*(F.col(f"c{place}").alias(name) for place, name in enumerate(plan.names)))
    return adopted(named, session_of_program(context.session))
