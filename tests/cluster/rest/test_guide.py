"""The examples of docs/guide/rest.md are run, with curl, against samples: they answer what stands there."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.rest.client import sample_holder
from tests.cluster.rest.samples import SamplePrograms, job_id

from millrace.cluster.rest.app import make_app
from millrace.cluster.rest.serving import RestServer
from millrace.cluster.rest.settings import Binding, RestSettings

GUIDE = Path(__file__).parents[3] / "docs" / "guide" / "rest.md"
EXAMPLES = re.findall(r"```sh\n(.*?)```\n\n```json\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)


def says(actual: Any, shown: Any) -> bool:
    """Does an answer have all that is shown of it?"""
    if isinstance(shown, dict) and isinstance(actual, dict):
        return all(name in actual and says(actual[name], value) for name, value in shown.items())
    if isinstance(shown, list) and isinstance(actual, list):
        return len(shown) == len(actual) and all(map(says, actual, shown))
    return bool(actual == shown)


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == 8


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
@pytest.mark.parametrize(("command", "shown"), EXAMPLES)
def test_an_example_answers_what_stands_there(tmp_path: Path, command: str, shown: str) -> None:
    server = RestServer(make_app(sample_holder(), SamplePrograms(), RestSettings(token="t0ken")), Binding(ports=[0]))
    server.start()
    environment = {**os.environ, "MILLRACE": server.address, "TOKEN": "t0ken", "JOB": job_id(1)}
    text = re.sub(r"^curl", "echo; curl", command, flags=re.MULTILINE)  # answers have no line ends of their own
    try:
        done = subprocess.run(
            ["bash", "-euc", text], capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=120
        )
    finally:
        server.stop()
    assert done.returncode == 0, done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines() if line]
    assert says(answers, [json.loads(line) for line in shown.splitlines()]), done.stdout
