"""What REST serves for the dashboard beyond Flink's paths."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cluster.dashboard.holder import Programs, StoryHolder
from tests.cluster.documents import id_of
from tests.cluster.rest.client import Client

from millrace.cluster.insights.rules import insights
from millrace.cluster.rest.app import make_app
from millrace.cluster.rest.settings import RestSettings


def client(**settings: Any) -> Client:
    app = make_app(StoryHolder(lambda: 1_700_000_000.0), Programs(), RestSettings(**settings))
    return Client(app)


def test_insights_are_those_of_the_document() -> None:
    id = id_of("orders")
    job = StoryHolder(lambda: 1_700_000_000.0).job(id)
    assert job is not None
    answer = client().get(f"/millrace/jobs/{id}/insights")
    assert answer.status_code == 200
    assert [each["text"] for each in answer.json()] == [each.text for each in insights(job)]
    assert {each["rule"] for each in answer.json()} == {"watermark-held-back", "slow-sink", "skewed-key"}


def test_the_loop_of_restarts_is_told_in_words() -> None:
    (finding,) = client().get(f"/millrace/jobs/{id_of('Clicks')}/insights").json()
    assert finding["question"] == "failing" and "could not convert string to float" in finding["text"]


def test_insights_of_an_unknown_job() -> None:
    assert client().get(f"/millrace/jobs/{'0' * 32}/insights").status_code == 404


@pytest.mark.parametrize("path", [None, "sql"])
def test_features_name_the_gateway_if_there_is_one(path: str | None) -> None:
    assert client(sql=path).get("/millrace/features").json() == {"sql": path}


def test_the_page_comes_with_a_policy_and_its_scripts_with_their_type() -> None:
    page = client().get("/")
    assert page.status_code == 200 and "script-src 'self'" in page.headers["content-security-policy"]
    script = client().get("/app/main.js")
    assert script.headers["content-type"].split(";")[0] in ("text/javascript", "application/javascript")
