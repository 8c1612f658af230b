"""Values in the one form that answers are kept in, whatever engine gave them. Imports neither Flink nor Millrace."""

from __future__ import annotations

import datetime as dt
import json
import re
from decimal import Decimal
from typing import Any


def plain_python(value: Any) -> Any:
    """A Python value as JSON: decimals, bytes and times as text, intervals in milliseconds, maps as sorted pairs."""
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, (bytes, bytearray)):
        return value.hex()
    if isinstance(value, dt.timedelta):
        return value // dt.timedelta(milliseconds=1)
    if isinstance(value, (dt.datetime, dt.date, dt.time)):
        return plain_time(value.isoformat())
    if isinstance(value, dict):
        return sorted(([plain_python(key), plain_python(each)] for key, each in value.items()), key=json.dumps)
    if isinstance(value, (list, tuple)) or hasattr(value, "get_row_kind"):
        return [plain_python(each) for each in value]
    return value


def plain_time(text: str) -> str:
    """An ISO text with seconds, without zeros at the end of their fraction, and Z for UTC."""
    text = text.replace("+00:00", "Z").removeprefix("+")
    text = re.sub(r"(^|T)(\d\d:\d\d)(?=Z?$)", r"\1\2:00", text)
    return re.sub(r"(:\d\d\.\d*?)0*(?=Z?$)", r"\1", text).replace(".Z", "Z").rstrip(".")
