"""Causes of failures, as they stand in answers."""

from __future__ import annotations

from typing import TypedDict

from millrace.util.secrets import mask_text

Cause = TypedDict("Cause", {"class": str, "stack-trace": str, "serialized-throwable": str})


def cause(kind: str, text: str) -> Cause:
    """A cause. There is no Java object that could be serialized."""
    return {"class": kind, "stack-trace": mask_text(text), "serialized-throwable": ""}
