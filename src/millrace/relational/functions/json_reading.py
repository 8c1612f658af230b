"""Functions that read JSON text: IS JSON, JSON_EXISTS, JSON_VALUE, JSON_QUERY. A column of JSON text is parsed once for
all functions of a query that read it. Paths into JSON have the semantics of Jayway JsonPath, which Flink uses, with
its filters: ``(@.price < 10 && @.title)``.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Iterator, Sequence
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal, InvalidOperation
from functools import lru_cache
from typing import Any

import pyarrow as pa

from millrace.relational import types as t
from millrace.relational.functions.json_text import read_json, storable, write_json
from millrace.relational.functions.registry import (
    BOOLEAN_TYPE,
    STRING,
    TEXT,
    Column,
    Prepare,
    Signature,
    SignatureError,
    Surroundings,
    by_row,
    is_text,
    scalar,
    signature,
    takes,
)
from millrace.relational.rex import Call, Literal, Rex
from millrace.relational.types import DataType
from millrace.util.record import Record

# Paths: filters

Filter = Callable[[Any], bool]
Operand = Callable[[Any], Any]

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<sign>&&|\|\||==|!=|<=|>=|=~|<|>|!|\(|\))
    | (?P<path>@(?:\.[\w$-]+|\['[^']*'\]|\["[^"]*"\]|\[-?\d+\])*)
    | (?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    | (?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
    | (?P<regex>/(?:[^/\\]|\\.)*/i?)
    | (?P<word>true|false|null)
    )""",
    re.VERBOSE,
)
_PART = re.compile(r"""\.([\w$-]+)|\['([^']*)'\]|\["([^"]*)"\]|\[(-?\d+)\]""")
_MISSING = object()
_WORDS = {"true": True, "false": False, "null": None}


def read_filter(path: str, at: int, whole: str) -> tuple[Filter, int]:
    """The condition in brackets that begins here, and where the path goes on behind ``]``.

    :raises NotImplementedError: it has more than comparisons of fields with constants, and &&, || and !.
    """
    reader = _Reader(path, at, whole)
    found = reader.primary()
    end = re.compile(r"\s*\]").match(path, reader.at)
    if end is None:
        raise reader.error()
    return found, end.end()


class _Reader:
    """Recursive descent over the text of one filter."""

    def __init__(self, path: str, at: int, whole: str) -> None:
        self._path = path
        self._whole = whole
        self.at = at

    def error(self) -> NotImplementedError:
        return NotImplementedError(
            f"the filter in the JSON path {self._whole!r} is not understood at {self._path[self.at :]!r}: "
            "compare fields with constants, as in [?(@.price < 10 && @.title != 'x')]"
        )

    def _next(self) -> re.Match[str] | None:
        return _TOKEN.match(self._path, self.at)

    def _sign(self, *signs: str) -> str | None:
        """The sign that comes next if it is one of these; it is behind us then."""
        token = self._next()
        if token is None or token["sign"] not in signs:
            return None
        self.at = token.end()
        return token["sign"]

    def primary(self) -> Filter:
        if self._sign("("):
            found = self._either()
            if not self._sign(")"):
                raise self.error()
            return found
        if self._sign("!"):
            inner = self.primary()
            return lambda value: not inner(value)
        return self._comparison()

    def _either(self) -> Filter:
        found = self._both()
        while self._sign("||"):
            left, right = found, self._both()
            found = lambda value, left=left, right=right: left(value) or right(value)  # type: ignore[misc]
        return found

    def _both(self) -> Filter:
        found = self.primary()
        while self._sign("&&"):
            left, right = found, self.primary()
            found = lambda value, left=left, right=right: left(value) and right(value)  # type: ignore[misc]
        return found

    def _comparison(self) -> Filter:
        left = self._operand()
        sign = self._sign("==", "!=", "<=", ">=", "<", ">", "=~")
        if sign is None:
            return lambda value: left(value) is not _MISSING
        right = self._operand()
        compare = _COMPARISONS[sign]
        return lambda value: compare(left(value), right(value))

    def _operand(self) -> Operand:
        token = self._next()
        if token is None or token["sign"]:
            raise self.error()
        self.at = token.end()
        if token["path"]:
            steps = [a or b or c or int(d) for a, b, c, d in _PART.findall(token["path"])]
            return lambda value: _at(value, steps)
        if token["regex"]:
            text, _, flags = token["regex"][1:].rpartition("/")
            pattern = re.compile(text, re.IGNORECASE if flags else 0)
            return lambda value: pattern
        constant: Any
        if token["text"]:
            constant = re.sub(r"\\(.)", r"\1", token["text"][1:-1])
        elif token["number"]:
            constant = Decimal(token["number"])
        else:
            constant = _WORDS[token["word"]]
        return lambda value: constant


