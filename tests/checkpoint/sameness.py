"""Whether two values are exactly the same: equal, and of the same types all the way down."""

from __future__ import annotations

import dataclasses
import decimal
import math
import struct
from typing import Any

import numpy as np

from millrace.common.types import Row


def same(left: Any, right: Any) -> bool:
    if type(left) is not type(right):
        return False
    if isinstance(left, (float, np.floating)):
        return struct.pack("d", left) == struct.pack("d", right) or (math.isnan(left) and math.isnan(right))
    if isinstance(left, decimal.Decimal):
        return left.as_tuple() == right.as_tuple()
    if isinstance(left, complex):
        return same((left.real, left.imag), (right.real, right.imag))
    if isinstance(left, Row):
        return left._fields == right._fields and left._row_kind is right._row_kind and same(left._values, right._values)
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict):
        return same(list(left.items()), list(right.items()))
    if dataclasses.is_dataclass(left):
        fields = [field.name for field in dataclasses.fields(left)]
        return all(same(getattr(left, name), getattr(right, name)) for name in fields)
    if hasattr(left, "content"):
        return same(left.content, right.content)
    return bool(left == right) and getattr(left, "fold", 0) == getattr(right, "fold", 0)
