"""Built-in functions: one description a function, by its name in plans.

A description says what types it takes and gives, how it is computed on Arrow columns (in streaming plans, and in batch
where Spark has nothing like it), and how Spark computes the same, if it does. Tests run every example of a function
through both and compare.

To add a function:

1. Decorate its computation with ``@scalar(NAME, infer, spark=...)`` in the module of its family here. The name is upper
   case, as SQL has it; operators have their signs (``+``, ``<=``, ``||``) or words (``IS NULL``, ``SIMILAR TO``). What
   has special syntax takes its parts as plain arguments in the order of the text, fixed words as options. NOT forms
   (``NOT LIKE``) are ``NOT`` of the plain one.
2. ``infer`` is mostly ``takes(TEXT, WHOLE, result=...)``. What it does not take raises ``SignatureError``
   with "it takes (...)"; ``call`` puts name and types before that.
3. The computation gets each argument as an Arrow column or, for a constant, as an Arrow scalar, and gives either, of
   the Arrow type of ``call.type``. Use a kernel of ``pyarrow.compute`` where it does exactly the right thing,
   ``by_row`` elsewhere. Errors that a row causes are ``ValueError`` or ``ArithmeticError``.
4. Give Spark text only if it computes the same for all inputs, NULL, NaN, -0.0 and overflow included. Spark has
   ``spark.sql.ansi.enabled=false``, the zone of the job's session, and columns of the types in ``relational.arrow``.
5. What must not compute all of its arguments for all rows (CASE, AND) gives ``by_need`` too: it is asked when one of
   them fails.
6. Declare examples in the test of the module (``tests/relational/functions/examples.py``).

An operator of several type families (``+`` of numbers, of times, ...) is registered once a family: the others give
``overload_of="+"`` and a name of their own, e.g. ``+ TIME``. ``call("+", ...)`` makes a call of the first one that
takes the arguments; plans contain that one's name.

The second half has the parts of which ``infer`` is made (kinds of arguments, and how the result's type follows from
theirs), what computations on Arrow columns share, and ``shallow``, which makes flat lists of steps of deep expressions.

Implicit casts: which type may be cast to which without being asked, and the common type of several.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from functools import reduce
from itertools import repeat
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational import functions
from millrace.relational import types as t
from millrace.relational.rex import STEPS, Call, FieldAccess, Literal, Ref, Rex
from millrace.relational.type_table import Family, arrow_type, family_of, row_of
from millrace.relational.types import DataType
from millrace.util.names import import_modules
from millrace.util.record import Record

if TYPE_CHECKING:
    from millrace.relational.functions.evaluate import Evaluator


# Implicit casts


class SignatureError(Exception):
    """A function does not take these arguments. The message says what it takes; the front ends add the position."""


_TIMES = (Family.DATE, Family.TIMESTAMP, Family.INSTANT)
_NUMBERS = (Family.INTEGER, Family.APPROXIMATE, Family.DECIMAL)


def cast_to(expression: Rex, wanted: DataType) -> Rex:
    """The expression, cast where its type is another one (nullability aside)."""
    found = expression.type
    if found.is_same(wanted):
        return expression
    nullable = wanted.with_nullable(found.is_nullable)
    if isinstance(expression, Literal) and expression.value is None:
        return Literal(nullable.nullable(), None)
    return Call(nullable, "CAST", (expression,))


def is_number(data_type: DataType) -> bool:
    return family_of(data_type) in _NUMBERS


def is_text(data_type: DataType) -> bool:
    return family_of(data_type) is Family.TEXT


def is_bytes(data_type: DataType) -> bool:
    return family_of(data_type) is Family.BYTES


def as_decimal(data_type: DataType) -> t.DecimalType:
    """The DECIMAL that holds every value of an exact type."""
    if isinstance(data_type, t.DecimalType):
        return data_type
    return t.DecimalType(row_of(data_type).digits, 0, data_type.is_nullable)


def common_type(types: Sequence[DataType]) -> DataType | None:
    """The type that all of these are cast to without being asked, e.g. for the branches of a CASE or a UNION; None if
    there is none. It is nullable if one of them is."""
    found: DataType = t.NullType()
    for each in types:
        both = _common(found, each)
        if both is None:
            return None
        found = both
    return found.with_nullable(any(each.is_nullable for each in types) or not types)


def widest_first(types: Sequence[DataType]) -> list[DataType]:
    """Sort types so that DOUBLE comes before FLOAT: the common type of these two is the one that comes first."""
    return sorted(types, key=lambda each: not isinstance(each, t.DoubleType))


def _common(left: DataType, right: DataType) -> DataType | None:
    if left.is_same(right) or isinstance(right, t.NullType):
        return left
    if isinstance(left, t.NullType):
        return right
    if is_number(left) and is_number(right):
        return _common_number(left, right)
    if (is_text(left) and is_text(right)) or (is_bytes(left) and is_bytes(right)):
        return _common_sized(left, right)
    if family_of(left) in _TIMES and family_of(right) in _TIMES:
        return _common_time(left, right)
    if type(left) is type(right):
        return _common_parts(left, right)
    return None


def _common_number(left: DataType, right: DataType) -> DataType:
    if isinstance(left, t.IntegralType) and isinstance(right, t.IntegralType):
        return left if left.bits >= right.bits else right
    families = [family_of(left), family_of(right)]
    if families == [Family.APPROXIMATE, Family.APPROXIMATE]:
        return left  # as in Flink: FLOAT with DOUBLE is FLOAT, DOUBLE with FLOAT is DOUBLE
    if Family.APPROXIMATE in families:
        double = Family.DECIMAL in families or t.DoubleType in (type(left), type(right))
        return t.DoubleType() if double else t.FloatType()
    a, b = as_decimal(left), as_decimal(right)
    scale = max(a.scale, b.scale)
    digits = max(a.precision - a.scale, b.precision - b.scale)
    return t.DecimalType(min(38, digits + scale), min(scale, max(0, 38 - digits)))


def _common_sized(left: DataType, right: DataType) -> DataType:
    length = max(left.length, right.length)  # type: ignore[attr-defined]
    fixed = type(left) is type(right) and isinstance(left, (t.CharType, t.BinaryType)) and left.length == length
    if fixed and right.length == length:  # type: ignore[attr-defined]
        return left
    return t.VarCharType(length) if is_text(left) else t.VarBinaryType(length)


def _common_time(left: DataType, right: DataType) -> DataType:
    precision = max(getattr(left, "precision", 0), getattr(right, "precision", 0))
    if isinstance(left, t.LocalZonedTimestampType) or isinstance(right, t.LocalZonedTimestampType):
        return t.LocalZonedTimestampType(precision)
    return t.TimestampType(precision)


def _common_parts(left: DataType, right: DataType) -> DataType | None:
    combine = _COMBINED.get(type(left))
    return combine and combine(left, right)


def _common_rows(left: t.RowType, right: t.RowType) -> DataType | None:
    parts = [common_type(pair) for pair in zip(left.field_types(), right.field_types())]
    if len(left) != len(right) or None in parts:
        return None
    return t.RowType([t.RowField(name, part) for name, part in zip(left.names, parts) if part is not None])


def _common_elements(left: t.ArrayType | t.MultisetType, right: t.ArrayType | t.MultisetType) -> DataType | None:
    element = common_type([left.element_type, right.element_type])
    return None if element is None else type(left)(element)


def _common_maps(left: t.MapType, right: t.MapType) -> DataType | None:
    key, value = common_type([left.key_type, right.key_type]), common_type([left.value_type, right.value_type])
    return None if key is None or value is None else t.MapType(key, value)


_COMBINED: dict[type[DataType], Callable[[Any, Any], DataType | None]] = {
    t.TimeType: lambda left, right: t.TimeType(max(left.precision, right.precision)),
    t.DayTimeIntervalType: lambda left, right: t.DayTimeIntervalType(
        t.DayTimeIntervalType.DayTimeResolution.DAY_TO_SECOND
    ),
    t.YearMonthIntervalType: lambda left, right: t.YearMonthIntervalType(
        t.YearMonthIntervalType.YearMonthResolution.YEAR_TO_MONTH
    ),
    t.ArrayType: _common_elements,
    t.MapType: _common_maps,
    t.MultisetType: _common_elements,
    t.RowType: _common_rows,
}


# Comparisons

_TIME_TYPES = (t.DateType, t.TimeType, t.TimestampType, t.LocalZonedTimestampType)
_READ_FROM_TEXT: tuple[tuple[type[DataType], ...], ...] = (_TIME_TYPES, (t.NumericType,), (t.BooleanType,))


def _all_are(types: Sequence[DataType], family: tuple[type[DataType], ...]) -> bool:
    return all(isinstance(each, family) for each in types)


def comparable_type(types: Sequence[DataType]) -> DataType | None:
    """The one type that values are cast to in order to be looked for among each other; None if there is none."""
    found = compared(types)
    return None if found is None else common_type(found)


def compared(types: Sequence[DataType]) -> list[DataType] | None:
    """What values of these types are cast to in order to be compared; None if they cannot be."""
    others = [each for each in types if not is_text(each)]
    if others and len(others) < len(types) and any(_all_are(others, family) for family in _READ_FROM_TEXT):
        read_as = common_type(others)
        if read_as is not None:
            types = [read_as.with_nullable(each.is_nullable) if is_text(each) else each for each in types]
    if all(is_text(each) for each in types) or all(is_bytes(each) for each in types):
        return list(types)
    if all(isinstance(each, (t.IntegralType, t.DecimalType)) for each in types):
        # Decimals of different scales compare exactly as they are: their common type may lack digits.
        if any(isinstance(each, t.DecimalType) for each in types):
            return [as_decimal(each) for each in types]
    common = common_type(types)
    return None if common is None else [common.with_nullable(each.is_nullable) for each in types]


Column: TypeAlias = Any
"""An argument or result: a ``pyarrow.Array``, or a ``pyarrow.Scalar`` that stands for a column of equal values."""


# Functions by name


class Signature(Record):
    """How a call is typed: what each argument is cast to, and the type of the result."""

    args: tuple[DataType, ...]
    result: DataType
    cast: Callable[[Rex, DataType], Rex] = cast_to
    """casts an argument to its type"""


class Surroundings(Record):
    """What a function may know beyond its arguments."""

    length: int
    """rows of the batch"""
    zone: str = "UTC"
    """time zone of the session"""
    now: int = 0
    """start of the query in batch, processing time in streaming; microseconds since the epoch"""
    database: str = ""
    watermark: int | None = None
    """event time of the operator in ms; None before the first watermark"""
    configuration: dict[str, str] = field(default_factory=dict)


Infer = Callable[[Sequence[Rex], dict[str, Any]], Signature]
"""(arguments, options of the call) -> how it is typed. Raises SignatureError."""
Compute = Callable[[Call, Sequence[Column], Surroundings], Column]
"""(the typed call, arguments cast as its signature says, surroundings) -> result of the type of the call."""
Spark = Callable[[Call, Sequence[str]], "str | None"]
"""(the typed call, SQL text of the arguments) -> Spark SQL text; None: not in this case"""
ByNeed = Callable[[Call, "Evaluator"], Column]
"""(the typed call, what computes its arguments) -> result: for CASE, AND and whatever else must not compute all"""


class Scalar(Record):
    """A scalar function or operator."""

    name: str
    infer: Infer
    compute: Compute
    spark: Spark | None = None
    aliases: tuple[str, ...] = ()
    """other names in SQL"""
    deterministic: bool = True
    dynamic: bool = False
    """whether the value is the same for all rows of a batch query, but computed for each row in streaming
    (CURRENT_TIMESTAMP)"""
    syntax: str = ""
    """how it is called, for error messages, e.g. ``SUBSTRING(string FROM integer [FOR integer])``"""
    by_need: ByNeed | None = None
    """the computation that computes arguments only for the rows that need them; used when one of them fails"""
    sees_calls: bool = False
    """whether it makes a difference that an argument is a call: then that is not computed while the query is planned"""


_scalars: dict[str, Scalar] = {}
_overloads: dict[str, list[Scalar]] = {}


def scalar(
    name: str,
    infer: Infer,
    *,
    spark: Spark | str | None = None,
    aliases: Sequence[str] = (),
    deterministic: bool = True,
    dynamic: bool = False,
    syntax: str = "",
    overload_of: str = "",
    by_need: ByNeed | None = None,
    sees_calls: bool = False,
) -> Callable[[Compute], Compute]:
    """Register the decorated function as the computation of a built-in function.

    :param spark: a template with {0}, {1}, ... for the arguments or {args} for all, or a function.
    :param overload_of: the name that users write, where it has another registration for other types.
    """

    def register(compute: Compute) -> Compute:
        described = Scalar(
            name,
            infer,
            compute,
            _template(spark) if isinstance(spark, str) else spark,
            tuple(aliases),
            deterministic,
            dynamic,
            syntax,
            by_need,
            sees_calls,
        )
        for each in (name, *aliases):
            if each in _scalars:
                raise ValueError(f"function {each} is registered twice")
            _scalars[each] = described
        if overload_of:
            _overloads.setdefault(overload_of, []).append(described)
        return compute

    return register


def _template(text: str) -> Spark:
    return lambda call, args: text.format(*args, args=", ".join(args))


def find_scalar(name: str) -> Scalar | None:
    """The function with this name (upper case), None without."""
    import_modules(functions)
    return _scalars.get(name)


def candidates(name: str) -> tuple[Scalar, ...]:
    """The function with this name (upper case) and its overloads, in the order in which they are tried; empty: none."""
    found = find_scalar(name)
    return () if found is None else (found, *_overloads.get(found.name, ()))


def scalar_names() -> list[str]:
    """Names and aliases of all scalar functions that queries can call; names that begin with ``$`` are for rules
    only."""
    import_modules(functions)
    return sorted(name for name in _scalars if not name.startswith("$"))


# Computations on Arrow columns

Prepare = dict[int, Callable[[Any], Any]]
"""argument -> what is made of each of its different values once (a compiled pattern, say)"""


def by_row(
    call: Call,
    args: Sequence[Column],
    function: Callable[..., Any],
    *,
    prepare: Prepare | None = None,
    nulls: bool = False,
) -> Column:
    """``function`` of the values of each row; the result has the type of the call.

    :param prepare: makes values ready for use, once a value and not once a row; NULL excepted.
    :param nulls: whether the function is called for rows with NULL. Otherwise they give NULL.
    """
    wanted = arrow_type(call.type)
    if not nulls and any(isinstance(arg, pa.Scalar) and not arg.is_valid for arg in args):
        return pa.scalar(None, wanted)
    if all(isinstance(arg, pa.Scalar) for arg in args):
        row = [_prepared_value(arg.as_py(), (prepare or {}).get(index)) for index, arg in enumerate(args)]
        return pa.scalar(function(*row), wanted)
    columns = [_values(arg, (prepare or {}).get(index)) for index, arg in enumerate(args)]
    if nulls or not any(arg.null_count for arg in args if not isinstance(arg, pa.Scalar)):
        return pa.array(list(map(function, *columns)), wanted)
    valid = [pc.is_valid(arg) for arg in args if not isinstance(arg, pa.Scalar)]
    complete = reduce(pc.and_, valid).to_pylist()
    return pa.array([function(*row) if whole else None for row, whole in zip(zip(*columns), complete)], wanted)


def _prepared_value(value: Any, prepare: Callable[[Any], Any] | None) -> Any:
    return value if prepare is None or value is None else prepare(value)


def _values(arg: Column, prepare: Callable[[Any], Any] | None) -> Any:
    if isinstance(arg, pa.Scalar):
        return repeat(_prepared_value(arg.as_py(), prepare))
    values = arg.to_pylist()
    if prepare is None:
        return values
    ready = {value: prepare(value) for value in set(values) if value is not None}
    return [None if value is None else ready[value] for value in values]


def null(call: Call) -> pa.Scalar:
    """NULL of the type of the call."""
    return pa.scalar(None, arrow_type(call.type))


def is_null_constant(column: Column) -> bool:
    """Whether an argument is NULL in all rows because it is written so."""
    return isinstance(column, pa.Scalar) and not column.is_valid


# Type inference from parts

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


# Deep expressions as flat lists

DEEP = 40
"""levels that are left as they are"""


def shallow(expression: Rex) -> Rex:
    """Rewrite a deeply nested expression into a flat list of steps with the same value. An expression of at most
    ``DEEP`` levels is returned unchanged, as the same object."""
    depths = _depths(expression)
    if depths[id(expression)] <= DEEP:
        return expression
    way: list[tuple[Rex, int]] = []
    part = expression
    while depths[id(part)] > 1 and _may_be_step(part):
        place = max(range(len(part.children)), key=lambda at: depths[id(part.children[at])])
        way.append((part, place))
        part = part.children[place]
    if not way:
        return expression.with_children(tuple(map(shallow, expression.children)))
    return _in_steps(part, way)


def _in_steps(innermost: Rex, way: list[tuple[Rex, int]]) -> Rex:
    args: list[Rex] = [innermost]
    steps: list[Rex] = []
    if isinstance(innermost, Call) and innermost.function == STEPS:
        args, steps = list(innermost.args), list(innermost.option("steps"))
    so_far = innermost.type
    for part, place in reversed(way):
        children: list[Rex] = []
        for at, child in enumerate(part.children):
            if at == place:
                children.append(Ref(so_far, 0))
            elif isinstance(child, Literal):
                children.append(child)
            else:
                children.append(Ref(child.type, len(args)))
                args.append(shallow(child))
        steps.append(part.with_children(tuple(children)))
        so_far = part.type
    return Call(so_far, STEPS, tuple(args), (("steps", tuple(steps)),))


def _may_be_step(part: Rex) -> bool:
    """Whether a part may become a step of its own: a field access, or a call of a deterministic function. Rules look
    for the other parts, which have to stay in place."""
    if isinstance(part, FieldAccess):
        return True
    function = find_scalar(part.function) if isinstance(part, Call) and part.function != STEPS else None
    return function is not None and function.deterministic and not function.dynamic and not function.sees_calls


def _depths(expression: Rex) -> dict[int, int]:
    """Levels of each part, by its id; without calls within calls."""
    found: dict[int, int] = {}
    todo = [expression]
    while todo:
        part = todo[-1]
        missing = [child for child in part.children if id(child) not in found]
        if missing:
            todo += missing
            continue
        todo.pop()
        found[id(part)] = 1 + max((found[id(child)] for child in part.children), default=0)
    return found


def constant_number(expression: Rex) -> int | None:
    """The value of a whole number that is written in the query, also with a minus before it."""
    if isinstance(expression, Literal) and isinstance(expression.value, int):
        return expression.value
    if isinstance(expression, Call) and expression.function in ("-", "CAST") and len(expression.args) == 1:
        inner = constant_number(expression.args[0])
        return None if inner is None else (-inner if expression.function == "-" else inner)
    return None


def call(name: str, args: Sequence[Rex], options: dict[str, Any] | None = None) -> Call:
    """A typed call: the arguments are cast to what the function takes.

    :raises SignatureError: it does not take them.
    :raises KeyError: there is no such function.
    """
    found = candidates(name)
    if not found:
        raise KeyError(name)
    options = options or {}
    problems = []
    for candidate in found:
        try:
            signature = candidate.infer(args, options)
        except SignatureError as error:
            problems.append(str(error))
            continue
        given = tuple(signature.cast(arg, wanted) for arg, wanted in zip(args, signature.args, strict=True))
        return Call(signature.result, candidate.name, given, tuple(sorted(options.items())))
    types = ", ".join(arg.type.sql() for arg in args)
    raise SignatureError(f"{found[0].name} does not take ({types}): {', or '.join(problems)}")
