"""Where a compiled plan lies."""

from __future__ import annotations

import pathlib

from millrace.table.not_yet import not_yet

__all__ = ["PlanReference", "FilePlanReference", "JsonContentPlanReference", "BytesContentPlanReference"]


class PlanReference:
    """A compiled plan in a file or a text.

        >>> _ = t_env.execute_sql("CREATE TABLE shown (name STRING) WITH ('connector' = 'print')")
        >>> text = orders.select(col("name")).insert_into("shown").compile_plan().as_json_string()
        >>> plan = t_env.load_plan(PlanReference.from_json_string(text))
    """

    def __init__(self, content: object) -> None:
        self._content = content

    @staticmethod
    def from_file(path: str | pathlib.Path) -> FilePlanReference:
        """A plan in a file."""
        return FilePlanReference(pathlib.Path(path))

    @staticmethod
    def from_json_string(json_string: str) -> JsonContentPlanReference:
        """A plan as JSON."""
        return JsonContentPlanReference(json_string)

    @staticmethod
    def from_smile_bytes(smile_bytes: bytes) -> BytesContentPlanReference:
        """Smile is a binary form of JSON of the JVM: raises NotImplementedError."""
        raise not_yet("PlanReference.from_smile_bytes", "PlanReference.from_json_string")

    def __str__(self) -> str:
        return f"{type(self).__name__}({self._content})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._content == other._content

    def __hash__(self) -> int:
        return hash(self._content)


class FilePlanReference(PlanReference):
    """A plan in a file."""

    def __init__(self, file: pathlib.Path) -> None:
        super().__init__(file)
        self._file = file

    def get_file(self) -> pathlib.Path:
        return self._file


class JsonContentPlanReference(PlanReference):
    """A plan as JSON."""

    def __init__(self, content: str) -> None:
        super().__init__(content)
        self._text = content

    def get_content(self) -> str:
        return self._text


class BytesContentPlanReference(PlanReference):
    """A plan in Smile."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self._bytes = content

    def get_content(self) -> bytes:
        return self._bytes
