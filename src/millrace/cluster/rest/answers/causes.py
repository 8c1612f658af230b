"""Causes of failures, as they stand in answers."""

from __future__ import annotations

from typing import TypedDict

from millrace.util.secrets import mask_text

Cause = TypedDict("Cause", {"class": str, "stack-trace": str, "serialized-throwable": str})


def cause(kind: str, text: str) -> Cause:
    """A cause. There is no Java object that could be serialized."""
    return {"class": kind, "stack-trace": mask_text(text), "serialized-throwable": ""}


def cause_of(error: BaseException) -> Cause:
    """The cause that an exception is: its class and text; stacks of the server itself are nobody's business."""
    kind = type(error).__name__
    return cause(kind, f"{kind}: {error}")
