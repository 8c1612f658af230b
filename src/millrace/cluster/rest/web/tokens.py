"""The token: what shows that a request is the user's own.

Programs send it (``Authorization: Bearer``). Browsers get a cookie by the link that is printed (``/?token=...``).
Cookies of one host are sent to all its ports, also to servers of others, so a cookie does not hold the token, only a
word that is made of it and is good for nothing but requests of this server's own pages.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from millrace.cluster.rest.web.errors import RestError
from millrace.cluster.rest.web.settings import RestSettings

UNAUTHORIZED = (
    "Unauthorized: this needs the server's token, as 'Authorization: Bearer ...', or the cookie that the link sets "
    "which was printed when the server was started."
)
_YEAR = 365 * 86_400


def new_token() -> str:
    """A token that cannot be guessed."""
    return secrets.token_urlsafe(32)


def require_token(request: Request, settings: RestSettings) -> None:
    """Raise a ``RestError`` unless the request shows the token, where there is one."""
    if settings.token is not None and not _shows_token(request, settings.token):
        raise RestError(401, UNAUTHORIZED)


def cookie_name(request: Request) -> str:
    """A name for each port, so that several servers on one machine don't take each other's cookie away."""
    return f"millrace-{request.url.port or request.url.scheme}"


def cookie_value(token: str) -> str:
    return hmac.new(token.encode(), b"cookie of the dashboard", hashlib.sha256).hexdigest()


def log_in(request: Request, settings: RestSettings) -> Response | None:
    """The answer to ``/?token=...``: a cookie, and the way to the page without the token; None: it is the wrong one."""
    token = request.query_params.get("token", "")
    if settings.token is not None and not _same(token, settings.token):
        return None
    response = RedirectResponse(request.url.path, 303)
    if settings.token is not None:
        response.set_cookie(
            cookie_name(request),
            cookie_value(settings.token),
            max_age=_YEAR,
            path="/",
            secure=request.url.scheme == "https",
            httponly=True,
            samesite="strict",
        )
    return response


def _shows_token(request: Request, token: str) -> bool:
    scheme, _, shown = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return _same(shown.strip(), token)
    cookie = request.cookies.get(cookie_name(request))
    return cookie is not None and _is_of_own_page(request) and _same(cookie, cookie_value(token))


def _is_of_own_page(request: Request) -> bool:
    """Whether a page of this server makes the request. What Origin says has been compared with Host already."""
    return "origin" in request.headers or request.headers.get("sec-fetch-site") in ("same-origin", "none")


def _same(shown: str, expected: str) -> bool:
    return hmac.compare_digest(shown.encode(), expected.encode())
