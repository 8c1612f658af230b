"""Tables of docs/differences.md, written by ``python -m tests.flink.listing``: what is compared, and what differs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests.flink import corpus, test_suite_programs, test_suite_queries, test_suites
from tests.flink.known import BATCH_QUERIES, ERRORS, EXPRESSIONS, MODES, PROGRAMS, QUERIES, STATEMENTS, TYPES
from tests.flink.suites.known import known
from tests.flink.suites.queries import queries
from tests.flink.suites.reading import sets
from tests.random.known import KNOWN

PAGE = Path(__file__).parents[2] / "docs" / "differences.md"
PARTS = ("functions", "expressions", "aggregates", "programs", "batch", "queries", "queries_batch", "scripts")
SUITES = "what differs from Flink's own tests"
NOT_ASKED = "what is not asked of Flink's own tests"
COMPARED = "how much is compared"
ANSWERS, BOTH_MODES = "what differs from Flink's answers", "what differs between the modes"
LONGEST = 90


def compared() -> str:
    """How large the corpus is."""
    counts = (
        f"{len(corpus.expressions()):,} expressions over five rows",
        f"{len(corpus.queries()):,} queries in the modes that they have a meaning in",
        f"{len(corpus.scripts()):,} statements",
        f"{len(corpus.errors()):,} mistakes",
        f"{sum(len(each.cases) for part in PARTS[:2] for each in sets(part)):,} cases of Flink's own tests of "
        "expressions and functions, and its tests of aggregate functions and of whole programs of tables",
        f"{sum(not each.left for each in queries()):,} queries of Flink's tests that run, over their rows",
    )
    return "\n".join(f"- {each}" for each in counts)


def answers() -> str:
    """A row for each reason, with how often it holds and the shortest of what it holds for."""
    return _table((EXPRESSIONS, TYPES, QUERIES, BATCH_QUERIES, ERRORS, STATEMENTS, PROGRAMS))


def modes() -> str:
    """The same for what differs between streaming and batch mode; of random queries there is only the reason."""
    return "\n".join([_table((MODES,)), *(f"| random queries | | {why} |" for _, why in KNOWN)])


def suites() -> str:
    """The same for Flink's own tests, with how many cases a reason holds for."""
    return _table(tuple(known(part) for part in PARTS)).replace("of the corpus", "cases")


def not_asked() -> str:
    """Why cases of Flink's own tests are not asked, and how many at most: the tests hold the numbers."""
    limits: Counter[str] = Counter()
    for of_part in (test_suites.LEFT, test_suite_programs.LEFT, test_suite_queries.LEFT):
        limits.update(of_part)
    rows = [f"| {count} | {why} |" for why, count in limits.most_common() if count]
    return "\n".join(["| cases at most | why |", "|---|---|", *rows])


def _table(listed: tuple[dict[str, str], ...]) -> str:
    texts: dict[str, list[str]] = {}
    for of_texts in listed:
        for text, reason in of_texts.items():
            texts.setdefault(reason, []).append(text)
    rows = [f"| {_cell(min(found, key=len))} | {len(found)} | {reason} |" for reason, found in texts.items()]
    return "\n".join(["| for example | of the corpus | why |", "|---|---|---|", *rows])


def _cell(text: str) -> str:
    shown = text if len(text) <= LONGEST else text[: LONGEST - 2] + ".."
    return f"`{shown}`".replace("|", "\\|")


def written() -> str:
    """The page with its tables as they are to be."""
    page = PAGE.read_text(encoding="utf-8")
    tables = {COMPARED: compared, ANSWERS: answers, SUITES: suites, NOT_ASKED: not_asked, BOTH_MODES: modes}
    for name, table in tables.items():
        begin, end = f"<!-- {name} -->", f"<!-- end: {name} -->"
        before, rest = page.split(begin)
        page = f"{before}{begin}\n\n{table()}\n\n{end}{rest.split(end)[1]}"
    return page


if __name__ == "__main__":
    PAGE.write_text(written(), encoding="utf-8")
