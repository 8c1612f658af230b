"""Which cluster takes the jobs of a session."""

from __future__ import annotations

import pytest

from millrace.cluster import client
from millrace.cluster.client import Cluster, NoClusterError
from millrace.cluster.gateway.sql_session import asked_for, nearest

ONE, TWO = Cluster("/one", "http://localhost:8081", "a"), Cluster("/two", "http://localhost:8082", "b")
REMOTE, AT_TWO = {"execution.target": "remote"}, {"rest.port": "8082"}


@pytest.mark.parametrize(
    ("running", "settings", "asked", "near"),
    [
        ([], {}, None, None),
        ([ONE], {}, None, ONE),
        ([ONE], {"execution.target": "local"}, None, None),
        ([ONE], {"spark.master": "local[2]"}, None, None),
        ([ONE], REMOTE, ONE, ONE),
        ([ONE, TWO], AT_TWO, None, TWO),
        ([ONE, TWO], {**REMOTE, **AT_TWO}, TWO, TWO),
        ([], REMOTE, "no cluster runs", "no cluster runs"),
        ([ONE], {**REMOTE, **AT_TWO}, "localhost:8082", "localhost:8082"),
        ([ONE, TWO], {}, None, "several clusters run"),
    ],
)
def test_the_cluster(
    running: list[Cluster],
    settings: dict[str, str],
    asked: Cluster | str | None,
    near: Cluster | str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(client, "clusters", lambda: running)
    for find, wanted in ((asked_for, asked), (nearest, near)):
        if isinstance(wanted, str):
            with pytest.raises(NoClusterError, match=wanted):
                find(settings)
        else:
            assert find(settings) is wanted
