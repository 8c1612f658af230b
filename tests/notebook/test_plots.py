"""Pictures of running jobs in a cell."""

from __future__ import annotations

from typing import Any

from tests.cluster.documents import NOW, job

from millrace.cluster.client import RestJobClient
from millrace.cluster.documents import EpochDocument
from millrace.notebook.plots import plot

EPOCHS = tuple(EpochDocument(each, NOW + each * 100, 90, 5, None) for each in range(3))


class Jobs:
    def document(self, id: str) -> Any:
        return job(id=id, epochs=EPOCHS)


def test_a_job_of_a_cluster() -> None:
    jobs: Any = Jobs()
    shown = plot(RestJobClient("a" * 32, "http://localhost:8081", jobs=jobs))
    assert shown._repr_html_() == shown.svg
    assert "elements read" in shown.svg
    assert "watermark behind the clock" not in shown.svg  # no watermark has come
