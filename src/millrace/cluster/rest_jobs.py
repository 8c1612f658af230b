"""``JobsElsewhere`` of a cluster: steers its jobs over the REST API, for the verbs of the command line.

A module of its own: the verbs need httpx and nothing else of the client.
"""

from __future__ import annotations

import time
from typing import Any

import httpx
import msgspec

from millrace.cluster.control import WAIT_SECONDS, ElsewhereError, JobLine, UnknownJobError
from millrace.cluster.documents import JobDocument

REQUEST_SECONDS = 60.0
POLL_SECONDS = 0.1
_NOT_FOUND = "Could not find Flink job"


class RestJobs:
    """``JobsElsewhere`` of one server.

    :param url: ``http://127.0.0.1:8081``.
    :param token: token that allows changes; None: the user has none.
    """

    def __init__(self, url: str, token: str | None, transport: httpx.BaseTransport | None = None) -> None:
        self.url = url.rstrip("/")
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        # No proxy of the environment: the server is on this machine, or was named.
        self._http = httpx.Client(
            base_url=self.url, headers=headers, timeout=REQUEST_SECONDS, trust_env=False, transport=transport
        )

    def jobs(self) -> list[JobLine]:
        found = self.ask("GET", "/jobs/overview")["jobs"]
        return [JobLine(each["jid"], each["name"], each["state"], each["start-time"]) for each in found]

    def state(self, job: str) -> str:
        return str(self.ask("GET", f"/jobs/{job}")["state"])

    def document(self, job: str) -> JobDocument:
        try:
            return msgspec.convert(self.ask("GET", f"/millrace/jobs/{job}"), JobDocument)
        except msgspec.ValidationError as error:
            raise ElsewhereError(f"{self.url} tells of jobs in another form: {error}") from None

    def cancel(self, job: str) -> None:
        try:
            self.ask("PATCH", f"/jobs/{job}?mode=cancel")
        except UnknownJobError:
            raise UnknownJobError(f"{_NOT_FOUND} ({job})") from None

    def savepoint(self, job: str, directory: str | None, native: bool) -> str:
        return self._savepoint(job, self.begin_savepoint(job, directory, native))

    def stop(self, job: str, directory: str | None, drain: bool, native: bool) -> str:
        return self._savepoint(job, self.begin_stop(job, directory, drain, native))

    def begin_savepoint(self, job: str, directory: str | None, native: bool) -> str:
        body = {"target-directory": directory, "formatType": _format(native), "cancel-job": False}
        return str(self.ask("POST", f"/jobs/{job}/savepoints", json=body)["request-id"])

    def begin_stop(self, job: str, directory: str | None, drain: bool, native: bool) -> str:
        body = {"targetDirectory": directory, "drain": drain, "formatType": _format(native)}
        return str(self.ask("POST", f"/jobs/{job}/stop", json=body)["request-id"])

    def _savepoint(self, job: str, begun: str) -> str:
        return str(self.wait(f"/jobs/{job}/savepoints/{begun}", "failure-cause", "the savepoint")["location"])

    def checkpoint(self, job: str, full: bool) -> int:
        body = {"checkpointType": "FULL" if full else "CONFIGURED"}
        begun = self.ask("POST", f"/jobs/{job}/checkpoints", json=body)["request-id"]
        found = self.wait(f"/jobs/{job}/checkpoints/{begun}", "failureCause", "the checkpoint")
        return int(found["checkpointId"])

    def dispose(self, path: str) -> None:
        """Delete a savepoint."""
        begun = self.ask("POST", "/savepoint-disposal", json={"savepoint-path": path})["request-id"]
        self.wait(f"/savepoint-disposal/{begun}", "failure-cause", "the disposal")

    def query_state(self, job: str, operator: str, state: str, key: Any) -> Any:
        body = {"operator": operator, "state": state, "key": key}
        return self.ask("POST", f"/millrace/jobs/{job}/state", json=body)["value"]

    def wait(self, path: str, failed: str, what: str) -> dict[str, Any]:
        """Wait for an asynchronous operation; returns its result. ``failed`` names the field with the cause of a
        failure."""
        until = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < until:
            found = self.ask("GET", path)
            if found["status"]["id"] == "COMPLETED":
                operation: dict[str, Any] = found["operation"] or {}
                if failed in operation:
                    raise ElsewhereError(_cause(operation[failed]))
                return operation
            time.sleep(POLL_SECONDS)
        raise ElsewhereError(f"{what} is not there after {WAIT_SECONDS:g} s")

    def ask(self, method: str, path: str, **arguments: Any) -> Any:
        """Send a request; returns the body of the answer.

        :raises ElsewhereError: it does not answer, or not with success.
        """
        try:
            response = self._http.request(method, path, **arguments)
        except httpx.TimeoutException:
            raise ElsewhereError(f"{self.url} has not answered for {REQUEST_SECONDS:g} s") from None
        except httpx.HTTPError as error:
            refused = "Connection refused\n" if "refused" in str(error) else ""
            raise ElsewhereError(f"{refused}nothing answers at {self.url}: {error}") from None
        if response.is_success:
            return response.json() if response.content else {}
        raise _error(response)


def _format(native: bool) -> str:
    return "NATIVE" if native else "CANONICAL"


def _error(response: httpx.Response) -> ElsewhereError:
    """The error text of an unsuccessful answer."""
    try:
        errors = response.json()["errors"]
    except (ValueError, KeyError, TypeError):
        return ElsewhereError(f"{response.request.url} answers {response.status_code}")
    text = "\n".join(map(str, errors))
    return UnknownJobError(text) if response.status_code == 404 and "job" in text.lower() else ElsewhereError(text)


def _cause(cause: Any) -> str:
    """The message of a failure, without its class and stack."""
    text = str(cause.get("stack-trace", cause) if isinstance(cause, dict) else cause).strip()
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("at ")]
    return "\n".join(lines)
