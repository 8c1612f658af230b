"""The names of types in expressions as text: ``a.cast(LONG)``."""

from __future__ import annotations

from millrace.relational.types import DataType
from millrace.table.types import DataTypes
from millrace.table.values.problems import problem
from millrace.table.values.type_text import data_type_of

__all__ = ["type_of"]

_OLD = {
    "BYTE": DataTypes.TINYINT(),
    "SHORT": DataTypes.SMALLINT(),
    "LONG": DataTypes.BIGINT(),
    "STRING": DataTypes.STRING(),
    "DECIMAL": DataTypes.DECIMAL(38, 18),
    "BIG_DECIMAL": DataTypes.DECIMAL(38, 18),
    "SQL_DATE": DataTypes.DATE(),
    "SQL_TIME": DataTypes.TIME(0),
    "SQL_TIMESTAMP": DataTypes.TIMESTAMP(3),
    "LOCAL_DATE": DataTypes.DATE(),
    "LOCAL_TIME": DataTypes.TIME(0),
    "LOCAL_DATE_TIME": DataTypes.TIMESTAMP(3),
}
_ARRAYS = ("PRIMITIVE_ARRAY", "OBJECT_ARRAY")


def type_of(name: str, inside: DataType | None = None) -> DataType:
    """The type of a name, and of what stands in its brackets.

    :raises TableException: there is no such type.
    """
    upper = name.upper()
    if upper in _ARRAYS and inside is not None:
        return DataTypes.ARRAY(inside)
    if inside is not None:
        raise problem(f"{name}({inside}) is no type: {', '.join(_ARRAYS)} take one")
    if upper in _OLD:
        return _OLD[upper]
    return data_type_of(name)
