"""What Flink refuses fails here, too, and what fails before it runs with Flink does not run here."""

from __future__ import annotations

import pytest
from tests.flink import corpus
from tests.flink.asking import Asked, answers, new_environment, streamed
from tests.flink.known import ERRORS

STATEMENTS = corpus.errors()


def stage_of_failure(statement: str) -> str | None:
    environment = new_environment(corpus.STREAMING)
    try:
        if not statement.startswith("SELECT"):
            environment.execute_sql(statement)
            return None
        plan = environment.sql_query(statement)._plan
    except Exception:
        return "plan"
    try:
        streamed(Asked(environment, plan))
    except Exception:
        return "run"
    return None


@pytest.mark.parametrize("statement", STATEMENTS)
def test_it_fails_as_with_flink(statement: str) -> None:
    found = answers("errors").get(statement)
    assert found is not None, f"Flink was never asked {statement}: run `make flink RECORD=1`"
    stage, wanted = stage_of_failure(statement), found[corpus.STREAMING]
    # To be refused earlier than with Flink is what a user would rather have.
    agrees = stage == wanted or (stage, wanted) == ("plan", "run")
    if statement in ERRORS:
        assert not agrees, f"{statement} fails as with Flink: take it out of the list of known differences"
    else:
        assert agrees, f"{statement} fails at {stage}, with Flink at {wanted}"


def test_known_differences_are_in_the_corpus() -> None:
    assert set(ERRORS) <= set(STATEMENTS)
