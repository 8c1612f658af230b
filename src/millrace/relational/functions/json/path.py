"""Paths into JSON, with the semantics of Jayway JsonPath, which Flink uses.

``$``, ``.key``, ``['key']``, ``['a', 'b']``, ``[0]``, ``[-1]``, ``[last]``, ``[1, 2]``, ``[1:3]``, ``.*``, ``[*]``,
``..key``, ``[?(@.price < 10)]``, and ``size()`` or ``length()`` at the end. A path without wildcard, list, slice, scan
or filter is definite: it leads to one value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from millrace.relational.functions.json.filter import Filter, read_filter
from millrace.util.record import Record

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
    """Nothing is where a definite path leads."""


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
    """By one key or place a step."""
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
