"""What is said again and again is told once in a while."""

from __future__ import annotations

import logging
import re

import pytest

from millrace.util.logs import NotAgain


def record(text: str) -> logging.LogRecord:
    return logging.LogRecord("client", logging.WARNING, __file__, 1, "FAIL %s", (text,), None)


def test_texts_come_once_in_so_many_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    once = NotAgain(60, re.compile(r"client-\d+|\d+ms"))
    texts = ("client-1: refused after 0ms", "client-2: refused after 7ms", "client-1: no route")
    assert [once.filter(record(text)) for text in texts] == [True, False, True]
    now = 159.0
    assert not once.filter(record(texts[0]))
    now = 160.0
    assert once.filter(record(texts[1]))
