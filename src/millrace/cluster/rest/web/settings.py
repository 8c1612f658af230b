"""How the REST API is served: what is allowed, to whom, and how much of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

PAGES = Path(__file__).parents[2] / "dashboard" / "static"
"""where the dashboard lies in the package"""

STRICT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
"""what the dashboard may load: nothing from elsewhere, and no code that stands in its pages"""


@dataclass(frozen=True)
class RestSettings:
    """Settings of one server. The names in quotes are Flink's options."""

    token: str | None = None
    """what callers show to change anything; None: ``security.rest.auth=none``, nobody has to"""
    hosts: frozenset[str] = frozenset()
    """names under which the server may be called, besides those of the loopback"""
    beyond_loopback: bool = False
    """whether others than this machine reach it: then addresses in digits are names of it, too"""
    protect_reads: bool = False
    """whether looking needs the token, too"""
    history: bool = False
    """whether it answers as Flink's history server"""
    cancel: bool = True
    """``web.cancel.enable``"""
    yarn_cancel: bool = False
    """whether ``GET /jobs/:id/yarn-cancel`` cancels: a link that changes something"""
    refresh_interval: int = 3000
    """``web.refresh-interval`` in ms"""
    exceptions: int = 20
    """how many exceptions are shown where the caller does not say"""
    max_upload: int = 104_857_600
    """``rest.server.max-content-length``: bytes of an uploaded program"""
    max_body: int = 1_048_576
    """bytes of any other request"""
    operations: int = 1000
    """how many asynchronous operations are remembered"""
    operation_seconds: float = 300.0
    """``rest.async.store-duration``: how long a completed one is"""
    pages: Path = PAGES
    """folder with the dashboard's files"""
    sql: str | None = None
    """path, without slashes round it, under which the SQL gateway's REST API is served beside this one, if it is"""
    policy: str = STRICT_POLICY
    """Content-Security-Policy of the pages"""
