"""Back pressure is traced to what causes it; skew is told with key and share."""

from __future__ import annotations

from tests.cluster.documents import id_of, job, vertex

from millrace.cluster.documents import HeavyKey, SlowDocument
from millrace.cluster.insights.rules import busy_subtasks, heavy_keys, insights, slow_operator, slow_vertices

CALM = {"busy": 0.2, "backpressured": 0.0}
HELD = {"busy": 0.1, "backpressured": 0.9}
HOT = {"busy": 0.97, "backpressured": 0.0}


def test_the_sink_that_all_wait_for() -> None:
    found = list(
        slow_vertices(
            job(
                vertex("Source", [HELD]),
                vertex("Map", [HELD], after=["Source"]),
                vertex("Sink: db", [HOT, CALM], after=["Map"]),
                vertex("Other", [CALM], after=["Source"]),
            )
        )
    )
    assert [(each.rule, each.vertex) for each in found] == [("slow-sink", id_of("Sink: db"))]
    assert "works 97 % of the time" in found[0].text and "and 1 more wait for it, up to 90 %" in found[0].text


def test_a_vertex_in_the_middle_is_no_sink() -> None:
    document = job(
        vertex("Source", [HELD]), vertex("Map", [HOT], after=["Source"]), vertex("Sink", [CALM], after=["Map"])
    )
    assert [each.rule for each in slow_vertices(document)] == ["bottleneck"]


def test_busy_without_anyone_waiting_is_a_hint() -> None:
    assert [(each.rule, each.severity) for each in slow_vertices(job(vertex("Source", [HOT])))] == [
        ("at-limit", "hint")
    ]


def test_several_at_their_limit_are_one_hint() -> None:
    (one,) = slow_vertices(job(vertex("A", [HOT]), vertex("B", [{"busy": 1.0}]), vertex("C", [CALM])))
    assert one.vertex == id_of("B") and "works 100 % of the time, and so nearly do “A”: they limit" in one.text


def test_pressure_without_a_culprit_says_so() -> None:
    document = job(vertex("Source", [HELD]), vertex("Sink", [CALM], after=["Source"]))
    assert [each.rule for each in slow_vertices(document)] == ["held-up"]


def test_a_loop_does_not_lead_round_for_ever() -> None:
    document = job(vertex("A", [HELD], after=["B"]), vertex("B", [HELD], after=["A"]))
    assert [each.rule for each in slow_vertices(document)] == ["held-up", "held-up"]


def test_calm_and_ended_jobs_have_no_bottleneck() -> None:
    assert list(slow_vertices(job(vertex("Source", [CALM])))) == []
    assert list(slow_vertices(job(vertex("Source", [HOT]), state="FINISHED"))) == []


def test_a_heavy_key_with_its_share() -> None:
    keys = (HeavyKey("'unknown'", 0.62), HeavyKey("'de'", 0.1))
    calm, hot = ([load] * 4 for load in (CALM, HOT))
    (one,) = heavy_keys(job(vertex("Count", calm, heavy_keys=keys)))
    assert "62 % of what “Count” gets has the key 'unknown'" in one.text and "even share would be 25 %" in one.text
    assert one.severity == "hint"
    assert [each.severity for each in heavy_keys(job(vertex("Count", hot, heavy_keys=keys)))] == ["warning"]


def test_a_fair_share_is_no_skew() -> None:
    assert list(heavy_keys(job(vertex("Count", [CALM] * 2, heavy_keys=(HeavyKey("a", 0.6),))))) == []
    assert list(heavy_keys(job(vertex("Count", [CALM], heavy_keys=(HeavyKey("a", 1.0),))))) == []


def test_one_busy_subtask_among_idle_ones() -> None:
    loads = [{"busy": 0.05, "records_in": 10}, {"busy": 0.95, "records_in": 80}, {"busy": 0.1, "records_in": 10}]
    (one,) = busy_subtasks(job(vertex("Count", loads)))
    assert (one.subtask, one.vertex) == (1, id_of("Count"))
    assert "works 95 % of the time" in one.text and "got 80 % of the input" in one.text


def test_a_heavy_key_explains_a_busy_subtask() -> None:
    loads = [{"busy": 0.95}, {"busy": 0.05}, {"busy": 0.05}]
    assert list(busy_subtasks(job(vertex("Count", loads, heavy_keys=(HeavyKey("a", 0.9),))))) == []


def test_all_busy_is_not_uneven() -> None:
    assert list(busy_subtasks(job(vertex("Count", [HOT, HOT, CALM])))) == []
    assert list(busy_subtasks(job(vertex("Count", [{"busy": None}, HOT])))) == []


def test_the_operator_that_records_wait_for_comes_first() -> None:
    slow = SlowDocument(id_of("Parse -> Call"), "Call", 102.4, 0.93)
    vertices = (vertex("Source", [HELD]), vertex("Parse -> Call", [HOT, HOT], after=["Source"]))
    found = insights(job(*vertices, slow=slow))
    assert (found[0].rule, found[0].vertex) == ("slow-operator", id_of("Parse -> Call"))
    assert found[0].text == "“Call” takes 102 ms a record, 93 % of the time of this job, and records wait for it."
    assert "give it more than 2 subtasks" in found[0].advice
    assert len(found) > 1
    assert list(slow_operator(job(*vertices))) == []
    assert list(slow_operator(job(*vertices, slow=slow, state="FINISHED"))) == []
