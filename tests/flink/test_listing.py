"""docs/differences.md says which answers are not Flink's, and which differ between the modes."""

from __future__ import annotations

from tests.flink.listing import PAGE, PARTS, not_asked, suites, written
from tests.flink.suites import known
from tests.flink.suites.aggregates import aggregate_cases
from tests.flink.suites.programs import programs
from tests.flink.suites.queries import queries
from tests.flink.suites.reading import sets
from tests.flink.suites.scripts import scripts


def test_the_page_has_the_lists() -> None:
    assert PAGE.read_text(encoding="utf-8") == written(), "run `python -m tests.flink.listing`"


def test_each_case_that_is_not_as_flinks_has_a_row_of_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    rows = {line.rpartition(" | ")[2] for line in suites().splitlines()}
    for part in PARTS:
        for key, reason in known.known(part).items():
            assert f"{reason} |" in rows, f"{key} has no reason"
            assert f"| {reason} |\n" in page, f"{key}: {reason}"
    assert {path.stem for path in known.FOLDER.glob("*.txt")} == set(PARTS), "a list that the page does not have"
    assert not_asked() in page


def test_each_case_that_is_listed_is_one_of_flinks_tests() -> None:
    expressions = {part: {case.key for each in sets(part) for case in each.cases} for part in PARTS[:2]}
    of_queries = {query.key for query in queries()}
    cases = {
        **expressions,
        "batch": set().union(*expressions.values()),
        "aggregates": {case.key for case in aggregate_cases()},
        "programs": {program.key for program in programs()},
        "queries": of_queries,
        "queries_batch": of_queries,
        "scripts": {statement.key for script in scripts() for statement in script.statements},
    }
    assert cases.keys() == set(PARTS)
    gone = {part: known.known(part).keys() - found for part, found in cases.items()}
    assert not any(gone.values()), gone
