"""Built-in functions: one description a function, by its name in plans.

A description says what types it takes and gives, how it is computed on Arrow columns (in streaming plans, and in batch
where Spark has nothing like it), and how Spark computes the same, if it does. Tests run every example of a function
through both and compare.

To add a function:

1. Decorate its computation with ``@scalar(NAME, infer, spark=...)`` in a module of its room here. The name is upper
   case, as SQL has it; operators have their signs (``+``, ``<=``, ``||``) or words (``IS NULL``, ``SIMILAR TO``). What
   has special syntax takes its parts as plain arguments in the order of the text, fixed words as options. NOT forms
   (``NOT LIKE``) are ``NOT`` of the plain one.
2. ``infer`` is mostly ``signatures.takes(TEXT, WHOLE, result=...)``. What it does not take raises ``SignatureError``
   with "it takes (...)"; ``call`` puts name and types before that.
3. The computation gets each argument as an Arrow column or, for a constant, as an Arrow scalar, and gives either, of
   the Arrow type of ``call.type``. Use a kernel of ``pyarrow.compute`` where it does exactly the right thing,
   ``columns.by_row`` elsewhere. Errors that a row causes are ``ValueError`` or ``ArithmeticError``.
4. Give Spark text only if it computes the same for all inputs, NULL, NaN, -0.0 and overflow included. Spark has
   ``spark.sql.ansi.enabled=false``, the zone of the job's session, and columns of the types in ``relational.arrow``.
5. What must not compute all of its arguments for all rows (CASE, AND) gives ``by_need`` too: it is asked when one of
   them fails.
6. Declare examples in the test of the module (``tests/relational/functions/examples.py``).

An operator of several type families (``+`` of numbers, of times, ...) is registered once a family: the others give
``overload_of="+"`` and a name of their own, e.g. ``+ TIME``. ``call("+", ...)`` makes a call of the first one that
takes the arguments; plans contain that one's name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, TypeAlias

from millrace.relational import functions
from millrace.relational.rex import Call, Rex
from millrace.relational.types import DataType
from millrace.util.modules import import_modules
from millrace.util.record import Record

if TYPE_CHECKING:
    from millrace.relational.functions.evaluate import Evaluator

Column: TypeAlias = Any
"""An argument or result: a ``pyarrow.Array``, or a ``pyarrow.Scalar`` that stands for a column of equal values."""


class SignatureError(Exception):
    """Arguments that a function does not take. The message says what it takes; the front ends add the place."""


class Signature(Record):
    """How a call is typed: what each argument is cast to, and the type of the result."""

    args: tuple[DataType, ...]
    result: DataType
    reads_text: bool = False
    """text that is compared with other values is read as one of them: NULL where it is none, an error if it is a
    constant"""


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
    """the same for all rows of a batch query, anew for each row in streaming (CURRENT_TIMESTAMP)"""
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


def scalar_names() -> list[str]:
    """Names and aliases of all scalar functions that can be called; a ``$`` begins those that only rules call."""
    import_modules(functions)
    return sorted(name for name in _scalars if not name.startswith("$"))


def call(name: str, args: Sequence[Rex], options: dict[str, Any] | None = None) -> Call:
    """A typed call: the arguments are cast to what the function takes.

    :raises SignatureError: it does not take them.
    :raises KeyError: there is no such function.
    """
    from millrace.relational.casting import cast_to, read_as

    found = find_scalar(name)
    if found is None:
        raise KeyError(name)
    options = options or {}
    problems = []
    for candidate in (found, *_overloads.get(found.name, ())):
        try:
            signature = candidate.infer(args, options)
        except SignatureError as error:
            problems.append(str(error))
            continue
        cast = read_as if signature.reads_text else cast_to
        given = tuple(cast(arg, wanted) for arg, wanted in zip(args, signature.args, strict=True))
        return Call(signature.result, candidate.name, given, tuple(sorted(options.items())))
    types = ", ".join(arg.type.sql() for arg in args)
    raise SignatureError(f"{found.name} does not take ({types}): {', or '.join(problems)}")
