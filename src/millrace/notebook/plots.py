"""The progress of a job as a picture in a cell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millrace.cluster.client import RestJobClient
from millrace.cluster.insights.readings import plotted
from millrace.cluster.publishing import LocalControl

if TYPE_CHECKING:
    from millrace.cluster.documents import JobDocument
    from millrace.spark.jobs.client import LocalJobClient


class Plot:
    """A picture that a notebook shows, and that can be written to a file."""

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def _repr_html_(self) -> str:
        return self.svg


def plot(client: LocalJobClient | RestJobClient) -> Plot:
    """Elements read, watermark and epochs of a job, of its last 200 epochs.

    :param client: what ``execute_async()`` gives, or a ``RestJobClient``.
    :raises NoCourseError: it has not completed two epochs yet, or is in batch mode.
    """
    return Plot(plotted(_document(client)).svg())


def _document(client: LocalJobClient | RestJobClient) -> JobDocument:
    return client.document() if isinstance(client, RestJobClient) else LocalControl(client).document()
