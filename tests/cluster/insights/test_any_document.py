"""Whatever a document says, or leaves out, the rules give sentences and never fail."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.cluster.documents import NOW, id_of, job, metrics, vertex

from millrace.cluster.documents import (
    CheckpointDocument,
    CheckpointsDocument,
    EpochDocument,
    ExceptionDocument,
    HeavyKey,
)
from millrace.cluster.durable_files import decode, encode
from millrace.cluster.insights.readings import Finding
from millrace.cluster.insights.rules import SEVERITIES, insights

share = st.none() | st.floats(0, 1)
mark = st.none() | st.sampled_from([-(2**63), 2**63 - 1, 0, NOW, NOW - 7_200_000, -(10**17)])
count = st.sampled_from([0, 1, 100, 10**12])
subtask = st.fixed_dictionaries(
    {
        "state": st.sampled_from(["RUNNING", "FINISHED", "CREATED", "FAILED"]),
        "records_in": count,
        "records_out": count,
        "busy": share,
        "backpressured": share,
        "idle": share,
        "watermark": mark,
        "metrics": mark.map(lambda value: metrics(A__currentOutputWatermark=value, numLateRecordsDropped=5, B="text")),
    }
)
NAMES = ["A", "B -> C", "D", "E"]
DESCRIBED = {"C": "Window(TumblingEventTimeWindows(60000, 0), EventTimeTrigger())"}
made = st.fixed_dictionaries(
    {
        "subtasks": st.lists(subtask, max_size=3),
        "after": st.lists(st.sampled_from([*NAMES, "gone"]), max_size=2, unique=True),
        "heavy_keys": st.lists(st.builds(HeavyKey, st.text(max_size=3), st.floats(0, 1)), max_size=2).map(tuple),
    }
)
epochs = st.lists(
    st.builds(
        EpochDocument,
        number=count,
        began=st.just(NOW),
        duration=st.sampled_from([0, 1000]),
        records=count,
        watermark=mark,
        phases=st.dictionaries(st.sampled_from(["plan", "start", "commit", "other"]), st.floats(0, 2000)),
    ),
    max_size=8,
)
checkpoints = st.lists(
    st.builds(
        CheckpointDocument,
        id=count,
        savepoint=st.booleans(),
        status=st.sampled_from(["COMPLETED", "FAILED", "IN_PROGRESS"]),
        triggered=st.just(NOW),
        duration=st.sampled_from([0, 10**9]),
        failure=st.none() | st.sampled_from(["", "no space\nleft"]),
    ),
    max_size=5,
)
failures = st.lists(
    st.builds(ExceptionDocument, st.just("a.B"), st.sampled_from(["", "\n", "x.py:1"]), st.just(""), st.just(NOW)),
    max_size=4,
)
states = st.sampled_from(["RUNNING", "RESTARTING", "FAILED", "FINISHED", "CREATED"])


@given(st.lists(made, max_size=4), epochs, checkpoints, failures, states)
def test_there_are_only_whole_sentences(
    vertices: list[dict[str, Any]],
    epochs: list[EpochDocument],
    checkpoints: list[CheckpointDocument],
    failures: list[ExceptionDocument],
    state: str,
) -> None:
    document = job(
        *(vertex(name, descriptions=DESCRIBED, **each) for name, each in zip(NAMES, vertices)),
        state=state,
        epochs=tuple(epochs),
        checkpoints=CheckpointsDocument(history=tuple(checkpoints)),
        exceptions=tuple(failures),
    )
    found = insights(document)
    assert decode(encode(found), list[Finding]) == found
    for each in found:
        assert each.severity in SEVERITIES and each.question in ("slow", "silent", "failing")
        assert each.text and each.advice.endswith(".")
        assert "None" not in each.text and "nan" not in each.text.lower().split()
        assert each.vertex is None or each.vertex in {id_of(name) for name in NAMES}
