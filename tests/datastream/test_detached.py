"""A program that hands its job to a cluster and does not wait: ``execution.attached: false``."""

from __future__ import annotations

from typing import Any

import pytest

from millrace.cluster import client
from millrace.common import Configuration, JobID
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.settings import set_submitter

ID = "0" * 31 + "7"


class Client:
    """A job of a cluster that never ends."""

    def get_job_id(self) -> JobID:
        return JobID(ID)

    def wait(self) -> str:
        return "waited"


def executed(monkeypatch: pytest.MonkeyPatch, **options: str) -> Any:
    monkeypatch.setattr(client, "cluster_named", lambda configuration: None)
    monkeypatch.setattr(client, "hand_over", lambda job, cluster: Client())
    configuration = Configuration()
    for key, value in {"execution.target": "remote", **options}.items():
        configuration.set_string(key.replace("_", "."), value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.from_collection([1]).print()
    return env.execute("job")


def test_it_knows_the_id_only(monkeypatch: pytest.MonkeyPatch) -> None:
    result = executed(monkeypatch, execution_attached="false")
    assert str(result.get_job_id()) == ID
    assert str(result) == f"DetachedJobExecutionResult: JobID={ID}"
    for ask in (result.get_net_runtime, result.get_all_accumulator_results, result.get_metrics):
        with pytest.raises(RuntimeError, match="was submitted, and not waited for"):
            ask()
    with pytest.raises(RuntimeError, match="not waited for"):
        result.get_accumulator_result("count")


@pytest.mark.parametrize("options", [{}, {"execution_attached": "true"}])
def test_otherwise_it_is_waited_for(monkeypatch: pytest.MonkeyPatch, options: dict[str, str]) -> None:
    assert executed(monkeypatch, **options) == "waited"


def test_a_command_has_decided_already(monkeypatch: pytest.MonkeyPatch) -> None:
    set_submitter(lambda submission: Client())  # type: ignore[arg-type, return-value]
    try:
        assert executed(monkeypatch, execution_attached="false") == "waited"
    finally:
        set_submitter(None)