def _at(value: Any, steps: list[str | int]) -> Any:
    for step in steps:
        in_object = isinstance(step, str) and isinstance(value, dict) and step in value
        in_array = isinstance(step, int) and isinstance(value, list) and -len(value) <= step < len(value)
        if not in_object and not in_array:
            return _MISSING
        value = value[step]
    return value


def _equal(left: Any, right: Any) -> bool:
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """Values of different kinds have no order."""
    kinds = ((int, Decimal), (str,))

    def compared(left: Any, right: Any) -> bool:
        alike = any(isinstance(left, kind) and isinstance(right, kind) for kind in kinds)
        return alike and not isinstance(left, bool) and not isinstance(right, bool) and compare(left, right)

    return compared


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": _equal,
    "!=": lambda left, right: not _equal(left, right),
    "<": _ordered(lambda left, right: left < right),
    "<=": _ordered(lambda left, right: left <= right),
    ">": _ordered(lambda left, right: left > right),
    ">=": _ordered(lambda left, right: left >= right),
    "=~": lambda left, right: isinstance(left, str) and right.fullmatch(left) is not None,
}


# Paths

_MODE = re.compile(r"\s*(strict|lax)\s+(.+)", re.IGNORECASE | re.DOTALL)
_KEY = re.compile(r"[^.\[\s(]+")
_NUMBERS = re.compile(r"\s*(?:-?\d+|last)(?:\s*,\s*-?\d+)*\s*\]")
_SLICE = re.compile(r"\s*(-?\d+)?\s*:\s*(-?\d+)?\s*\]")
_SIZES = ("size", "length")
"""functions that may be the end of a path"""
_NAME = re.compile(r"""\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\s*([,\]])""", re.DOTALL)


class InvalidPath(ValueError):
    """A path that has no meaning."""


class MissingPath(ValueError):
    """A definite path leads to nothing."""


class Step(Record):
    """One part of a path: ``kind`` is KEYS, PLACES, SLICE, ALL, SCAN, FILTER or SIZE, ``value`` what belongs to it."""

    kind: str
    value: Any = None

    @property
    def definite(self) -> bool:
        return self.kind in ("KEYS", "SIZE") or (self.kind == "PLACES" and len(self.value) == 1)


_NOTHING = object()


class Path:
    """A path that has been read. ``lax``: it does not matter if it leads nowhere."""

    def __init__(self, text: str, lax: bool, steps: tuple[Step, ...]) -> None:
        self.text = text
        self.lax = lax
        self.steps = steps
        last = len(steps) - 1
        self.definite = all(
            step.definite and (step.kind != "KEYS" or len(step.value) == 1 or index == last)
            for index, step in enumerate(steps)
        )
        single = self.definite and all(step.kind != "SIZE" and len(step.value) == 1 for step in steps)
        self._straight = tuple(step.value[0] for step in steps) if single else None

    def leads(self, document: Any) -> bool:
        """Whether there is something, be it null, where the path leads."""
        return self._found(document) is not _NOTHING

    def _found(self, document: Any) -> Any:
        return _descend(document, self._straight) if self._straight is not None else self._search(document)

    def find(self, document: Any) -> Any:
        """The value of a definite path, a list of all values of another one.

        :raises MissingPath: a strict path leads nowhere. A lax one then gives None, or an empty list.
        """
        found = self._found(document)
        if found is not _NOTHING:
            return found
        if not self.lax:
            raise MissingPath(f"nothing is at {self.text}")
        return None if self.definite else []

    def _search(self, document: Any) -> Any:
        try:
            found = list(_walk(document, self.steps, 0, True))
        except MissingPath:
            return _NOTHING
        if not self.definite:
            return found
        return found[0] if found else _NOTHING


