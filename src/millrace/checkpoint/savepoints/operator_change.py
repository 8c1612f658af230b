"""Whether the state of an operator is of the same query and of the same keys as the operator of today."""

from __future__ import annotations

from typing import Any

from millrace.checkpoint.savepoints.metadata import Metadata
from millrace.checkpoint.savepoints.state_file import StateFile
from millrace.checkpoint.values.compatibility import describe_type, type_text
from millrace.checkpoint.values.stored_types import compare_stored
from millrace.runtime.jobs.job import OperatorInfo
from millrace.runtime.state.info import KEYED

Described = dict[str, Any]

_ALIKE = {
    **dict.fromkeys(("BYTE", "SHORT", "INT", "LONG", "BIG_INT"), "whole"),
    **dict.fromkeys(("FLOAT", "DOUBLE"), "float"),
    **dict.fromkeys(("CHAR", "STRING"), "text"),
}
"""types whose values are of one Python class"""


def operator_change(metadata: Metadata, info: OperatorInfo) -> str | None:
    """Why the state that an operator left is none for the operator of its uid now; None: it is, as far as that is
    known."""
    place = metadata.by_uid[info.uid]
    changed = place.changed(info)
    return _other_keys(metadata, info) if changed is None else f"its query {changed}"


def _other_keys(metadata: Metadata, info: OperatorInfo) -> str | None:
    if info.key_type is None:
        return None  # the tasks look at what comes
    now = describe_type(info.key_type)
    before = metadata.key_types.get(info.uid)
    if before is not None:
        return None if _same_keys(before, now) else f"its keys were {type_text(before)} and are {type_text(now)} now"
    saved = metadata.saved.get(info.uid)
    stored = () if saved is None else saved.files
    wrong = next(filter(None, (_stored_otherwise(file, now) for file in stored if file.scope == KEYED)), None)
    return None if wrong is None else f"its keys are {type_text(now)} now, and {wrong}"


def _same_keys(before: Described, now: Described) -> bool:
    """Whether keys of one type can be equal to keys of another one. Names of fields are no matter."""
    kinds = before["type"], now["type"]
    if "PICKLED" in kinds:
        return True  # that may be anything
    if _ALIKE.get(kinds[0], kinds[0]) != _ALIKE.get(kinds[1], kinds[1]):
        return False
    parts = before.get("fields", ()), now.get("fields", ())
    return len(parts[0]) == len(parts[1]) and all(map(_same_keys, *parts))


def _stored_otherwise(file: StateFile, now: Described) -> str | None:
    column = file.columns.get("key")
    verdict = "same" if column is None else compare_stored("", {"value": column}, now)
    return None if verdict == "same" else verdict.partition(": ")[2]
