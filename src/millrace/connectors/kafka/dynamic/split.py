"""Splits of several clusters, and what readers and the enumerator tell each other of them."""

from __future__ import annotations

from dataclasses import dataclass

from millrace.common.source import SourceEvent
from millrace.connectors.kafka.split import KafkaSplit

Place = tuple[str, str]
"""cluster and topic"""


@dataclass(frozen=True)
class DynamicSplit:
    """A partition in a cluster."""

    cluster: str
    split: KafkaSplit

    @property
    def split_id(self) -> str:
        return f"{self.cluster} {self.split.split_id}"

    @property
    def place(self) -> Place:
        return self.cluster, self.split.topic


@dataclass(frozen=True)
class Removed(SourceEvent):
    """These topics are not read any more."""

    places: frozenset[Place]


@dataclass(frozen=True)
class Parked(SourceEvent):
    """A reader has stopped reading a split, here."""

    split: DynamicSplit
