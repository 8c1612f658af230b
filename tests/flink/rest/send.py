"""Sending one request and reading its answer, as it comes: no redirects, no retries."""

from __future__ import annotations

import http.client
import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from tests.flink.rest.ask import Request

SECONDS = 60
"""how long one answer may take"""
UNTIL_SECONDS = 60
"""how long an operation may take that is asked for until it has ended"""


@dataclass(frozen=True)
class Answered:
    """A response as it came."""

    status: int
    content_type: str
    location: str
    body: Any
    """what the JSON says; the text if it is none"""


def send(base: str, request: Request) -> Answered:
    connection = http.client.HTTPConnection(urlsplit(base).netloc, timeout=SECONDS)
    try:
        headers = {"Accept": "application/json"}
        if request.content_type:
            headers["Content-Type"] = request.content_type
        connection.request(request.method, request.target, body=request.body, headers=headers)
        response = connection.getresponse()
        content = response.read()
    finally:
        connection.close()
    content_type = response.getheader("Content-Type", "")
    return Answered(response.status, content_type, response.getheader("Location", ""), _parsed(content))


def _parsed(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        return content.decode("utf-8", "replace")


def send_until(base: str, request: Callable[[str], Request], until: str) -> Answered:
    """The answer; the first one that has what the ask waits for, or the last one when the time is over.

    ``request`` makes the request for a page of a result; the pages follow each other.
    """
    end, page = time.monotonic() + UNTIL_SECONDS, "0"
    while True:
        answered = send(base, request(page))
        if not until or answered.status >= 400 or time.monotonic() > end:
            return answered
        place, _, wanted = until.partition("=")
        if str(at(answered.body, place)) in wanted.split(","):
            return answered
        following = re.search(r"/result/(\d+)", str(at(answered.body, "nextResultUri")))
        page = following[1] if following else page
        time.sleep(0.1)


def at(body: Any, place: str) -> Any:
    """What an answer has at a place like "operation/location", or None; "(name)" is the last part of a path."""
    for step in place.split("/"):
        if isinstance(body, list):
            body = body[int(step)] if step.lstrip("-").isdigit() and body else None
        elif isinstance(body, dict):
            body = body.get(step)
        elif isinstance(body, str) and step == "(name)":
            body = body.rpartition("/")[2]
        else:
            return None
    return body
