"""Submitting SQL scripts through the gateway: in a second, where `flink run` takes ten."""

from __future__ import annotations

import json
import time
import urllib.request
from typing import Any

from tests.flink.rest import programs

SECONDS = 60


def submit(gateway: str, name: str) -> str:
    """Runs the script of a job and gives the job's id."""
    session = _ask(gateway, "/v2/sessions", {})["sessionHandle"]
    for statement in programs.statements(programs.script(name).read_text("utf-8")):
        operation = _ask(gateway, f"/v2/sessions/{session}/statements", {"statement": statement})["operationHandle"]
        path = f"/v2/sessions/{session}/operations/{operation}/result/0?rowFormat=JSON"
        end = time.monotonic() + SECONDS
        while (result := _ask(gateway, path))["resultType"] == "NOT_READY":
            if time.monotonic() > end:
                raise TimeoutError(f"waited {SECONDS} s for {statement}")
            time.sleep(0.1)
    return str(result["jobID"])


def _ask(gateway: str, path: str, body: object = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(gateway + path, data=data, headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:
        return json.loads(answer.read())
