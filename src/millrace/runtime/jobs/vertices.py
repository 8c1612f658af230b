"""The vertices of a job: the chains of operators that count as one task each, as Flink names and shows them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from millrace.runtime.jobs.job import EdgeInfo, OperatorInfo


@dataclass(frozen=True)
class Input:
    """From which vertex a vertex gets elements, and how they are spread."""

    vertex: str
    ship_strategy: str


@dataclass(frozen=True)
class Vertex:
    """One chain of operators."""

    id: str
    name: str
    head: int
    """id of its first operator"""
    operators: tuple[int, ...]
    """ids, in topological order"""
    stage: int
    offset: int
    """partition of the stage in which subtask 0 lives"""
    parallelism: int
    max_parallelism: int
    slot_group: str
    inputs: tuple[Input, ...]
    leaving: tuple[int, ...]
    """operators with an edge that leads out of the chain"""


def hex_id(text: str) -> str:
    """32 hexadecimal digits, always the same ones for a text."""
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def vertices_of(operators: Sequence[OperatorInfo], edges: Sequence[EdgeInfo]) -> tuple[Vertex, ...]:
    """The vertices, in topological order; the id of each comes from the uid of its first operator, as in Flink."""
    chains: dict[int, list[OperatorInfo]] = {}
    for info in operators:
        chains.setdefault(info.head, []).append(info)
    head_of = {info.id: info.head for info in operators}
    ids = {head: hex_id(f"vertex {chain[0].uid}") for head, chain in chains.items()}
    inputs: dict[int, dict[Input, None]] = {head: {} for head in chains}
    leaving: dict[int, set[int]] = {head: set() for head in chains}
    for edge in edges:
        above, below = head_of[edge.source], head_of[edge.target]
        if above != below:
            inputs[below][Input(ids[above], edge.partitioner.ship_strategy)] = None
            leaving[above].add(edge.source)
    return tuple(
        Vertex(
            ids[head],
            chain[0].chain,
            head,
            tuple(info.id for info in chain),
            chain[0].stage,
            chain[0].offset,
            chain[0].parallelism,
            chain[0].max_parallelism,
            chain[0].slot_group,
            tuple(inputs[head]),
            tuple(sorted(leaving[head])),
        )
        for head, chain in chains.items()
    )