def _descend(value: Any, steps: tuple[str | int, ...]) -> Any:
    """Follow a path from ``value``: each step is a key of an object or a position in an array."""
    for step in steps:
        kind = type(value)
        if kind is not (dict if type(step) is str else list):
            return _NOTHING
        try:
            value = value[step]
        except (KeyError, IndexError):
            return _NOTHING
    return value


@lru_cache(1024)
def read_path(text: str) -> Path:
    """A path with ``strict`` or ``lax`` before it; strict without.

    :raises InvalidPath: the path has no meaning.
    """
    mode = _MODE.fullmatch(text)
    lax = mode is not None and mode[1].lower() == "lax"
    plain = (text if mode is None else mode[2]).strip()
    if not plain:
        raise InvalidPath("the JSON path is empty")
    steps = tuple(_read(plain[1:] if plain.startswith("$") else f".{plain}", text))
    return Path(plain, lax, steps)


def _read(path: str, whole: str) -> Iterator[Step]:
    at = 0
    while at < len(path):
        if path.startswith("..", at):
            yield Step("SCAN")
            # what follows the second point is as after one point
            at += 1 if path[at + 2 : at + 3] != "[" else 2
        if path.startswith(".[", at):
            at += 1
        if path.startswith("[", at):
            step, at = _bracket(path, at + 1, whole)
            yield step
        elif path.startswith(".*", at):
            yield Step("ALL")
            at += 2
        else:
            key = _KEY.match(path, at + 1) if path[at] == "." else None
            if key is None:
                raise InvalidPath(f"the JSON path {whole!r} is wrong at {path[at:]!r}: write keys as .key or ['key']")
            if path[key.end() :] == "()" and key[0] in _SIZES:
                yield Step("SIZE", key[0])
                return
            if path.startswith("(", key.end()):
                raise NotImplementedError(f"functions in JSON paths ({key[0]}() in {whole!r}) are not supported")
            yield Step("KEYS", (key[0],))
            at = key.end()


def _bracket(path: str, at: int, whole: str) -> tuple[Step, int]:
    """The step in brackets, and where it ends."""
    everything = re.compile(r"\s*\*\s*\]").match(path, at)
    if everything is not None:
        return Step("ALL"), everything.end()
    numbers = _NUMBERS.match(path, at)
    if numbers is not None:
        places = numbers[0].rstrip("]").split(",")
        return Step("PLACES", tuple(-1 if "last" in place else int(place) for place in places)), numbers.end()
    part = _SLICE.match(path, at)
    if part is not None:
        return Step("SLICE", tuple(None if bound is None else int(bound) for bound in part.groups())), part.end()
    if path.startswith("?", at):
        found, end = read_filter(path, at + 1, whole)
        return Step("FILTER", found), end
    names = []
    while True:
        name = _NAME.match(path, at)
        if name is None:
            raise InvalidPath(f"the JSON path {whole!r} is wrong at {path[at - 1 :]!r}: write [0], [*] or ['key']")
        names.append(re.sub(r"\\(.)", r"\1", name[1] if name[1] is not None else name[2]))
        at = name.end()
        if name[3] == "]":
            return Step("KEYS", tuple(names)), at


