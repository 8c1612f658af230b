"""Type inference of built-in functions from parts: kinds of arguments, and how the result's type comes of theirs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from millrace.relational import types as t
from millrace.relational.casting import common_type, is_bytes, is_number, is_text
from millrace.relational.functions.registry import Infer, Signature, SignatureError
from millrace.relational.rex import Rex
from millrace.relational.types import DataType
from millrace.util.record import Record

Result = DataType | Callable[[Sequence[DataType]], DataType]
"""a type, or what makes it of the arguments' types after their casts; nullability is added by ``takes``"""

STRING, BYTES_TYPE = t.string(), t.VarBinaryType(t.MAX_LENGTH)
BOOLEAN_TYPE, INT_TYPE, BIGINT_TYPE, DOUBLE_TYPE = t.BooleanType(), t.IntType(), t.BigIntType(), t.DoubleType()


class Kind(Record):
    """A kind of argument. ``target`` gives the type that an argument is cast to, None if it is not taken."""

    name: str
    target: Callable[[DataType], DataType | None]


def _is(accept: Callable[[DataType], bool], for_null: DataType) -> Callable[[DataType], DataType | None]:
    """Arguments of these types stay as they are; a bare NULL is one of ``for_null``."""

    def target(found: DataType) -> DataType | None:
        if isinstance(found, t.NullType):
            return for_null
        return found if accept(found) else None

    return target


def _as(accept: Callable[[DataType], bool], wanted: DataType) -> Callable[[DataType], DataType | None]:
    """Arguments of these types are cast to one type."""
    return lambda found: wanted if isinstance(found, t.NullType) or accept(found) else None


def _one_of(*types: type[DataType]) -> Callable[[DataType], bool]:
    return lambda found: isinstance(found, types)


ANY = Kind("ANY", lambda found: found)
NUMERIC = Kind("NUMERIC", _is(is_number, INT_TYPE))
WHOLE = Kind("INTEGER", _is(_one_of(t.IntegralType), INT_TYPE))
INT = Kind("INT", _as(_one_of(t.TinyIntType, t.SmallIntType, t.IntType), INT_TYPE))
BIGINT = Kind("BIGINT", _as(_one_of(t.IntegralType), BIGINT_TYPE))
DOUBLE = Kind("NUMERIC", _as(is_number, DOUBLE_TYPE))
TEXT = Kind("STRING", _is(is_text, STRING))
BYTES = Kind("BYTES", _is(is_bytes, BYTES_TYPE))
TEXT_OR_BYTES = Kind("STRING or BYTES", _is(lambda found: is_text(found) or is_bytes(found), STRING))
BOOLEAN = Kind("BOOLEAN", _is(_one_of(t.BooleanType), BOOLEAN_TYPE))


def takes(
    *kinds: Kind,
    result: Result,
    optional: int = 0,
    variadic: bool = False,
    nullable: bool | None = None,
) -> Infer:
    """A function of these arguments.

    :param optional: how many of the last arguments may be missing.
    :param variadic: the last kind may be repeated.
    :param nullable: whether the result may be NULL; None: if one of the arguments may.
    """

    def infer(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
        wanted = [*kinds, *kinds[-1:] * (len(args) - len(kinds))] if variadic else kinds
        if not len(kinds) - optional <= len(args) <= len(wanted):
            raise SignatureError(described)
        types = []
        for arg, kind in zip(args, wanted):
            target = kind.target(arg.type)
            if target is None:
                raise SignatureError(described)
            types.append(target.with_nullable(arg.type.is_nullable))
        return signature(types, result, nullable)

    described = _described(kinds, optional, variadic)
    return infer


def signature(types: Sequence[DataType], result: Result, nullable: bool | None = None) -> Signature:
    """Arguments of these types give this result, nullable if one of them is unless said otherwise."""
    given = result if isinstance(result, DataType) else result(types)
    if nullable is None:
        nullable = any(each.is_nullable for each in types)
    return Signature(tuple(types), given.with_nullable(nullable))


def first(types: Sequence[DataType]) -> DataType:
    """The result has the type of the first argument."""
    return types[0]


def shortened(types: Sequence[DataType]) -> DataType:
    """The result is a part of the first argument, a text."""
    return t.VarCharType(types[0].length)  # type: ignore[attr-defined]


def same_type(
    *,
    result: Result = first,
    least: int = 1,
    most: int | None = None,
    nullable: bool | None = None,
    skip: int = 0,
    order: Callable[[Sequence[DataType]], Sequence[DataType]] = tuple,
) -> Infer:
    """Arguments that are cast to their common type.

    :param skip: so many leading arguments are left alone.
    :param order: in which types are looked at for their common one.
    """

    def infer(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
        if len(args) < least or (most is not None and len(args) > most):
            raise SignatureError(f"it takes {_count(least, most)} arguments")
        types = [arg.type for arg in args]
        common = common_type(order(types[skip:]))
        if common is None:
            raise SignatureError("it takes arguments with a common type: CAST them to one")
        cast = [common.with_nullable(each.is_nullable) for each in types[skip:]]
        return signature([*types[:skip], *cast], result, nullable)

    return infer


def _count(least: int, most: int | None) -> str:
    if most is None:
        return f"{least} or more"
    return str(least) if least == most else f"{least} to {most}"


def _described(kinds: Sequence[Kind], optional: int, variadic: bool) -> str:
    names = [kind.name for kind in kinds]
    needed = ", ".join(names[: len(names) - optional])
    rest = "".join(f" [, {name}]" for name in names[len(names) - optional :])
    return f"it takes ({needed.strip()}{rest}{', ...' if variadic else ''})"
