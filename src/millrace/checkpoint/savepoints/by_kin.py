"""Operators of a query whose derived uid has changed, found by what stands before them.

A uid that nobody has given follows from the names of all operators before it, so a query that gets another projection,
or whose aggregate is computed in two phases, has other ones. Its state is none the less of the same groups or rows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from millrace.checkpoint.savepoints.metadata import Metadata
from millrace.runtime.coordination.snapshot import OperatorPlace, same_state
from millrace.runtime.jobs.job import JobGraph

V = TypeVar("V")
_DERIVED = re.compile(r"[0-9a-f]{32}")


def found_by_kin(job: JobGraph, metadata: Metadata) -> dict[str, str]:
    """uid of an operator now -> its uid in the savepoint or checkpoint, of those that have another one, and of which
    only one can be meant."""
    here = {info.uid for info in job.operators}
    left = [place for place in metadata.operators if place.uid not in here and _DERIVED.fullmatch(place.uid)]
    known = metadata.by_uid
    found: dict[str, str] = {}
    for info in job.operators:
        if info.uid in known or not _DERIVED.fullmatch(info.uid):
            continue
        meant = _only([place for place in left if same_state(place, info)])
        if meant is not None:
            found[info.uid] = meant.uid
    return {uid: before for uid, before in found.items() if list(found.values()).count(before) == 1}


def _only(places: list[OperatorPlace]) -> OperatorPlace | None:
    return places[0] if len(places) == 1 else None


def with_uids_of_now(metadata: Metadata, uids: Mapping[str, str]) -> Metadata:
    """The metadata as if the operators had had the uids of now."""
    if not uids:
        return metadata
    now = {before: uid for uid, before in uids.items()}

    def renamed(by_uid: Mapping[str, V]) -> dict[str, V]:
        return {now.get(uid, uid): value for uid, value in by_uid.items()}

    return replace(
        metadata,
        operators=tuple(replace(place, uid=now.get(place.uid, place.uid)) for place in metadata.operators),
        states=renamed(metadata.states),
        saved=renamed(metadata.saved),
        key_types=renamed(metadata.key_types),
    )
