"""What Millrace answers to a case: one run of the operator, in the form in which Flink's answers are kept."""

from __future__ import annotations

from typing import Any

from tests.cep.cases import INDEX, LATE, TIMEOUTS, harness_of, script_of
from tests.flink.cep.draw import Case

from millrace.testing.script import Element, ProcessingTime, WatermarkStep

Told = list[Any]
"""[[{pattern: [indexes]}, timestamp], ...]"""


def answer_of(case: Case, *, restoring: bool = False) -> dict[str, Any]:
    """Matches, time-outs and late events; or which error, and whether it came before the first event.

    :param restoring: after every step go on in a new operator, from a snapshot.
    """
    told: dict[str, Any] = {"matches": [], "timeouts": [], "late": []}
    try:
        harness = harness_of(case)
        harness.open()
    except Exception as error:
        return {"refused": "build", "text": f"{type(error).__name__}: {error}"}
    try:
        for step in script_of(case):
            _take(harness, step)
            if restoring:
                _tell(harness, told)
                harness = harness.restored()
        _tell(harness, told)
        harness.close()
    except Exception as error:
        return {"refused": "run", "text": f"{type(error).__name__}: {error}"}
    return told


def _tell(harness: Any, told: dict[str, Any]) -> None:
    """Write down what has come out."""
    harness.end_epoch()
    told["matches"] += [list(value) for value in harness.values]
    told["timeouts"] += [list(record.value) for record in harness.side_output(TIMEOUTS)]
    told["late"] += [record.value[INDEX] for record in harness.side_output(LATE)]


def _take(harness: Any, step: Any) -> None:
    match step:
        case Element(value, timestamp):
            harness.process_element(value, timestamp)
        case WatermarkStep(timestamp):
            harness.process_watermark(timestamp)
        case ProcessingTime(now):
            harness.set_processing_time(now)


def as_bag(told: Told) -> list[tuple[Any, int]]:
    """Matches in no order, each as often as it came."""
    return sorted((sorted((name, tuple(at)) for name, at in match.items()), timestamp) for match, timestamp in told)


def in_order(told: Told) -> list[tuple[Any, int]]:
    return [(sorted((name, tuple(at)) for name, at in match.items()), timestamp) for match, timestamp in told]


def difference(case: Case, ours: dict[str, Any]) -> str:
    """What is otherwise than with Flink; empty if nothing is."""
    theirs = case["answer"]
    if "refused" in theirs:
        early = ours.get("refused") == "build" or ours.get("refused") == theirs["refused"]
        return "" if early else f"Flink refuses it ({theirs['text']}), we answer {ours}"
    if "refused" in ours:
        return f"we refuse it: {ours['text']}"
    for part in ("matches", "timeouts"):
        if as_bag(ours[part]) != as_bag(theirs[part]):
            return f"{part}: Flink {theirs[part]}, we {ours[part]}"
    return "" if sorted(ours["late"]) == sorted(theirs["late"]) else f"late: Flink {theirs['late']}, we {ours['late']}"
