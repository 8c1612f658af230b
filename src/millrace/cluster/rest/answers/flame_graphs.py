"""Flame graphs and threads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from millrace.cluster.documents.threads import FrameDocument, ThreadDocument
from millrace.util.secrets import mask_text

TERMINATED = -1
"""in place of a time: what is asked for does not run"""


class Frame(TypedDict):
    """A frame, how often it was seen, and the frames that it called."""

    name: str
    value: int
    children: list[Frame]


class _Graph(TypedDict):
    endTimestamp: int


class VertexFlameGraph(_Graph, total=False):
    """The graph; without data where nothing runs."""

    data: Frame


class ThreadInfo(TypedDict):
    """A thread with its stack."""

    threadName: str
    stringifiedThreadInfo: str


class ThreadDumpInfo(TypedDict):
    """The threads."""

    threadInfos: list[ThreadInfo]


def flame_graph(root: FrameDocument, now: int) -> VertexFlameGraph:
    return {"endTimestamp": now, "data": _frame(root)}


def _frame(frame: FrameDocument) -> Frame:
    return {"name": frame.name, "value": frame.value, "children": [_frame(each) for each in frame.children]}


def thread_dump(threads: Sequence[ThreadDocument]) -> ThreadDumpInfo:
    """The threads; what they say of themselves is masked, stacks may show arguments."""
    return {
        "threadInfos": [{"threadName": each.name, "stringifiedThreadInfo": mask_text(each.text)} for each in threads]
    }
