"""The options ``scan.watermark.*``, of connectors that make watermarks in their source."""

from __future__ import annotations

from millrace.common.config_values import to_duration
from millrace.common.watermark_strategy import WatermarkAlignment
from millrace.relational.sources import SourceWatermarks, TableContext
from millrace.util.exceptions import TableException

_PREFIX = "scan.watermark."
_IDLE, _STRATEGY, _GAP = f"{_PREFIX}idle-timeout", f"{_PREFIX}emit.strategy", f"{_PREFIX}emit.on-event.gap"
_GROUP, _DRIFT, _INTERVAL = (f"{_PREFIX}alignment.{name}" for name in ("group", "max-drift", "update-interval"))
WATERMARK_OPTIONS = (_IDLE, _STRATEGY, _GAP, _GROUP, _DRIFT, _INTERVAL)
_STRATEGIES = ("on-periodic", "on-event")
_UPDATE_MS = 1_000


def source_watermarks(table: TableContext) -> SourceWatermarks:
    """What a table says of its watermark.

    Both strategies of emission give a watermark behind every fetch.

    :raises TableException: an option's value is none.
    """
    given = table.options
    if given.get(_STRATEGY, _STRATEGIES[0]) not in _STRATEGIES:
        raise TableException(f"table {table.summary}: '{_STRATEGY}' is {' or '.join(_STRATEGIES)}")
    group, drift = given.get(_GROUP), _millis(table, _DRIFT)
    if (group is None) != (drift is None):
        raise TableException(f"table {table.summary}: '{_GROUP}' and '{_DRIFT}' are set both, or none of them")
    alignment = None
    if group is not None and drift is not None:
        alignment = WatermarkAlignment(group, drift, _millis(table, _INTERVAL) or _UPDATE_MS)
    return SourceWatermarks(_millis(table, _IDLE), alignment)


def _millis(table: TableContext, name: str) -> int | None:
    text = table.options.get(name)
    if text is None:
        return None
    try:
        return to_duration(text).to_millis()
    except ValueError as error:
        raise TableException(f"table {table.summary}: '{name}': {error}") from None
