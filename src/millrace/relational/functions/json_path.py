"""Paths into JSON with the semantics of Jayway JsonPath, which Flink uses, and the filters in them: ``(@.price < 10 &&
@.title)``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import lru_cache
from typing import Any

from millrace.util.record import Record

# Filters

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
