"""Answers as they are kept: a line of JSON each, in one file for each server."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.flink.rest.ask import Ask
from tests.flink.rest.send import Answered
from tests.flink.rest.shape import merged, metric_names, shape
from tests.flink.rest.texts import constant

FOLDER = Path(__file__).with_name("answers")
NOT_ASKED = 0
"""the status of a request that could not be sent: an answer before did not bring what it needs"""


@dataclass(frozen=True)
class Answer:
    """What a server answered to a request: facts alone, in a form that is the same each time."""

    status: int
    content_type: str = ""
    location: str = ""
    shape: Any = None
    names: tuple[str, ...] = ()
    """of metrics, where the answer is a list of them"""
    why: str = ""
    """why it was not asked"""


def answer_of(ask: Ask, answered: Answered) -> Answer:
    """The facts of a response."""
    listed = "metrics" in ask.path or ask.path.endswith("watermarks")
    if listed and _has_ended(ask) and isinstance(answered.body, list):
        # Whether metrics of a job are still there when it has ended is chance: an empty list fits every list.
        return Answer(answered.status, answered.content_type.replace(" ", "").lower(), shape=[])
    names = tuple(metric_names(answered.body)) if listed and "get=" not in ask.query else ()
    content_type = answered.content_type.replace(" ", "").lower()
    return Answer(answered.status, content_type, constant(answered.location), _shape(ask, answered), names)


def _has_ended(ask: Ask) -> bool:
    kinds = {re.split(r"[.#]", value)[0].removeprefix("@") for value in ask.given.values()}
    return bool(kinds & {"finished", "failed", "canceled", "batch", "restarting"})


def _shape(ask: Ask, answered: Answered) -> Any:
    if not isinstance(answered.body, str):
        return shape(answered.body)
    if not answered.body:
        return ""
    return "html" if answered.body.lstrip().startswith("<") else "text"


def widened(kept: Answer, other: Answer) -> Answer:
    """An answer that has what both have: Flink itself does not always answer the same. Statuses must be the same."""
    if kept.status != other.status or kept.status >= 400:
        return kept
    names = tuple(sorted(set(kept.names) & set(other.names)))
    return replace(kept, shape=merged((kept.shape, other.shape)), names=names)


def write(surface: str, answers: Iterable[tuple[Ask, Answer]], folder: Path = FOLDER) -> None:
    """Keeps the answers of a server, in the order in which they came."""
    lines = [json.dumps(_entry(ask, answer), ensure_ascii=False) for ask, answer in answers if ask.surface == surface]
    (folder / f"{surface}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _entry(ask: Ask, answer: Answer) -> dict[str, Any]:
    """One line; method, path and the rest of the ask are there for readers, who look for a fact in the file."""
    entry: dict[str, Any] = {"method": ask.method, "path": ask.path}
    asked = {"about": ask.about, "given": dict(ask.given), "query": ask.query, "upload": ask.upload}
    entry |= {name: each for name, each in asked.items() if each}
    if ask.body is not None:
        entry["body"] = ask.body
    entry |= {"status": answer.status, "content-type": answer.content_type}
    said = {"location": answer.location, "names": list(answer.names), "why": answer.why}
    return entry | {name: each for name, each in said.items() if each} | {"shape": answer.shape}


def read(surface: str, folder: Path = FOLDER) -> dict[str, Answer]:
    """The kept answers of a server, by the keys of what was asked."""
    found = {}
    for line in (folder / f"{surface}.jsonl").read_text("utf-8").splitlines():
        entry = json.loads(line)
        ask = Ask(
            surface,
            entry["method"],
            entry["path"],
            entry.get("about", ""),
            query=entry.get("query", ""),
            body=entry.get("body"),
            upload=entry.get("upload", ""),
        )
        found[ask.key] = Answer(
            entry["status"],
            entry["content-type"],
            entry.get("location", ""),
            entry["shape"],
            tuple(entry.get("names", ())),
            entry.get("why", ""),
        )
    return found
