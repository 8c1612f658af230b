"""Which calls count as waiting, by the names under which programs know them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.lint.linting import found_in, written

PROGRAM = """\
import asyncio, random, subprocess, time
import time as clock
import httpx, requests
from time import sleep
from urllib.request import urlopen
from millrace.common import Time
from millrace.datastream import AsyncDataStream, StreamExecutionEnvironment
from millrace.datastream.functions import AsyncFunction, MapFunction
SESSION = requests.Session()
class F(MapFunction):
    def __init__(self):
        self.session = requests.Session()
    def open(self, runtime_context):
        self.client, time.sleep
        self.client = httpx.Client()
        self.cache = dict()
        time.sleep(1)
    def close(self):
        time.sleep(1)
    def map(self, value):
        {body}
        return value
env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection([1]).map(F()).print()
env.execute()
"""
LINE = 21


@pytest.mark.parametrize(
    ("body", "called"),
    [
        ("time.sleep(1)", "time.sleep"),
        ("sleep(1)", "time.sleep"),
        ("clock.sleep(1)", "time.sleep"),
        ("import time as t; t.sleep(1)", "time.sleep"),
        ("from time import sleep as s; s(1)", "time.sleep"),
        ("urlopen('http://localhost')", "urllib.request.urlopen"),
        ("subprocess.run(['true'])", "subprocess.run"),
        ("requests.post('http://localhost')", "requests.post"),
        ("SESSION.get('http://localhost')", "requests.sessions.Session.get"),
        ("self.session.get('http://localhost')", "requests.sessions.Session.get"),
        ("self.client.get('http://localhost')", "httpx.Client.get"),
        ("value = [sleep(each) for each in (1, 2)]", "time.sleep"),
    ],
)
def test_calls_that_wait(tmp_path: Path, body: str, called: str) -> None:
    (found,) = found_in(written(tmp_path, PROGRAM.format(body=body)))
    assert (found["code"], found["line"]) == ("ML006", LINE)
    assert found["text"] == f"F calls {called}() and waits for it"


@pytest.mark.parametrize(
    "body",
    [
        "self.cache.get(value)",
        "time.time()",
        "asyncio.sleep(1)",
        "random.random()",
        "sleep = len; sleep('')",
        "time = self; time.sleep",
        "value.sleep(1)",
        "SESSION.headers.get('a')",
    ],
)
def test_calls_that_do_not(tmp_path: Path, body: str) -> None:
    assert found_in(written(tmp_path, PROGRAM.format(body=body))) == []
