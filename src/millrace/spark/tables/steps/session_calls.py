"""Calls of Spark's session that PySpark makes in several: texts of queries, views."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession


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
