"""A configuration key: its name, type and default as Flink declares them, and its rule in Millrace.

A rule says that a key works, maps to a setting of Spark, has no effect, or is refused. ``flink_keys.tsv`` is written by
``scripts/flink_options/collect.py``, which asks several versions of Flink.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from importlib import resources
from typing import NamedTuple

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
