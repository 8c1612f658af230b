"""The Spark session that a plan runs in: a child of the user's, with what Flink's semantics need.

Its settings are read and written all at once: PySpark asks the JVM for each one. ``fetched`` brings the rows of a frame
to the driver as an Arrow table, also where Spark does not take so many at once.
"""

from __future__ import annotations

import contextlib
import string
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from millrace.relational.time_zones import standard_name
from millrace.spark.sessions.java_names import java_class
from millrace.spark.sessions.session import new_session

_SEPARATOR = "\x1f"
_PLAIN = frozenset(string.ascii_letters + string.digits + ".")
_modifiable: dict[str, bool] = {}


def all_of(session: SparkSession) -> dict[str, str]:
    """What is set in a session: key -> value."""
    found: Any = session._jsparkSession.sessionState().conf().getAllConfs()
    pairs = str(found.mkString(_SEPARATOR)).split(_SEPARATOR) if found.size() else []
    return dict(_pair(each) for each in pairs)


def _pair(text: str) -> tuple[str, str]:
    """As Scala writes an entry of a map: no key has an arrow."""
    key, arrow, value = text.partition(" -> ")
    if not arrow:
        raise ValueError("Spark writes its settings in another way than this version of Millrace knows")
    return key, value


def is_modifiable(session: SparkSession, key: str) -> bool:
    """Whether a session may set a key: the same for each session of a Spark."""
    known = _modifiable.get(key)
    if known is None:
        known = _modifiable[key] = session.conf.isModifiable(key)
    return known


def set_all(session: SparkSession, settings: Mapping[str, str]) -> None:
    """Set them in a session.

    :param settings: such as a session may set.
    """
    jvm: Any = session._jvm
    properties = java_class(jvm, "java.util.Properties")()
    text = "\n".join(f"{_escaped(key)}={_escaped(value)}" for key, value in settings.items())
    properties.load(java_class(jvm, "java.io.StringReader")(text))
    session._jsparkSession.sessionState().conf().setConf(properties)


def _escaped(text: str) -> str:
    """As a file of properties has it: UTF-16, of which only letters, digits and dots stand for themselves."""
    units = text.encode("utf-16-be")
    codes = (int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2))
    return "".join(chr(code) if chr(code) in _PLAIN else f"\\u{code:04x}" for code in codes)


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


TOO_MANY = "spark.driver.maxResultSize"
"""In the text of Spark's error."""
_PACKED = pa.schema([("payload", pa.binary())])


def fetched(frame: DataFrame) -> pa.Table:
    """All rows, in their order."""
    try:
        return frame.toArrow()
    except Exception as error:
        if TOO_MANY not in str(error):
            raise
    # The limit is of one action: here it is one for each partition. What was shuffled is not computed again.
    rows = frame.mapInArrow(_pack, "payload binary").toLocalIterator()
    found = pa.Table.from_batches([batch for row in rows for batch in _unpack(bytes(row.payload))])
    return found.cast(frame.limit(0).toArrow().schema)  # tasks have the session's name for UTC


def _pack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        yield pa.RecordBatch.from_arrays([pa.array([sink.getvalue().to_pybytes()], pa.binary())], schema=_PACKED)


def _unpack(payload: bytes) -> list[pa.RecordBatch]:
    with pa.ipc.open_stream(payload) as reader:
        return list(reader)
