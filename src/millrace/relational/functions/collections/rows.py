"""ROW(...)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from millrace.relational import types as t
from millrace.relational.arrow import arrow_type
from millrace.relational.functions.collections.arrays import as_column
from millrace.relational.functions.registry import Column, Signature, SignatureError, Surroundings, scalar
from millrace.relational.rex import Call, Rex


def _infer(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
    """``names`` among the options names the fields; otherwise they are EXPR$0, EXPR$1, ... as in Flink SQL."""
    names = options.get("names") or [f"EXPR${index}" for index in range(len(args))]
    if len(names) != len(args):
        raise SignatureError(f"it takes {len(names)} values for the fields {', '.join(names)}, not {len(args)}")
    types = tuple(arg.type for arg in args)
    return Signature(types, t.RowType([t.RowField(name, each) for name, each in zip(names, types)], False))


def _spark(call: Call, args: Sequence[str]) -> str:
    assert isinstance(call.type, t.RowType)
    names = [name.replace("\\", "\\\\").replace("'", "\\'") for name in call.type.names]
    fields = ", ".join(f"'{name}', {arg}" for name, arg in zip(names, args))
    return f"named_struct({fields})"


@scalar("ROW", _infer, spark=_spark, syntax="ROW(value, ...)")
def row(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return rows_of(call.type, args, around.length)


def rows_of(data_type: t.DataType, fields: Sequence[Column], length: int) -> Column:
    """Columns as the fields of one column of rows."""
    wanted = arrow_type(data_type)
    if all(isinstance(field, pa.Scalar) for field in fields):
        return pa.scalar({part.name: field.as_py() for part, field in zip(wanted, fields)}, wanted)
    return pa.StructArray.from_arrays([as_column(field, length) for field in fields], fields=list(wanted))
