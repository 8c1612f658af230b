"""The options that Flink declares: names, types and defaults, as its own classes say.

``flink_keys.tsv`` is written by ``scripts/flink_options/collect.py``, which asks several versions of Flink.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources

__all__ = ["Fact", "flink_facts"]

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
    text = resources.files("millrace.configuration.declared").joinpath("flink_keys.tsv").read_text("utf-8")
    for line in text.splitlines():
        key, type_, default, older, version = line.split("\t")
        yield Fact(key, type_, default, tuple(older.split()), version)
