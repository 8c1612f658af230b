"""What the gateway refuses."""

from __future__ import annotations


class GatewayError(Exception):
    """A request that can't be served; the text says why."""


class RetiredError(GatewayError):
    """The gateway is about to end, and there may be another one soon."""


class NoSuchSessionError(GatewayError):
    """No session has this handle, or none has it any more."""

    def __init__(self, handle: str) -> None:
        super().__init__(f"Session '{handle}' does not exist.")


class NoSuchOperationError(GatewayError):
    """The session has no operation with this handle."""

    def __init__(self, handle: str) -> None:
        super().__init__(f"Can not find the submitted operation in the OperationManager with the {handle}.")
