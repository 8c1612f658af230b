"""docs/rest-differences.md: what differs from Flink's REST API and command line, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.flink.rest.differences import Difference
from tests.flink.rest.known import Known

PAGE = Path(__file__).parents[3] / "docs" / "rest-differences.md"
HEAD = """# What is different from Flink's REST API and command line

Flink 2.3 was asked {asked} requests and command lines (`tests/flink/rest/answers`). Millrace is asked the same; status,
type of content, keys, JSON types, fixed texts, names of metrics and exit codes are compared. This is what differs.

| for example | where | Flink | Millrace | how often | why |
|---|---|---|---|---|---|
"""
LONGEST = 100


def page(asked: int, known: Mapping[Known, Sequence[Difference]]) -> str:
    """The page: a row for each reason, with one of the differences that it holds for."""
    rows = []
    for reason, differences in known.items():
        if differences:
            first = min(differences, key=lambda each: (len(each.asked), each.asked))
            cells = [_code(text) for text in (first.asked, first.place, first.flink, first.ours)]
            rows.append(f"| {' | '.join((*cells, str(len(differences)), reason.reason))} |")
    return HEAD.format(asked=asked) + "".join(f"{row}\n" for row in rows)


def _code(text: str) -> str:
    shown = text if len(text) <= LONGEST else f"{text[: LONGEST - 2]}.."
    return f"`{shown}`".replace("|", "\\|").replace("\n", " ")
