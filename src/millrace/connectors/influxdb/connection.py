"""``InfluxTarget``: where points go, in version 1 or 2."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from millrace.connectors.stores.buffered import Reachable
from millrace.connectors.stores.problems import ConnectionFailed
from millrace.connectors.stores.tls import trusted
from millrace.util.secrets import HIDDEN, mask_text


class Refused(Exception):
    """What InfluxDB answers. :ivar passing: whether that may be over a moment later."""

    def __init__(self, said: str, passing: bool) -> None:
        super().__init__(said)
        self.passing = passing


@dataclass(frozen=True)
class InfluxTarget(Reachable):
    """A database of version 1, or a bucket of version 2."""

    url: str
    database: str = ""
    """of version 1"""
    retention_policy: str = ""
    user: str = ""
    password: str = field(default="", repr=False)
    organization: str = ""
    """of version 2"""
    bucket: str = ""
    token: str = field(default="", repr=False)
    timeout: float = 60.0
    """seconds for each answer"""

    def __call__(self) -> Connected:
        return Connected(self)

    @property
    def place(self) -> str:
        """For messages: no secret is in it."""
        where = f"bucket {self.bucket}" if self.bucket else f"database {self.database}"
        return f"InfluxDB at {mask_text(self.url)}, {where}"

    def is_passing(self, error: BaseException) -> bool:
        import httpx

        return isinstance(error, httpx.TransportError)

    def failed(self, error: BaseException) -> Exception:
        """What users are told."""
        said = str(error).strip() or type(error).__name__
        for secret in filter(None, (self.password, self.token)):
            said = said.replace(secret, HIDDEN)
        passing = bool(getattr(error, "passing", False)) or self.is_passing(error)
        text = f"{self.place}: {mask_text(said)}"
        return ConnectionFailed(text, True) if passing else RuntimeError(text)


class Connected:
    """A client of HTTP."""

    def __init__(self, target: InfluxTarget) -> None:
        try:
            import httpx
        except ImportError:
            raise ImportError("InfluxDB needs httpx: pip install 'millrace-streaming[influxdb]'") from None
        self._target = target
        self._errors: Any = httpx.HTTPError
        if target.bucket:
            self._path = "/api/v2/write"
            self._query = {"org": target.organization, "bucket": target.bucket, "precision": "us"}
        else:
            self._path = "/write"
            self._query = {"db": target.database, "precision": "u"}
            if target.retention_policy:
                self._query["rp"] = target.retention_policy
        self._client = httpx.Client(
            base_url=target.url,
            headers={"Authorization": f"Token {target.token}"} if target.token else {},
            auth=(target.user, target.password) if target.user and not target.bucket else None,
            timeout=target.timeout,
            trust_env=False,
            verify=trusted(target.url),
        )

    def write(self, lines: bytes) -> None:
        """Write points.

        :raises Exception: the server refuses some of them, or is not there; with its place.
        """
        try:
            answer = self._client.post(self._path, params=self._query, content=lines)
            if answer.status_code not in (200, 204):
                raise Refused(_said(answer.text, answer.status_code), answer.status_code in (429, 502, 503, 504))
        except (self._errors, Refused) as error:
            raise self._target.failed(error) from None

    def close(self) -> None:
        self._client.close()


def _said(body: str, status: int) -> str:
    try:
        found = json.loads(body)
        text = str(found.get("error") or found.get("message") or body)
    except (ValueError, AttributeError):
        text = body
    return f"{text.strip()[:1_000] or 'it refuses'} (status {status})"
