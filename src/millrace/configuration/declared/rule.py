"""What becomes of configuration keys here: they work, mean settings of Spark, do nothing, or are refused."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

__all__ = ["Effect", "Rule", "ignored", "mapped", "refused", "works"]


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
