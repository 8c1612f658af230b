"""A session of Millrace's in a process of its own, and all that a stranger tries on it."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.spark.sessions import held_session
from tests.strangers import as_stranger, below

WRITTEN = "broadcast_777_piece0"
REFUSED = ("SaslMessage", "HTTP 403", "closed", "reset", "timed out", "BadStatusLine", "no words of Spark")


@contextlib.contextmanager
def session(
    folder: Path, *configuration: str, variables: Mapping[str, str] | None = None
) -> Iterator[tuple[dict[str, Any], list[int]]]:
    """What the program says about its session, and the processes that it consists of."""
    command = [sys.executable, held_session.__file__, str(folder), *configuration]
    environment = {**os.environ, **(variables or {})}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) as held:
        assert held.stdin is not None and held.stdout is not None
        try:
            told = json.loads(held.stdout.readline())
            yield told, sorted({*below(held.pid), *below(told["java"])})
        finally:
            held.stdin.close()


def attacked(told: Mapping[str, Any], ports: Iterable[int]) -> dict[str, list[dict[str, Any]]]:
    """What each attack on each port has come to."""
    application = told["application"]
    attacks = {
        "read": (application, "broadcast_0_piece0"),
        "write": (application, WRITTEN, told["metadata"], "cafe"),
        "call": ("endpoint-verifier",),
        "page": ("/environment/",),
    }
    tried = [(port, call, arguments) for call, arguments in attacks.items() for port in ports]
    found: dict[str, list[dict[str, Any]]] = {call: [] for call in attacks}
    for (_, call, _), answer in zip(tried, as_stranger(*tried), strict=True):
        found[call].append(answer)
    return found


def assert_closed(told: Mapping[str, Any], ports: Iterable[int], servers: int) -> None:
    """Nothing is had there.

    :param servers: how many of the ports are those of Spark's own servers, at least.
    """
    found = attacked(told, ports)
    for call, answers in found.items():
        for answer in answers:
            assert any(word in answer.get("refused", "") for word in REFUSED), (call, answer)
    for call in ("read", "write", "call"):
        said = [each for each in found[call] if "SaslMessage" in each["refused"]]
        assert len(said) >= servers, f"Spark's own servers have asked for the secret: {found[call]}"