def _walk(value: Any, steps: tuple[Step, ...], at: int, definite: bool) -> Iterator[Any]:
    """The values that the steps from ``at`` on lead to. ``definite``: so were all steps before."""
    if at == len(steps):
        yield value
        return
    step, last = steps[at], at + 1 == len(steps)
    further = definite and step.definite
    if step.kind == "SIZE":
        yield from _size(value, step.value)
    elif step.kind == "KEYS":
        yield from _keys(value, steps, at, definite)
    elif step.kind == "ALL":
        for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            yield from _walk(each, steps, at + 1, False)
    elif step.kind == "SCAN":
        for each in _descendants(value):
            if not last:
                yield from _walk(each, steps, at + 1, False)
    elif step.kind == "FILTER":
        matches: Filter = step.value
        for each in value if isinstance(value, list) else [value] if isinstance(value, dict) else ():
            if matches(each):
                yield from _walk(each, steps, at + 1, False)
    elif not isinstance(value, list):
        if definite:
            raise MissingPath(f"positions are of arrays, not of {type(value).__name__}")
    elif step.kind == "SLICE":
        for each in value[slice(*step.value)]:
            yield from _walk(each, steps, at + 1, False)
    else:
        for place in step.value:
            if -len(value) <= place < len(value):
                yield from _walk(value[place], steps, at + 1, further)


def _size(value: Any, name: str) -> Iterator[int]:
    """Elements of an array or fields of an object; ``length()`` counts the characters of a text, too."""
    if isinstance(value, (list, dict)) or (isinstance(value, str) and name == "length"):
        yield len(value)


def _keys(value: Any, steps: tuple[Step, ...], at: int, definite: bool) -> Iterator[Any]:
    names, last = steps[at].value, at + 1 == len(steps)
    if not isinstance(value, dict):
        if definite:
            raise MissingPath(f"{names[0]!r} is looked for in what is no object")
    elif len(names) > 1 and last:
        yield {name: value[name] for name in names if name in value}
    else:
        for name in names:
            if name in value:
                yield from _walk(value[name], steps, at + 1, definite and len(names) == 1)
            elif definite and not last:
                raise MissingPath(f"there is no {name!r}")


def _descendants(value: Any) -> Iterator[Any]:
    yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _descendants(each)


# Parsed columns

INVALID = object()
"""what text that is no JSON is parsed to"""
NULL = object()
"""JSON's null: a value, where None is no text at all"""


class Documents:
    """The parsed values of a column, in place of the column for ``by_row``."""

    null_count = 0

    def __init__(self, column: pa.Array) -> None:
        self._values = [None if text is None else _parsed(text) for text in column.to_pylist()]

    def to_pylist(self) -> list[Any]:
        return self._values


_last: tuple[weakref.ref[Any], Documents] | None = None


def _parsed(text: str) -> Any:
    try:
        found = read_json(text)
    except ValueError:
        return INVALID
    return NULL if found is None else found


def documents(column: Any) -> tuple[Any, Prepare]:
    """A column, or constant, and what ``by_row`` has to prepare so that it sees what the JSON says, ``NULL`` for null,
    ``INVALID`` for what is no JSON. The column that was asked for last is still known: a query reads several fields of
    one column."""
    global _last
    if isinstance(column, pa.Scalar):
        return column, {0: _parsed}
    last = _last  # another thread may change it
    if last is None or last[0]() is not column:
        _last = last = (weakref.ref(column, _forget), Documents(column))
    return last[1], {}


def _forget(column: weakref.ref[Any]) -> None:
    global _last
    last = _last
    if last is not None and last[0] is column:
        _last = None


def by_document(call: Call, args: Sequence[Column], function: Callable[..., Any]) -> Column:
    """``function`` of a parsed document, a path (or the error of a wrong one) and the other arguments, which may be
    NULL."""

    def of(document: Any, path: Any, *others: Any) -> Any:
        return None if document is None or path is None else function(document, path, *others)

    read, prepare = documents(args[0])
    return by_row(call, [read, *args[1:]], of, prepare={**prepare, 1: _path}, nulls=True)


def _path(text: str) -> Path | InvalidPath:
    try:
        return read_path(text)
    except InvalidPath as error:
        return error


