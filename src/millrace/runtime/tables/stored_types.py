"""Which types hold all values of others, so that what was stored of these can go on."""

from __future__ import annotations

import re

_WHOLE = ("TINYINT", "SMALLINT", "INT", "BIGINT", "int8", "int16", "int32", "int64")
_SIZED = re.compile(r"^(DECIMAL|VARCHAR|decimal)\d*\((\d+)(?:, ?(\d+))?\)$")


class NotKeptError(Exception):
    """The state can't go on; the text says why, as the end of "its query ..."."""


def widens(before: str, now: str) -> bool:
    """Whether a type has all values of another one, and each is the same."""
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
