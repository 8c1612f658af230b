"""What is wrong with a pipeline file, with the line where it is."""

from __future__ import annotations


class PipelineError(ValueError):
    """A pipeline file that cannot be run as it is.

    :ivar line: counted from 1; None: the file as a whole.
    """

    def __init__(self, message: str, file: str = "", line: int | None = None) -> None:
        place = ", ".join(part for part in (file, f"line {line}" if line is not None else "") if part)
        super().__init__(f"{place}: {message}" if place else message)
        self.line = line

    def __reduce__(self) -> tuple[type[PipelineError], tuple[str]]:
        return PipelineError, (str(self),)
