"""Whole numbers among the options of tables and of pipelines: which of them are Flink's ``Long``."""

from __future__ import annotations

from millrace.common.config_values import to_int, to_long

LONGS = frozenset(
    (
        "scan.startup.timestamp-millis",
        "scan.bounded.timestamp-millis",
        "scan.startup.specific-offset.pos",
        "scan.startup.specific-offset.skip-events",
        "scan.startup.specific-offset.skip-rows",
        "scan.partition.lower-bound",
        "scan.partition.upper-bound",
        "scan.range.start",
        "scan.range.stop",
        "lookup.partial-cache.max-rows",
        "lookup.cache.max-rows",
        "sink.flush-buffer.size",
        "sink.flush-buffer.timeout",
        "sink.maxlen",
        "number-of-rows",
        "rows-per-second",
        "seed",
    )
)
"""the options of 64 bits; every other whole number has 32"""


def whole_number(name: str, text: str) -> int:
    """The value of an option, within the range of its type.

    :raises ValueError: it is no whole number, or out of range.
    """
    return to_long(text) if name in LONGS else to_int(text)
