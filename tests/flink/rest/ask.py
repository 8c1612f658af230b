"""A request as data: what is asked, about what, and what of its answer later requests need."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

REST, ADAPTIVE, HISTORY, GATEWAY = "rest", "adaptive", "history", "gateway"
SURFACES = (REST, ADAPTIVE, HISTORY, GATEWAY)
"""the JobManager, one with the adaptive scheduler and all that is off by default, history server, SQL gateway"""

_REFERENCE = re.compile(r"@([a-z_]+(?:[#.][a-z_0-9]+)*)")


@dataclass(frozen=True)
class Ask:
    """One request. A value "@running" stands for what the world calls "running": the id of a job that runs, ..."""

    surface: str
    method: str
    path: str
    """a template: "/jobs/{jobid}", as in Flink's own description of its API"""
    about: str = ""
    """what the request is about, in words: "an unknown job" """
    given: Mapping[str, str] = field(default_factory=dict)
    """name in the path -> its value"""
    query: str = ""
    body: Any = None
    """sent as JSON; a text is sent as it is"""
    upload: str = ""
    """the name of a file that is sent as a form"""
    keep: Mapping[str, str] = field(default_factory=dict)
    """name -> where in the answer ("operation/location") the value is that later requests call "@kept.name" """
    until: str = ""
    """ask again until the answer has this: "status/id=COMPLETED" """

    @property
    def key(self) -> str:
        """What tells this request from all others."""
        parts = [self.surface, self.method, self.path, self.about, self.query]
        if self.body is not None or self.upload:
            parts.append(self.upload or json.dumps(self.body, sort_keys=True))
        return " ".join(part for part in parts if part)


@dataclass(frozen=True)
class Request:
    """A request with all its values: what goes over the wire."""

    method: str
    target: str
    body: bytes | None
    content_type: str


def resolve(text: str, value: Callable[[str], str]) -> str:
    """A text with the values of its references."""
    return _REFERENCE.sub(lambda found: value(found[1]), text)


def request_of(ask: Ask, value: Callable[[str], str], file: Callable[[str], tuple[str, bytes]]) -> Request:
    """What to send for an ask in a world of values."""
    path = ask.path
    for name, given in ask.given.items():
        path = path.replace("{" + name + "}", resolve(given, value))
    query = f"?{resolve(ask.query, value)}" if ask.query else ""
    if ask.upload:
        content_type, body = _form(*file(ask.upload))
        return Request(ask.method, path + query, body, content_type)
    if isinstance(ask.body, str):
        return Request(ask.method, path + query, ask.body.encode(), "application/json")
    if ask.body is None:
        return Request(ask.method, path + query, None, "")
    return Request(ask.method, path + query, json.dumps(_resolved(ask.body, value)).encode(), "application/json")


def _resolved(body: Any, value: Callable[[str], str]) -> Any:
    if isinstance(body, dict):
        return {resolve(key, value): _resolved(each, value) for key, each in body.items()}
    if body == ["@arguments"]:
        # As many as the server's kind of program needs.
        return value("arguments").split(",")
    if isinstance(body, list):
        return [_resolved(each, value) for each in body]
    return resolve(body, value) if isinstance(body, str) else body


def _form(name: str, content: bytes) -> tuple[str, bytes]:
    border = "----tests-of-rest"
    head = (
        f"--{border}\r\n"
        f'Content-Disposition: form-data; name="jarfile"; filename="{name}"\r\n'
        "Content-Type: application/x-java-archive\r\n\r\n"
    )
    return f"multipart/form-data; boundary={border}", head.encode() + content + f"\r\n--{border}--\r\n".encode()
