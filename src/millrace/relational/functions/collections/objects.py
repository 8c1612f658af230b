"""OBJECT_OF and OBJECT_UPDATE. Objects of a class are rows here: the name of the class is not looked at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational import types as t
from millrace.relational.arrow import arrow_type
from millrace.relational.functions.collections.rows import rows_of
from millrace.relational.functions.registry import Column, Signature, SignatureError, Surroundings, scalar
from millrace.relational.rex import Call, Literal, Rex


def _names(args: Sequence[Rex], function: str) -> list[str]:
    """The names before each value.

    :raises SignatureError: one is not constant text, or comes twice.
    """
    names = [arg.value if isinstance(arg, Literal) else None for arg in args[1::2]]
    if len(args) % 2 == 0 or not all(isinstance(name, str) for name in names):
        raise SignatureError(f"it takes {function}: names are constant text")
    if len(set(names)) < len(names):
        raise SignatureError(f"it takes each field once, not {', '.join(map(str, names))}")
    return [str(name) for name in names]


def _infer_of(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
    names = _names(args, "(class name [, field, value, ...])")
    if not isinstance(args[0], Literal) or not isinstance(args[0].value, str):
        raise SignatureError("it takes (class name [, field, value, ...]): the name of the class is constant text")
    fields = [t.RowField(name, arg.type) for name, arg in zip(names, args[2::2])]
    return Signature(tuple(arg.type for arg in args), t.RowType(fields, False))


@scalar("OBJECT_OF", _infer_of, syntax="OBJECT_OF(class name [, field, value, ...])")
def object_of(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return rows_of(call.type, args[2::2], around.length)


def _infer_update(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
    held = args[0].type if args else None
    if not isinstance(held, t.RowType) or len(args) < 3:
        raise SignatureError("it takes (ROW, field, value, ...)")
    values = dict(zip(_names(args, "(ROW, field, value, ...)"), args[2::2]))
    missing = [name for name in values if name not in held.names]
    if missing:
        raise SignatureError(
            f"it takes names of fields of the row, which has {', '.join(held.names)}, not {missing[0]}"
        )
    fields = [
        t.RowField(field.name, values[field.name].type if field.name in values else field.data_type)
        for field in held.fields
    ]
    return Signature(tuple(arg.type for arg in args), t.RowType(fields, held.is_nullable))


@scalar("OBJECT_UPDATE", _infer_update, syntax="OBJECT_UPDATE(object, field, value, ...)")
def object_update(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    """NULL stays NULL."""
    held, wanted = args[0], arrow_type(call.type)
    names = [name.as_py() if isinstance(name, pa.Scalar) else name[0].as_py() for name in args[1::2]]
    values = dict(zip(names, args[2::2]))
    if isinstance(held, pa.Scalar) and not held.is_valid:
        return pa.scalar(None, wanted)
    parts = [values.get(part.name, pc.struct_field(held, index)) for index, part in enumerate(wanted)]
    found = rows_of(call.type, parts, around.length)
    if isinstance(held, pa.Scalar) or not held.null_count:
        return found
    return pc.if_else(held.is_valid(), found, pa.scalar(None, wanted))
