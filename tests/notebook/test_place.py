"""A place whose content is replaced: not more than ten times a second, and the last content always."""

from __future__ import annotations

from typing import Any

import pytest

from millrace.notebook.cells import ReplacedOutput

display = pytest.importorskip("IPython.display")


class Shown:
    def __init__(self) -> None:
        self.contents: list[str] = []

    def __call__(self, content: dict[str, str], **_: Any) -> Shown:
        self.contents.append(content["text/plain"])
        return self

    update = __call__


def test_at_most_ten_times_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    shown, now = Shown(), [0.0]
    monkeypatch.setattr(display, "display", shown)
    place = ReplacedOutput(lambda: now[0])
    for step in range(100):
        now[0] = step / 100
        place.show(lambda: "", lambda step=step: str(step))  # type: ignore[misc]
    assert 9 <= len(shown.contents) <= 10
    place.show(lambda: "", lambda: "end", last=True)
    assert shown.contents[-1] == "end"
