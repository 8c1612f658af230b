"""The Spark session that a plan runs in: a child of the user's, with what Flink's semantics need."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from pyspark.sql import SparkSession

from millrace.relational.zones import standard_name
from millrace.spark.sessions.families import new_session
from millrace.spark.tables.steps.settings_calls import all_of, is_modifiable, set_all

DEFAULTS = {
    # A session that was made for streams has other ones: it moves a few large rows.
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
    "spark.sql.autoBroadcastJoinThreshold": "10485760",
}
"""What the program's configuration may set otherwise."""
SETTINGS = {
    # Arithmetic wraps around and casts are checked by Flink's own rules, which function descriptions follow.
    "spark.sql.ansi.enabled": "false",
    "spark.sql.caseSensitive": "true",
    # TIMESTAMP without more words has no zone in Flink's SQL.
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.timeType.enabled": "true",
    # A text with ${...} is a text.
    "spark.sql.variable.substitute": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    "spark.sql.legacy.sizeOfNull": "false",
    # Dates before 1582 in files are proleptic ones, here and in Arrow.
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    "spark.sql.crossJoin.enabled": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}
"""What results depend on."""


def child_session(parent: SparkSession, zone: str = "UTC", options: Mapping[str, str] | None = None) -> SparkSession:
    """A session on the same Spark with the user's settings, ``options``, and what results depend on.

    :param zone: the time zone of TIMESTAMP_LTZ values when they become text or lose their zone.
    """
    session = new_session(parent)
    # Spark's 200 partitions are for clusters; adaptive execution can only put small ones together.
    partitions = {"spark.sql.shuffle.partitions": str(max(session.sparkContext.defaultParallelism, 1))}
    told = dict(options or {})
    for key, value in told.items():
        session.conf.set(key, value)  # which refuses what can only be set when Spark starts
    ours = {**SETTINGS, "spark.sql.session.timeZone": standard_name(zone)}
    set_all(session, {**partitions, **_own_settings(parent), **DEFAULTS, **told, **ours})
    return session


def _own_settings(session: SparkSession) -> dict[str, str]:
    """What the user has set for queries, of what can be set in a session."""
    found = all_of(session)
    return {key: value for key, value in found.items() if is_modifiable(session, key)}


@contextlib.contextmanager
def active(session: SparkSession) -> Iterator[None]:
    """Spark parses expressions with the settings of the thread's active session: make that this one."""
    jvm: Any = session._jvm
    before = jvm.SparkSession.getActiveSession()
    jvm.SparkSession.setActiveSession(session._jsparkSession)
    try:
        yield
    finally:
        if before.isDefined():
            jvm.SparkSession.setActiveSession(before.get())
        else:
            jvm.SparkSession.clearActiveSession()
