"""A configuration key: its name, type and default as Flink declares them, and its rule in Millrace.

A rule says that a key works, maps to a setting of Spark, has no effect, or is refused. ``flink_keys.tsv`` is written by
``scripts/flink_options/collect.py``, which asks several versions of Flink.
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
"""The Flink version whose declarations take precedence."""


@dataclass(frozen=True)
class Fact:
    """The declaration of an option."""

    key: str
    """name of the option; a part in angle brackets is the user's choice: ``metrics.reporter.<name>.class``"""
    type: str = "string"
    """type of its values: ``boolean``, ``int``, ..., ``enum:A|B``, ``list:string``"""
    default: str = ""
    """default as text; empty: none"""
    older: tuple[str, ...] = ()
    """deprecated names, and keys that the option falls back on"""
    version: str = NEWEST
    """last version of Flink that has the option"""


def flink_facts() -> Iterator[Fact]:
    """The declarations of all of Flink's options, sorted by key."""
    text = resources.files("millrace.configuration").joinpath("flink_keys.tsv").read_text("utf-8")
    for line in text.splitlines():
        key, type_, default, older, version = line.split("\t")
        yield Fact(key, type_, default, tuple(older.split()), version)


# Effects of keys


class Effect(Enum):
    """The effect of setting a key; the value is its name in the documentation."""

    WORKS = "works"
    MAPPED = "Spark"
    IGNORED = "no effect"
    REFUSED = "refused"


@dataclass(frozen=True)
class Rule:
    """The effect of one or several keys, and its reason."""

    keys: tuple[str, ...]
    """the keys' new names; a name that ends with ``*`` stands for all keys with that prefix"""
    effect: Effect
    note: str
    """the keys' effect here, or why they have none, and the nearest alternative"""
    same: tuple[str, ...] = ()
    """values that describe what Millrace does anyway; empty: Flink's default does"""
    reader: str = ""
    """module that reads working keys, without ``millrace.``"""
    spark: tuple[str, ...] = ()
    """Spark's keys that receive the value; a name that ends with ``.<key>`` receives each entry of a map"""
    takes: str = ""
    """a type that accepts more values than Flink's"""
    computed: bool = False
    """whether Spark's values are computed from several of Flink's keys"""


class Topic(NamedTuple):
    """Keys of one subject: a section of the documentation page."""

    title: str
    rules: tuple[Rule, ...]


def topic(title: str, *rules: Rule) -> Topic:
    """A topic with its rules, in the order of the documentation page."""
    return Topic(title, rules)


def works(keys: str, reader: str, note: str = "", takes: str = "") -> Rule:
    """A rule for keys (separated by spaces) that work as in Flink."""
    return Rule(tuple(keys.split()), Effect.WORKS, note, reader=reader, takes=takes)


def own(keys: str, reader: str, type_: str, note: str, default: str = "") -> tuple[Rule, tuple[Fact, ...]]:
    """Keys that Flink has not, of one type (as ``Fact.type``): their rule, and what Flink's classes declare of others.

    :param default: as text; empty for none.
    """
    rule = works(keys, reader, note)
    return rule, tuple(Fact(key, type_, default) for key in rule.keys)


def mapped(keys: str, spark: str, note: str = "", computed: bool = False, same: tuple[str, ...] = ()) -> Rule:
    """A rule for keys whose values become settings of a Spark that Millrace starts."""
    return Rule(tuple(keys.split()), Effect.MAPPED, note, same, spark=tuple(spark.split()), computed=computed)


def ignored(keys: str, why: str, *same: str) -> Rule:
    """A rule for keys without effect; ignoring them never changes a result."""
    return Rule(tuple(keys.split()), Effect.IGNORED, why, same)


def refused(keys: str, why: str, *same: str) -> Rule:
    """A rule for keys that must not be ignored: every value is an error, except those that describe what Millrace does
    anyway."""
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
"""Type -> parser of its values, and their description in messages. All other types are text."""


def said(type_: str) -> str:
    """The values of a type, as part of a message."""
    kind, _, rest = type_.partition(":")
    if kind == "enum":
        return f"one of {', '.join(rest.split('|'))}"
    if kind == "list":
        return f"a list with ; between its parts, each {said(rest)}"
    return _PARSERS[type_][1] if type_ in _PARSERS else "text"


def short_name(type_: str) -> str:
    """A type in a word or two, or its possible values."""
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
    """Whether a text is a valid value of a type."""
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
    """The canonical text of a value, equal for equal values: ``1 min`` and ``60 s``, ``True`` and ``true``."""
    kind, _, rest = type_.partition(":")
    if kind == "list":
        return ";".join(canonical(rest, part) for part in config_values.split_list(value))
    if kind == "map" or type_ not in _PARSERS or not is_of(type_, value):
        return _word(value)
    return str(_PARSERS[type_][0](value.strip()))


def _word(value: str) -> str:
    return value.strip().lower().replace("-", "_")
