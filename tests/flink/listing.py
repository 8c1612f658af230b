"""The table of known differences in docs/differences.md, written by ``python -m tests.flink.listing``."""

from __future__ import annotations

from pathlib import Path

from tests.flink.known import BATCH_QUERIES, ERRORS, EXPRESSIONS, PROGRAMS, QUERIES, TYPES

PAGE = Path(__file__).parents[2] / "docs" / "differences.md"
BEGIN, END = "<!-- what tests/flink/known.py says -->", "<!-- the end of it -->"
LONGEST = 90


def table() -> str:
    """A row for each reason, with how often it holds and the shortest of what it holds for."""
    texts: dict[str, list[str]] = {}
    for known in (EXPRESSIONS, TYPES, QUERIES, BATCH_QUERIES, ERRORS, PROGRAMS):
        for text, reason in known.items():
            texts.setdefault(reason, []).append(text)
    rows = [f"| {_cell(min(found, key=len))} | {len(found)} | {reason} |" for reason, found in texts.items()]
    return "\n".join(["| for example | of the corpus | why |", "|---|---|---|", *rows])


def _cell(text: str) -> str:
    shown = text if len(text) <= LONGEST else text[: LONGEST - 2] + ".."
    return f"`{shown}`".replace("|", "\\|")


def page_with(text: str) -> str:
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n\n{text}\n\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    PAGE.write_text(page_with(table()), encoding="utf-8")
