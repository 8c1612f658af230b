"""The requests in docs/guide/sql-gateway.md get the answers that it shows."""

from __future__ import annotations

import json
import re
import shlex
import time
from pathlib import Path
from typing import Any

from tests.cluster.rest.client import Client

from millrace.cluster.gateway.gateway import Gateway
from millrace.cluster.gateway.routes import make_gateway_app
from millrace.cluster.rest.settings import RestSettings

PAGE = Path(__file__).parents[3] / "docs" / "guide" / "sql-gateway.md"
_EXAMPLE = re.compile(r"```bash\ncurl -s (?P<request>.*?)\n```\n\n```json\n(?P<answer>.*?)\n```", re.DOTALL)


def same(shown: Any, given: Any) -> bool:
    """Whether an answer is as shown, where "..." stands for any text."""
    if isinstance(shown, dict):
        return shown.keys() == given.keys() and all(same(shown[key], given[key]) for key in shown)
    if isinstance(shown, list):
        return len(shown) == len(given) and all(map(same, shown, given))
    return bool(given) if shown == "..." else shown == given


def test_examples(gateway: Gateway) -> None:
    http = Client(make_gateway_app(gateway, RestSettings()))
    known = {"$GATEWAY": ""}
    examples = _EXAMPLE.findall(PAGE.read_text("utf-8"))
    assert len(examples) == PAGE.read_text("utf-8").count("curl -s") == 7
    for request, answer in examples:
        words = shlex.split(request)
        method = words[words.index("-X") + 1] if "-X" in words else "GET"
        body = {"content": words[words.index("-d") + 1]} if "-d" in words else {}
        (path,) = (word for word in words if word.startswith("$GATEWAY"))
        for name, value in known.items():
            path = path.replace(name, value)
        if path.endswith("result/0?rowFormat=JSON"):
            _wait(http, path.partition("/result")[0])
        given = http.call(method, path, **body).json()
        assert same(json.loads(answer), given), f"{request}\n{given}"
        known |= {f"${key.removesuffix('Handle').upper()}": value for key, value in given.items() if "Handle" in key}


def _wait(http: Client, operation: str) -> None:
    deadline = time.monotonic() + 30
    while http.get(f"{operation}/status").json()["status"] in ("PENDING", "RUNNING"):
        assert time.monotonic() < deadline, "the statement is not over"
