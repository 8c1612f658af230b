"""Whether what is really stored fits a declared type: for state that was declared to hold any Python value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from millrace.checkpoint.values.compatibility import INCOMPATIBLE, SAME, type_text
from millrace.checkpoint.values.contents import LIST_KINDS, MAP_KINDS

__all__ = ["compare_stored"]

Described = dict[str, Any]

_PICKLED = "PICKLED"
_WHOLE = frozenset({"BYTE", "SHORT", "INT", "LONG", "BIG_INT", "FLOAT", "DOUBLE", "BIG_DEC"})
_FITS: dict[str, frozenset[str]] = {
    "int": _WHOLE,
    "big int": _WHOLE,
    "float": frozenset({"FLOAT", "DOUBLE"}),
    "bool": frozenset({"BOOLEAN"}),
    "str": frozenset({"STRING", "CHAR"}),
    "str with surrogates": frozenset({"STRING", "CHAR"}),
    "bytes": frozenset({"BYTES"}),
    "decimal": frozenset({"BIG_DEC"}),
    "date": frozenset({"DATE"}),
    "time": frozenset({"TIME"}),
    "datetime": frozenset({"TIMESTAMP"}),
    "tuple": frozenset({"TUPLE", "ROW"}),
    "tuples": frozenset({"TUPLE", "ROW"}),
    "list": frozenset({"LIST"}),
    "lists": frozenset({"LIST"}),
    "dict": frozenset({"MAP", "ROW"}),
    "dicts": frozenset({"MAP", "ROW"}),
    "row": frozenset({"ROW"}),
    "uuid": frozenset(),
    "enum": frozenset(),
    "named tuple": frozenset({"TUPLE", "ROW"}),
}
"""form of a column -> types that its values are of; forms that are not here tell too little"""
_INSTANT = "millrace.common.time:Instant"


def compare_stored(kind: str, columns: Mapping[str, Described], declared: Described) -> str:
    """``same``, or ``incompatible: ...`` if the columns of a state (of a table kind or distribution) hold other values
    than its declared type says. What is pickled is taken to fit."""
    if kind in LIST_KINDS and declared["type"] == "LIST":
        parts = [("element", columns["value"], declared["element"])]
    elif kind in MAP_KINDS and declared["type"] == "MAP":
        parts = [("key", columns["map_key"], declared["key"]), ("value", columns["value"], declared["value"])]
    else:
        parts = [("", columns["value"], declared)]
    found = [wrong for path, stored, wanted in parts for wrong in _misfits(stored, wanted, path)]
    return f"{INCOMPATIBLE}: {'; '.join(found)}" if found else SAME


def _misfits(stored: Described, wanted: Described, path: str) -> Iterator[str]:
    form, type_name = stored["form"], wanted["type"]
    if type_name == _PICKLED:
        return
    if form == "dataclass":
        fits = frozenset({"INSTANT"}) if stored["class"]["name"] == _INSTANT else frozenset({"ROW"})
    elif form in _FITS:
        fits = _FITS[form]
    else:
        return
    if type_name not in fits:
        yield f"{path + ': ' if path else ''}stored values are of the form {form!r}, not {type_text(wanted)}"
        return
    for name, inner, part in _parts(stored, wanted):
        yield from _misfits(inner, part, f"{path}.{name}" if path else name)


def _parts(stored: Described, wanted: Described) -> Iterator[tuple[str, Described, Described]]:
    """What both know of what is inside: its name, how it is stored, its type."""
    if wanted["type"] == "LIST":
        yield from ((f"{place}", each, wanted["element"]) for place, each in enumerate(stored.get("columns", ())))
        if "element" in stored:
            yield "element", stored["element"], wanted["element"]
    elif wanted["type"] == "MAP":
        yield from ((name, each, wanted["value"]) for name, each in _fields(stored))
        if "key" in stored:
            yield "key", stored["key"], wanted["key"]
            yield "value", stored["value"], wanted["value"]
    elif wanted["type"] == "TUPLE":
        yield from (
            (f"f{place}", each, part)
            for place, (each, part) in enumerate(zip(stored.get("columns", ()), wanted["fields"]))
        )
    elif wanted["type"] == "ROW":
        types = dict(zip(wanted.get("names", ()), wanted["fields"]))
        yield from ((name, each, types[name]) for name, each in _fields(stored) if name in types)


def _fields(stored: Described) -> Iterator[tuple[str, Described]]:
    names = stored["class"]["fields"] if "class" in stored else stored.get("names") or ()
    yield from zip(names, stored.get("columns", ()))
