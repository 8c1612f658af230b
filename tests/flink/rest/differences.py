"""What is different between two answers: status, type of content, keys, JSON types, fixed texts, names of metrics."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.flink.rest.answer import NOT_ASKED, Answer
from tests.flink.rest.ask import Ask
from tests.flink.rest.shape import UNBOUNDED
from tests.flink.rest.texts import says

NONE = ("=", "=NaN", f"={UNBOUNDED}", "=-1")
"""values that say that there is none"""


@dataclass(frozen=True)
class Difference:
    """One thing that a server answers otherwise than Flink."""

    asked: str
    """the key of the request"""
    place: str
    """where in the answer: "status", "content-type", or a path like "body/jobs/[]/state" """
    flink: str
    ours: str

    def __str__(self) -> str:
        return f"{self.asked}\n    {self.place}: Flink {self.flink}, here {self.ours}"


def differences(ask: Ask, flink: Answer | None, ours: Answer) -> Iterator[Difference]:
    """What differs, in the order of importance; nothing but the status if that differs in kind."""
    if flink is None:
        yield Difference(ask.key, "recording", "was never asked", str(ours.status))
        return
    for place, one, other in _found(flink, ours):
        yield Difference(ask.key, place, one, other)


def _found(flink: Answer, ours: Answer) -> Iterator[tuple[str, str, str]]:
    if NOT_ASKED in (flink.status, ours.status):
        if flink.status != ours.status:
            yield "status", flink.why or str(flink.status), ours.why or str(ours.status)
        return
    if flink.status != ours.status:
        yield "status", str(flink.status), str(ours.status)
    if (flink.status < 400) != (ours.status < 400):
        return
    if flink.content_type != ours.content_type:
        yield "content-type", flink.content_type or "none", ours.content_type or "none"
    if flink.location != ours.location:
        yield "location", flink.location or "none", ours.location or "none"
    yield from _shapes("body", flink.shape, ours.shape)
    missing = sorted(set(flink.names) - set(ours.names))
    if missing:
        yield "metrics", ", ".join(missing), "without these"


def _shapes(place: str, flink: Any, ours: Any) -> Iterator[tuple[str, str, str]]:
    if isinstance(flink, dict) and isinstance(ours, dict):
        yield from _objects(place, flink, ours)
    elif isinstance(flink, list) and isinstance(ours, list):
        yield from _lists(place, flink, ours)
    elif isinstance(flink, str) and isinstance(ours, str):
        if not _fits(flink, ours):
            yield place, flink, ours
    else:
        yield place, _kind(flink), _kind(ours)


def _objects(place: str, flink: dict[str, Any], ours: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    one = {name.removesuffix("?"): name for name in flink}
    other = {name.removesuffix("?"): name for name in ours}
    for name in sorted(one.keys() | other.keys()):
        here = f"{place}/{name}"
        if name not in other:
            if not one[name].endswith("?"):
                yield here, _kind(flink[one[name]]), "missing"
        elif name not in one:
            yield here, "missing", _kind(ours[other[name]])
        elif not (one[name].endswith("?") and ours[other[name]] == "null"):
            yield from _shapes(here, flink[one[name]], ours[other[name]])


def _lists(place: str, flink: list[Any], ours: list[Any]) -> Iterator[tuple[str, str, str]]:
    texts = [isinstance(each, str) and each.startswith("=") for each in (*flink, *ours)]
    if texts and all(texts):
        # Who reads a message reads what it says, not which class of Java's said it.
        if [says(each) for each in flink] != [says(each) for each in ours]:
            yield place, str(flink), str(ours)
    elif len(flink) != len(ours) and flink and ours:
        yield place, f"has {len(flink)} elements", f"has {len(ours)}"
    elif flink and ours:
        for at, (one, other) in enumerate(zip(flink, ours)):
            yield from _shapes(f"{place}/[{at if len(flink) > 1 else ''}]", one, other)
    elif flink:
        yield place, "has elements", "is empty"


def _fits(flink: str, ours: str) -> bool:
    """Are all types and values of ours among Flink's? Whole numbers may stand for others."""
    allowed = set(flink.split("|"))
    if "num" in allowed:
        allowed.add("int")
    if "str" in allowed:
        allowed |= {each for each in ours.split("|") if each.startswith("=") and each not in NONE}
    return set(ours.split("|")) <= allowed


def _kind(shape: Any) -> str:
    if isinstance(shape, dict):
        return f"an object of {', '.join(shape) or 'nothing'}"
    return "a list" if isinstance(shape, list) else str(shape)
