"""What there is to know about a configuration key: its name, type and default as Flink's own classes declare them, and
what becomes of it here (it works, means a setting of Spark, does nothing, or is refused).

``flink_keys.tsv`` is written by ``scripts/flink_options/collect.py``, which asks several versions of Flink.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from importlib import resources
from typing import Any, NamedTuple

from millrace.common import config_values

# What Flink declares

NEWEST = "2.3"
"""The version whose options are asked first."""


@dataclass(frozen=True)
class Fact:
    """An option as it is declared."""

    key: str
    """with a part in angle brackets, ``metrics.reporter.<name>.class``: that part is the user's"""
    type: str = "string"
    """``boolean``, ``int``, ..., ``enum:A|B``, ``list:string``"""
    default: str = ""
    """as text; empty for none"""
    older: tuple[str, ...] = ()
    """names that it had once, or that it falls back on"""
    version: str = NEWEST
    """the last version of Flink that has it"""


def flink_facts() -> Iterator[Fact]:
    """All of them, in the order of their keys."""
    text = resources.files("millrace.configuration").joinpath("flink_keys.tsv").read_text("utf-8")
    for line in text.splitlines():
        key, type_, default, older, version = line.split("\t")
        yield Fact(key, type_, default, tuple(older.split()), version)


# What becomes of keys


class Effect(Enum):
    """What becomes of a key that is set; the value is how the documentation calls it."""

    WORKS = "works"
    MAPPED = "Spark"
    IGNORED = "no effect"
    REFUSED = "refused"


@dataclass(frozen=True)
class Rule:
    """What becomes of some keys, and why."""

    keys: tuple[str, ...]
    """the new names; one that ends with ``*`` stands for all that begin like it"""
    effect: Effect
    note: str
    """what the keys do here, or why they do nothing, and what is nearest"""
    same: tuple[str, ...] = ()
    """values that say what Millrace does anyway; none: Flink's default does"""
    reader: str = ""
    """the module that reads keys which work, without ``millrace.``"""
    spark: tuple[str, ...] = ()
    """Spark's keys that get the value; one that ends with ``.<key>`` gets each entry of a map"""
    takes: str = ""
    """a type that has more values than Flink's"""
    computed: bool = False
    """whether Spark's values are computed from several keys"""


class Topic(NamedTuple):
    """Keys of one subject: a section of the page."""

    title: str
    rules: tuple[Rule, ...]


def topic(title: str, *rules: Rule) -> Topic:
    """The rules of a subject, in the order of the page."""
    return Topic(title, rules)


def works(keys: str, reader: str, note: str = "", takes: str = "") -> Rule:
    """Keys, separated by spaces, that do what they do in Flink."""
    return Rule(tuple(keys.split()), Effect.WORKS, note, reader=reader, takes=takes)


def mapped(keys: str, spark: str, note: str = "", computed: bool = False, same: tuple[str, ...] = ()) -> Rule:
    """Keys whose values become settings of a Spark that Millrace starts."""
    return Rule(tuple(keys.split()), Effect.MAPPED, note, same, spark=tuple(spark.split()), computed=computed)


def ignored(keys: str, why: str, *same: str) -> Rule:
    """Keys that do nothing, which never changes a result."""
    return Rule(tuple(keys.split()), Effect.IGNORED, why, same)


def refused(keys: str, why: str, *same: str) -> Rule:
    """Keys whose values would be wrong to ignore, but for those that say what happens anyway."""
    return Rule(tuple(keys.split()), Effect.REFUSED, why, same)


# Types of values

_PORTS = re.compile(r"none|\d+(-\d+)?(\s*,\s*\d+(-\d+)?)*", re.IGNORECASE)


def _to_ports(text: str) -> str:
    if not _PORTS.fullmatch(text):
        raise ValueError(text)
    return text


_PARSERS: dict[str, tuple[Callable[[Any], object], str]] = {
    "boolean": (config_values.to_boolean, "true or false"),
    "int": (config_values.to_int, "a whole number"),
    "long": (config_values.to_long, "a whole number"),
    "double": (config_values.to_double, "a number"),
    "float": (config_values.to_double, "a number"),
    "duration": (config_values.to_duration, "a span of time, as 500 ms, 10 s or 5 min"),
    "memory": (config_values.to_bytes_count, "a size, as 512 mb or 2 gb"),
    "ports": (_to_ports, "a port, a range as 8081-8090, or none"),
    "map": (config_values.to_map, "key:value pairs with commas between them"),
}
"""Type -> what reads its values, and how values are said. All other types are text."""


def said(type_: str) -> str:
    """What a value of a type is, as part of a message."""
    kind, _, rest = type_.partition(":")
    if kind == "enum":
        return f"one of {', '.join(rest.split('|'))}"
    if kind == "list":
        return f"a list with ; between its parts, each {said(rest)}"
    return _PARSERS[type_][1] if type_ in _PARSERS else "text"


def short_name(type_: str) -> str:
    """A type in a word or two, or the values that there are."""
    kind, _, rest = type_.partition(":")
    if kind == "enum":
        return ", ".join(f"`{value}`" for value in rest.split("|"))
    if kind == "list":
        return "list" if rest == "string" else f"list of {short_name(rest)}"
    return {"string": "text", "duration": "time", "memory": "size", "int": "number", "long": "number"}.get(
        type_, "number" if type_ in ("double", "float") else type_
    )


def values_of(type_: str) -> tuple[str, ...]:
    """All values of a type, if they are few."""
    kind, _, rest = type_.partition(":")
    if kind == "enum":
        return tuple(rest.split("|"))
    return ("true", "false") if type_ == "boolean" else ()


def is_of(type_: str, value: str) -> bool:
    """Whether a text is a value of a type."""
    kind, _, rest = type_.partition(":")
    if kind == "enum":
        return _word(value) in map(_word, rest.split("|"))
    if kind == "list":
        return all(is_of(rest, part) for part in config_values.split_list(value))
    if type_ not in _PARSERS:
        return True
    try:
        _PARSERS[type_][0](value.strip())
    except (ValueError, TypeError):
        return False
    return True


def canonical(type_: str, value: str) -> str:
    """A text that is the same for equal values: ``1 min`` and ``60 s``, ``True`` and ``true``."""
    kind, _, rest = type_.partition(":")
    if kind == "list":
        return ";".join(canonical(rest, part) for part in config_values.split_list(value))
    if kind == "map" or type_ not in _PARSERS or not is_of(type_, value):
        return _word(value)
    return str(_PARSERS[type_][0](value.strip()))


def _word(value: str) -> str:
    return value.strip().lower().replace("-", "_")