def find(document: Any, path: Path | InvalidPath) -> Any:
    """What is at the path: None for JSON's null, and where a lax path leads nowhere.

    :raises ValueError: a strict path leads nowhere, or the text is no JSON.
    """
    if isinstance(path, InvalidPath):
        raise path
    if document is INVALID:
        if path.lax:
            return None
        raise ValueError("the text is not JSON")
    if document is NULL:
        raise MissingPath("nothing is in JSON's null")
    return path.find(document)


def has_null(document: Any, path: Path | InvalidPath) -> bool:
    """Whether the path leads to a null of JSON: that is a value, and neither an error nor nothing."""
    return isinstance(path, Path) and document is not INVALID and document is not NULL and path.leads(document)


def word_of(options: dict[str, Any], name: str, default: str, known: Sequence[str]) -> str:
    """An option, whichever of the front ends wrote it: EMPTY ARRAY or EMPTY_ARRAY."""
    word = str(options.get(name) or default).upper().replace("_", " ")
    if word not in known:
        raise SignatureError(f"it takes {', '.join(known)} {name.replace('_', ' ').upper()}, not {word}")
    return word


def check_path(args: Sequence[Rex]) -> None:
    """What is not supported is said before anything runs. A path without meaning is an error of the call, though."""
    path = args[1] if len(args) > 1 else None
    if isinstance(path, Literal) and isinstance(path.value, str):
        try:
            read_path(path.value)
        except InvalidPath:
            pass
        except NotImplementedError as error:
            raise SignatureError(f"it takes a simpler path: {error}") from error


# Single values as SQL types

JSON_NUMBERS = (t.IntegralType, t.FloatType, t.DoubleType, t.DecimalType)


def scalar_converter(data_type: DataType) -> Callable[[Any], Any]:
    """What makes a value of a type of a single value of JSON; it raises ValueError or ArithmeticError if it cannot."""
    if is_text(data_type):
        return lambda value: str(value).lower() if isinstance(value, bool) else storable(str(value))
    if isinstance(data_type, t.BooleanType):
        return _boolean
    if isinstance(data_type, t.IntegralType):
        return lambda value: _whole(_number(value), data_type)
    if isinstance(data_type, t.DecimalType):
        return lambda value: _decimal(_number(value), data_type)
    return lambda value: float(_number(value))


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if value not in ("true", "false"):
        raise ValueError(f"{value!r} is not BOOLEAN")
    return bool(value == "true")


def _number(value: Any) -> Decimal:
    if isinstance(value, bool):
        raise ValueError(f"{value} is not a number")
    try:
        return Decimal(value)
    except InvalidOperation as error:
        raise ValueError(f"{value!r} is not a number") from error


def _whole(value: Decimal, data_type: t.IntegralType) -> int:
    if not value.is_finite():
        raise ValueError(f"{value} is not a number")
    found = int(value.to_integral_value(ROUND_DOWN))
    if not -(2 ** (data_type.bits - 1)) <= found < 2 ** (data_type.bits - 1):
        raise ValueError(f"{found} is too large for {data_type}")
    return found


def _decimal(value: Decimal, data_type: t.DecimalType) -> Decimal:
    try:
        found = value.quantize(Decimal(1).scaleb(-data_type.scale), ROUND_HALF_UP)
    except InvalidOperation:
        found = None
    if found is None or len(found.as_tuple().digits) > data_type.precision:
        raise ValueError(f"{value} is too large for {data_type}")
    return found


# JSON_QUERY

_QUERY_WORDS = ("NULL", "ERROR", "EMPTY ARRAY", "EMPTY OBJECT")
_WRAPPERS = ("WITHOUT", "CONDITIONAL", "UNCONDITIONAL")


def _wrapper(options: dict[str, Any]) -> str:
    plain = {**options, "wrapper": str(options.get("wrapper") or "WITHOUT").upper().removesuffix("_ARRAY")}
    return word_of(plain, "wrapper", "WITHOUT", _WRAPPERS)


