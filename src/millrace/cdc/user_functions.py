"""``user-defined-function``: functions in Python, by their names in expressions."""

from __future__ import annotations

import datetime as dt
import decimal
import importlib
import inspect
from collections.abc import Iterable, Mapping
from typing import Any

from millrace.cdc.pipeline_file import UserFunction
from millrace.relational import types as t
from millrace.relational.types import DataType
from millrace.table.functions.function_classes import ScalarFunction
from millrace.table.functions.udf import UserDefinedScalarFunctionWrapper, udf
from millrace.table.sql.binding import UserFunction as Found
from millrace.table.sql.binding.calls import user_function
from millrace.table.sql.grammar.parser import parse_type
from millrace.util.names import did_you_mean

_TYPES: Mapping[str, DataType] = {
    "int": t.BigIntType(),
    "str": t.string(),
    "float": t.DoubleType(),
    "bool": t.BooleanType(),
    "bytes": t.VarBinaryType(t.MAX_LENGTH),
    "Decimal": t.DecimalType(38, 18),
    "date": t.DateType(),
    "datetime": t.TimestampType(6),
    "time": t.TimeType(3),
}
_NEEDS_TYPE = (
    "Millrace does not know what it returns: annotate it (-> int, str, float, bool, Decimal, bytes, date, datetime), "
    "give the class get_return_type(), or make it with millrace.table.udf.udf(result_type=...)"
)


def find_functions(declared: Iterable[UserFunction]) -> dict[str, Found]:
    """The Python functions of a pipeline, by their lower-case names.

    :raises PipelineError: a function is missing, or the name is not a function's.
    """
    return {each.name.lower(): user_function(each.name, _wrapped(each)) for each in declared}


def _wrapped(declared: UserFunction) -> UserDefinedScalarFunctionWrapper:
    found = _imported(declared)
    if isinstance(found, UserDefinedScalarFunctionWrapper):
        return found
    if inspect.isclass(found):
        found = _instance(declared, found)
    elif not callable(found):
        declared.block.fail(f"{declared.classpath} is no function and no class", "classpath")
    result = _declared_type(found) or _annotated(found)
    if result is None:
        declared.block.fail(f"function {declared.name} ({declared.classpath}): {_NEEDS_TYPE}", "classpath")
    wrapper: UserDefinedScalarFunctionWrapper = udf(found, result_type=result, name=declared.name)
    return wrapper


def _imported(declared: UserFunction) -> Any:
    module, dot, name = declared.classpath.replace(":", ".").rpartition(".")
    if not dot:
        declared.block.fail(f"'classpath' is module.Name, not {declared.classpath}", "classpath")
    try:
        within = importlib.import_module(module)
    except ImportError as error:
        declared.block.fail(
            f"function {declared.name}: module {module} cannot be imported ({error}); it is looked for beside the "
            "pipeline's file and in --pyFiles",
            "classpath",
        )
    found = getattr(within, name, None)
    if found is None:
        declared.block.fail(f"module {module} has no {name}{did_you_mean(name, vars(within))}", "classpath")
    return found


def _instance(declared: UserFunction, kind: type[Any]) -> Any:
    if not callable(getattr(kind, "eval", None)):
        declared.block.fail(f"{declared.classpath} has no method eval", "classpath")
    try:
        made = kind()
    except TypeError as error:
        declared.block.fail(f"{declared.classpath} cannot be made without arguments: {error}", "classpath")
    return made if isinstance(made, ScalarFunction) else _Adapted(made)


class _Adapted(ScalarFunction):
    """Adapts a plain class with ``eval``, and optionally ``open`` and ``close``."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def open(self, function_context: Any) -> None:
        opened = getattr(self.inner, "open", None)
        if opened is not None:
            opened(*[function_context][: len(inspect.signature(opened).parameters)])

    def close(self) -> None:
        closed = getattr(self.inner, "close", None)
        if closed is not None:
            closed()

    def eval(self, *args: Any) -> Any:
        return self.inner.eval(*args)


def _declared_type(found: Any) -> DataType | None:
    inner = getattr(found, "inner", found)
    for name in ("get_return_type", "getReturnType"):
        method = getattr(inner, name, None)
        if callable(method):
            kind = method()
            return parse_type(kind) if isinstance(kind, str) else kind
    return None


def _annotated(found: Any) -> DataType | None:
    """The SQL type of a function's annotated Python result type."""
    inner = getattr(found, "inner", found)
    method = inner if inspect.isfunction(inner) else getattr(inner, "eval", inner)
    hint = getattr(method, "__annotations__", {}).get("return")
    text = hint if isinstance(hint, str) else getattr(hint, "__name__", str(hint))
    plain: dict[Any, str] = {int: "int", str: "str", float: "float", bool: "bool", bytes: "bytes"}
    plain |= {decimal.Decimal: "Decimal", dt.date: "date", dt.datetime: "datetime", dt.time: "time"}
    name = plain.get(hint) if not isinstance(hint, str) else text
    if name is None:  # int | None, Optional[int]
        parts = [plain[each] for each in getattr(hint, "__args__", ()) if each in plain]
        name = parts[0] if len(parts) == 1 else None
    else:
        name = name.replace(" ", "").removesuffix("|None").rpartition(".")[2]
    return None if name is None else _TYPES.get(name)
