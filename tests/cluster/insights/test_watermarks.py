"""Event time that stands still is explained by what holds it."""

from __future__ import annotations

from typing import Any

from tests.cluster.documents import NOW, id_of, job, metrics, vertex

from millrace.cluster.documents import JobDocument
from millrace.cluster.insights.readings import Finding
from millrace.cluster.insights.rules import watermarks

WINDOWS = {"Window": "Window(TumblingEventTimeWindows(3600000, 0), EventTimeTrigger(), sum)"}


def given(value: int | None, records: int = 10, **more: Any) -> dict[str, Any]:
    return {"records_out": records, "metrics": metrics(orders__currentOutputWatermark=value), **more}


def pipeline(sources: list[dict[str, Any]], windows: list[dict[str, Any]], **values: Any) -> JobDocument:
    return job(
        vertex("Source: orders", sources),
        vertex("Window", windows, after=["Source: orders"], descriptions=WINDOWS),
        **values,
    )


def found(document: JobDocument) -> dict[str, Finding]:
    return {each.rule: each for each in watermarks(document)}


GOT = {"records_in": 20, "records_out": 1, "watermark": NOW}


def test_nothing_is_said_where_time_moves() -> None:
    assert found(pipeline([given(NOW), given(NOW - 2_000)], [GOT])) == {}


def test_sources_without_watermarks_are_named() -> None:
    one = found(pipeline([given(None)], [{"records_in": 20}]))["no-watermarks"]
    assert one.severity == "error" and one.vertex == id_of("Window")
    assert "20 records" in one.text and "“Source: orders” gives none" in one.text


def test_the_least_watermark_counts_as_none() -> None:
    lowest = -(2**63)
    assert set(found(pipeline([given(lowest)], [{"records_in": 20, "watermark": lowest}]))) == {"no-watermarks"}


def test_a_subtask_that_has_read_nothing_holds_all_back() -> None:
    one = found(pipeline([given(NOW), given(None, 0)], [{"records_in": 20}]))["watermark-held-back"]
    assert (one.severity, one.vertex, one.subtask) == ("error", id_of("Source: orders"), 1)
    assert "subtask 1 of “Source: orders” has none and has read nothing at all" in one.text
    assert "with_idleness" in one.advice


def test_an_idle_subtask_is_told_from_a_late_one() -> None:
    behind = NOW - 7_200_000
    window = {"records_in": 20, "records_out": 1, "watermark": behind}
    idle = found(pipeline([given(NOW), given(behind, 5, idle=0.99)], [window]))["watermark-held-back"]
    late = found(pipeline([given(NOW), given(behind, 5, idle=0.1)], [window]))["watermark-held-back"]
    assert "2 h behind the others, idle after 5 records" in idle.text and "with_idleness" in idle.advice
    assert "held back at 2023-11-14 20:13:20 UTC" in late.text and "alignment" in late.advice


def test_one_subtask_is_reported_once_for_all_that_wait() -> None:
    sources = vertex("Source: orders", [given(NOW), given(None, 0)])
    waiting = [vertex(name, [{"records_in": 20}], after=["Source: orders"]) for name in ("A", "B")]
    assert len(list(watermarks(job(sources, *waiting)))) == 1


def test_one_that_is_marked_as_idle_holds_nothing_back() -> None:
    assert found(pipeline([given(NOW), given(None, 0)], [GOT])) == {}
    assert found(pipeline([given(NOW), given(NOW - 7_200_000, 5, idle=1.0)], [GOT])) == {}


def test_an_input_that_gives_none_at_all() -> None:
    rules = vertex("Source: rules", [{"records_out": 3}])
    orders = vertex("Source: orders", [given(NOW)])
    both = vertex("Join", [{"records_in": 20}], after=["Source: orders", "Source: rules"])
    one = found(job(rules, orders, both))["input-without-watermarks"]
    assert one.vertex == id_of("Source: rules") and "“Join”: of its inputs, “Source: rules” gives none" in one.text
    done = vertex("Source: rules", [{"state": "FINISHED"}])
    assert found(job(done, orders, both)) == {}


def test_a_finished_subtask_holds_nothing_back() -> None:
    assert found(pipeline([given(NOW), given(None, 0, state="FINISHED")], [GOT])) == {}


def test_the_end_of_input_is_no_lead() -> None:
    assert found(pipeline([given(2**63 - 1), given(NOW)], [GOT])) == {}


def test_windows_that_are_still_open() -> None:
    one = found(pipeline([given(NOW)], [{"records_in": 20, "records_out": 0, "watermark": NOW}]))["windows-open"]
    assert one.severity == "hint" and "windows of 1 h" in one.text and "2023-11-14 22:13:20 UTC" in one.text
    assert found(pipeline([given(NOW)], [GOT])) == {}


def test_late_records_with_their_share() -> None:
    window = {**GOT, "records_in": 200, "metrics": metrics(Window__numLateRecordsDropped=30)}
    assert "dropped 30 records that came too late, 15 %" in found(pipeline([given(NOW)], [window]))["late-records"].text
    window["metrics"] = metrics(Window__numLateRecordsDropped=1)
    assert found(pipeline([given(NOW)], [window])) == {}


def test_batch_jobs_and_ended_jobs_wait_for_nothing() -> None:
    assert found(pipeline([given(None)], [{"records_in": 20}], batch=True)) == {}
    assert found(pipeline([given(None)], [{"records_in": 20}], state="FINISHED", ended=NOW)) == {}
