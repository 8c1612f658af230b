"""What is plotted of a job's last epochs."""

from __future__ import annotations

import pytest
from tests.cluster.documents import NOW, job

from millrace.cluster.documents import EpochDocument
from millrace.cluster.insights.readings import NoCourseError, courses, plotted
from millrace.runtime.elements import MAX_WATERMARK

EPOCHS = (
    EpochDocument(1, NOW, 100, 50, None),
    EpochDocument(2, NOW + 500, 200, 10, NOW - 300),
    EpochDocument(3, NOW + 1_500, 100, 7, NOW + 5_000),
    EpochDocument(4, NOW + 1_700, 100, 0, MAX_WATERMARK),
)


def test_courses() -> None:
    read, behind, took = courses(job(epochs=EPOCHS))
    assert read.points == ((NOW, 100.0), (NOW + 500, 10.0), (NOW + 1_500, 35.0))
    assert behind.points == ((NOW + 500, 1.0), (NOW + 1_500, 0))
    assert took.points == ((NOW, 100.0), (NOW + 500, 200.0), (NOW + 1_500, 100.0), (NOW + 1_700, 100.0))


def test_the_picture_names_the_job() -> None:
    assert plotted(job(name="orders", epochs=EPOCHS)).svg().count("orders: throughput") == 1


@pytest.mark.parametrize(("batch", "said"), [(False, "has not completed two epochs"), (True, "is in batch mode")])
def test_nothing_to_plot(batch: bool, said: str) -> None:
    with pytest.raises(NoCourseError, match=said):
        plotted(job(batch=batch, epochs=EPOCHS[:1]))
