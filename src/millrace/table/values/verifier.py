"""Whether a Python value is one of a type: PyFlink's private ``_create_type_verifier``."""

from __future__ import annotations

import array
import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from millrace.common.types import Row
from millrace.relational import types as t
from millrace.relational.types import DataType

Verifier = Callable[[Any], None]

_ACCEPTED: dict[type[DataType], tuple[type, ...]] = {
    t.BooleanType: (bool,),
    t.TinyIntType: (int,),
    t.SmallIntType: (int,),
    t.IntType: (int,),
    t.BigIntType: (int,),
    t.FloatType: (float,),
    t.DoubleType: (float,),
    t.DecimalType: (Decimal,),
    t.CharType: (str,),
    t.VarCharType: (str,),
    t.BinaryType: (bytearray, bytes),
    t.VarBinaryType: (bytearray, bytes),
    t.DateType: (datetime.date, datetime.datetime),
    t.TimeType: (datetime.time,),
    t.TimestampType: (datetime.datetime,),
    t.DayTimeIntervalType: (datetime.timedelta,),
    t.LocalZonedTimestampType: (datetime.datetime,),
    t.ZonedTimestampType: (datetime.datetime,),
    t.ArrayType: (list, tuple, array.array),
    t.MapType: (dict,),
    t.RowType: (tuple, list, dict),
}
_BITS: dict[type[DataType], int] = {t.TinyIntType: 8, t.SmallIntType: 16, t.IntType: 32}


def type_verifier(kind: DataType, name: str | None = None) -> Verifier:
    """A function that raises for values that do not fit; unlike casts, nothing is converted.

    :param name: of what is verified, for the errors.

    The function raises ``TypeError`` for a value of another kind, ``ValueError`` for one out of range, too long, or
    None where the type has no NULL.
    """
    if type(kind) not in _ACCEPTED and not isinstance(kind, t.UserDefinedType):
        raise AssertionError(f"unknown datatype: {kind}")
    where = "" if name is None else f"{name}: "
    inner = _inner(kind, name, where)

    def verify(value: Any) -> None:
        if value is not None:
            inner(value)
        elif not kind.is_nullable:
            raise ValueError(f"{where}This field is not nullable, but got None")

    return verify


def _inner(kind: DataType, name: str | None, where: str) -> Verifier:
    if isinstance(kind, t.RowType):
        return _row(kind, name, where)
    if isinstance(kind, t.UserDefinedType):
        return _user_defined(kind, name, where)
    checks: list[Verifier] = [_class(kind, where)]
    if isinstance(kind, (t.CharType, t.BinaryType)):
        checks.append(_length(kind, where, exact=True))
    elif isinstance(kind, (t.VarCharType, t.VarBinaryType)):
        checks.append(_length(kind, where, exact=False))
    elif type(kind) in _BITS:
        checks.append(_range(kind, where))
    elif isinstance(kind, t.ArrayType):
        checks.append(_each(type_verifier(kind.element_type, f"element in array {name}")))
    elif isinstance(kind, t.MapType):
        keys = _each(type_verifier(kind.key_type, f"key of map {name}"))
        values = type_verifier(kind.value_type, f"value of map {name}")
        checks += [keys, lambda value: _each(values)(value.values())]
    return _all(checks)


def _all(checks: list[Verifier]) -> Verifier:
    def verify(value: Any) -> None:
        for check in checks:
            check(value)

    return verify


def _each(check: Verifier) -> Verifier:
    def verify(values: Any) -> None:
        for value in values:
            check(value)

    return verify


def _class(kind: DataType, where: str) -> Verifier:
    accepted = _ACCEPTED[type(kind)]

    def verify(value: Any) -> None:
        if type(value) not in accepted:
            raise TypeError(f"{where}{kind!r} can not accept object {value!r} in type {type(value)}")

    return verify


def _length(kind: Any, where: str, exact: bool) -> Verifier:
    said = "is not" if exact else "exceeds"

    def verify(value: Any) -> None:
        if len(value) > kind.length or (exact and len(value) < kind.length):
            raise ValueError(f"{where}length of object ({value}) of {type(kind).__name__} {said}: {kind.length}")

    return verify


def _range(kind: DataType, where: str) -> Verifier:
    limit = 1 << (_BITS[type(kind)] - 1)

    def verify(value: Any) -> None:
        if not -limit <= value < limit:
            raise ValueError(f"{where}object of {type(kind).__name__} out of range, got: {value}")

    return verify


def _user_defined(kind: t.UserDefinedType, name: str | None, where: str) -> Verifier:
    below = type_verifier(kind.sql_type(), name)

    def verify(value: Any) -> None:
        own = getattr(value, "__UDT__", None)
        if not (isinstance(own, t.UserDefinedType) and own.is_same(kind)):
            raise ValueError(f"{where}{value!r} is not an instance of type {kind!r}")
        below(kind.to_sql_type(value))

    return verify


def _row(kind: t.RowType, name: str | None, where: str) -> Verifier:
    inside = "" if name is None else f" in {name}"
    fields = [(field.name, type_verifier(field.data_type, f"field {field.name}{inside}")) for field in kind.fields]

    def verify(value: Any) -> None:
        if isinstance(value, Row):
            named = value._fields is not None
            for place, (field, check) in enumerate(fields):
                check(value[field] if named else value[place])
        elif isinstance(value, (tuple, list)):
            if len(value) != len(fields):
                raise ValueError(
                    f"{where}Length of object ({len(value)}) does not match with length of fields ({len(fields)})"
                )
            for each, (_, check) in zip(value, fields):
                check(each)
        elif isinstance(value, dict) or hasattr(value, "__dict__"):
            found = value if isinstance(value, dict) else vars(value)
            for field, check in fields:
                check(found.get(field))
        else:
            raise TypeError(f"{where}RowType can not accept object {value!r} in type {type(value)}")

    return verify
