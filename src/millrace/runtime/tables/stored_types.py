"""Which types contain all values of other types, so that stored values can be reused."""

from __future__ import annotations

import re

_WHOLE = ("TINYINT", "SMALLINT", "INT", "BIGINT", "int8", "int16", "int32", "int64")
_SIZED = re.compile(r"^(DECIMAL|VARCHAR|decimal)\d*\((\d+)(?:, ?(\d+))?\)$")


class NotKeptError(Exception):
    """Stored state can't be reused; the text gives the reason, as the end of "its query ..."."""


def widens(before: str, now: str) -> bool:
    """Whether a type contains all values of another one, unchanged."""
    if before == now:
        return True
    if before in _WHOLE and now in _WHOLE:
        return _WHOLE.index(before) < _WHOLE.index(now)
    old, new = _SIZED.match(before), _SIZED.match(now)
    if old is not None and old[1] == "VARCHAR" and now == "STRING":
        return True
    if old is None or new is None or old[1] != new[1]:
        return False
    return int(old[2]) <= int(new[2]) and old[3] == new[3]