def _infer_query(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
    check_path(args)
    returning = options.get("returning") or STRING
    element = returning.element_type if isinstance(returning, t.ArrayType) else returning
    array = element is not returning
    if not (is_text(element) or (array and isinstance(element, (t.BooleanType, *JSON_NUMBERS)))):
        raise SignatureError(f"it takes RETURNING STRING or an ARRAY of STRING, BOOLEAN or numbers, not {returning}")
    _wrapper(options)
    for name in ("on_empty", "on_error"):
        if word_of(options, name, "NULL", _QUERY_WORDS) == "EMPTY OBJECT" and array:
            raise SignatureError(
                f"it takes no EMPTY OBJECT {name.replace('_', ' ').upper()} where an ARRAY is returned"
            )
    return takes(TEXT, TEXT, result=returning, nullable=True)(args, options)


@scalar(
    "JSON_QUERY",
    _infer_query,
    syntax="JSON_QUERY(json, path [RETURNING type] [{WITHOUT | WITH [UN]CONDITIONAL} WRAPPER] "
    "[{NULL | EMPTY ARRAY | EMPTY OBJECT | ERROR} ON {EMPTY | ERROR}])",
)
def json_query(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    options = dict(call.options)
    wrapper = _wrapper(options)
    words = {name: word_of(options, name, "NULL", _QUERY_WORDS) for name in ("on_empty", "on_error")}
    finish = _finisher(call.type)
    array = isinstance(call.type, t.ArrayType)

    def otherwise(name: str, error: Exception) -> Any:
        if words[name] == "ERROR":
            raise ValueError(f"JSON_QUERY: {error}") from error
        return {"NULL": None, "EMPTY ARRAY": [] if array else "[]", "EMPTY OBJECT": "{}"}[words[name]]

    def query(document: Any, path: Any) -> Any:
        try:
            found = find(document, path)
            if found is None and has_null(document, path):
                return None
            wrap = wrapper == "UNCONDITIONAL" or (wrapper == "CONDITIONAL" and not isinstance(found, list))
            if found is not None and wrap:
                found = [found]
            if isinstance(found, (dict, list)):
                return finish(found)
            if found is not None and not path.lax:
                raise ValueError(f"{path.text} leads to a single value: use WITH WRAPPER or JSON_VALUE")
        except (ValueError, ArithmeticError) as error:
            return otherwise("on_error", error)
        return otherwise("on_empty", ValueError("nothing is at the path"))

    return by_document(call, args, query)


def _finisher(data_type: DataType) -> Callable[[Any], Any]:
    """What makes the result of an object or array."""
    if not isinstance(data_type, t.ArrayType):
        return write_json
    text = is_text(data_type.element_type)
    convert = scalar_converter(data_type.element_type)
    kind: Any = bool if isinstance(data_type.element_type, t.BooleanType) else (int, Decimal)

    def elements(found: Any) -> list[Any]:
        if isinstance(found, dict):
            raise ValueError("an object is not an ARRAY")
        return [None if each is None else element(each) for each in found]

    def element(value: Any) -> Any:
        if text:
            return write_json(value) if isinstance(value, (dict, list)) else convert(value)
        if not isinstance(value, kind):
            raise ValueError(f"the element {value} is not {data_type.element_type}")
        return convert(value)

    return elements


# IS JSON, JSON_EXISTS, JSON_VALUE

# -- IS JSON ----------------------------------------------------------------------------------------------------------

_KINDS: dict[str, Callable[[Any], bool]] = {
    "VALUE": lambda value: True,
    "OBJECT": lambda value: isinstance(value, dict),
    "ARRAY": lambda value: isinstance(value, list),
    "SCALAR": lambda value: not isinstance(value, (dict, list)),
}


def _kind(options: dict[str, Any]) -> str:
    return word_of(options, "kind", "VALUE", tuple(_KINDS))


def _infer_is_json(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
    _kind(options)
    return takes(TEXT, result=BOOLEAN_TYPE, nullable=False)(args, options)


@scalar("IS JSON", _infer_is_json, aliases=("IS_JSON",), syntax="string IS JSON [VALUE | SCALAR | ARRAY | OBJECT]")
def is_json(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    """NULL is no JSON: FALSE."""
    wanted = _KINDS[_kind(dict(call.options))]

    def check(document: Any) -> bool:
        return document is not None and document is not INVALID and wanted(document)

    read, prepare = documents(args[0])
    return by_row(call, [read], check, prepare=prepare, nulls=True)


# -- JSON_EXISTS ------------------------------------------------------------------------------------------------------

_EXISTS = {"TRUE": True, "FALSE": False, "UNKNOWN": None, "ERROR": None}


def _infer_exists(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
    check_path(args)
    word_of(options, "on_error", "FALSE", tuple(_EXISTS))
    return takes(TEXT, TEXT, result=BOOLEAN_TYPE, nullable=True)(args, options)


@scalar("JSON_EXISTS", _infer_exists, syntax="JSON_EXISTS(json, path [{TRUE | FALSE | UNKNOWN | ERROR} ON ERROR])")
def json_exists(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    on_error = word_of(dict(call.options), "on_error", "FALSE", tuple(_EXISTS))

    def exists(document: Any, path: Any) -> bool | None:
        try:
            return find(document, path) is not None
        except ValueError as error:
            if on_error == "ERROR":
                raise ValueError(f"JSON_EXISTS: {error}") from error
            return _EXISTS[on_error]

    return by_document(call, args, exists)


# -- JSON_VALUE -------------------------------------------------------------------------------------------------------

_VALUE_WORDS = ("NULL", "ERROR", "DEFAULT")
_EVENTS = ("on_empty", "on_error")
"""options; ``default_on_empty`` and ``default_on_error`` are the places of the arguments with the values for DEFAULT"""


def _infer_value(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
    check_path(args)
    returning = options.get("returning") or STRING
    if not isinstance(returning, (t.BooleanType, *JSON_NUMBERS)) and not is_text(returning):
        raise SignatureError(f"it takes RETURNING a STRING, BOOLEAN or number, not {returning}")
    for name in _EVENTS:
        if word_of(options, name, "NULL", _VALUE_WORDS) == "DEFAULT" and f"default_{name}" not in options:
            raise SignatureError(f"it takes DEFAULT with a value {name.replace('_', ' ').upper()}")
    if len(args) < 2 or not all(is_text(arg.type) or isinstance(arg.type, t.NullType) for arg in args[:2]):
        raise SignatureError("it takes (STRING, path)")
    wanted = [arg.type if is_text(arg.type) else STRING for arg in args[:2]]
    as_text = is_text(returning)  # a BOOLEAN becomes JSON's true or false then, and not the TRUE of a CAST
    defaults = [
        arg.type if as_text and isinstance(arg.type, t.BooleanType) else returning.with_nullable(arg.type.is_nullable)
        for arg in args[2:]
    ]
    return signature([*wanted, *defaults], returning, True)


@scalar(
    "JSON_VALUE",
    _infer_value,
    syntax="JSON_VALUE(json, path [RETURNING type] [{NULL | ERROR | DEFAULT value} ON {EMPTY | ERROR}])",
)
def json_value(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    convert = scalar_converter(call.type)
    options = dict(call.options)

    def otherwise(name: str, defaults: Sequence[Any], error: Exception) -> Any:
        word = options.get(name) or "NULL"
        if word == "ERROR":
            raise ValueError(f"JSON_VALUE: {error}") from error
        found = defaults[options[f"default_{name}"] - 2] if word == "DEFAULT" else None
        return convert(found) if isinstance(found, bool) else found

    def value(document: Any, path: Any, *defaults: Any) -> Any:
        try:
            found = find(document, path)
            if isinstance(found, (dict, list)) and not path.lax:
                raise ValueError(f"{path.text} leads to an object or array, not to a single value")
            if found is not None and not isinstance(found, (dict, list)):
                return convert(found)
            if found is None and has_null(document, path):
                return None
        except (ValueError, ArithmeticError) as error:
            return otherwise("on_error", defaults, error)
        return otherwise("on_empty", defaults, ValueError("nothing is at the path"))

    return by_document(call, args, value)
