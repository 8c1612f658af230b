"""``CompiledPlan``: INSERTs that were planned once and can run later, in other processes, too; with
``PlanReference``, which says where such a plan is stored."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from millrace import __version__
from millrace.relational.nodes import Rel
from millrace.table.not_yet import not_yet
from millrace.table.planner import engine, plan_json
from millrace.table.sessions.session import explain
from millrace.table.sessions.table_settings import ExplainDetail
from millrace.table.values.program_errors import problem

if TYPE_CHECKING:
    from millrace.table.sessions.session import Session
    from millrace.table.sessions.table_result import TableResult


# PlanReference


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


# CompiledPlan

FLINK_VERSION = "2.3"
"""The version of Flink whose semantics a compiled plan has."""
FORMAT = 1
RECOMPILE = "table.plan.force-recompile"


class CompiledPlan:
    """The plans of INSERTs that are one job. Made by ``compile_plan`` and ``TableEnvironment.load_plan``.

    >>> _ = t_env.execute_sql("CREATE TABLE shown (name STRING) WITH ('connector' = 'print')")
    >>> plan = orders.select(col("name")).insert_into("shown").compile_plan()
    >>> plan.execute().wait()
    +I[Ann]
    +I[Bob]
    +I[Ann]
    """

    def __init__(self, document: dict[str, Any], session: Session) -> None:
        self._document = document
        self._session = session
        self._plans = plan_json.read(document["plans"], session)

    def __str__(self) -> str:
        return self.as_json_string()

    def as_json_string(self) -> str:
        """The plan as JSON."""
        return json.dumps(self._document, indent=2, ensure_ascii=False)

    def as_smile_bytes(self) -> bytes:
        """Smile is a binary form of JSON of the JVM: raises NotImplementedError."""
        raise not_yet("CompiledPlan.as_smile_bytes", "CompiledPlan.as_json_string")

    def execute(self) -> TableResult:
        """Submit the job."""
        if self._session.streaming:
            return engine.submit(self._plans, self._session)
        return self._session.engine.execute(self._plans, self._session)

    def explain(self, *extra_details: ExplainDetail) -> str:
        """The plan as text."""
        return explain(self._plans, self._session, extra_details)

    def get_flink_version(self) -> str:
        """The version of Flink whose semantics the plan has."""
        version: str = self._document["flinkVersion"]
        return version

    def print_explain(self, *extra_details: ExplainDetail) -> None:
        """Print the plan as text."""
        print(self.explain(*extra_details))

    def print_json_string(self) -> None:
        """Print the plan as JSON."""
        print(self.as_json_string())

    def write_to_file(self, file: str | pathlib.Path, ignore_if_exists: bool = False) -> None:
        """:param ignore_if_exists: leave a file that is there as it is.

        :raises TableException: there is such a file (unless ``table.plan.force-recompile`` is true).
        """
        path = local_path(file)
        if path.exists():
            if ignore_if_exists:
                return
            if self._session.config.get(RECOMPILE, "false").lower() != "true":
                raise problem(f"there is a plan {path} already: delete it, write IF NOT EXISTS, or set {RECOMPILE}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.as_json_string(), encoding="utf-8")


def compiled(plans: Sequence[Rel], session: Session) -> CompiledPlan:
    """The plans as they would run now.

    :raises TableException: a plan has something that exists in this program only.
    """
    if not plans:
        raise problem("there is no INSERT to compile")
    ready = engine.optimised(plans, session) if session.streaming else list(plans)
    document = {
        "flinkVersion": FLINK_VERSION,
        "millraceVersion": __version__,
        "format": FORMAT,
        "mode": _mode(session),
        "plans": plan_json.written(ready, session),
    }
    return CompiledPlan(document, session)


def _mode(session: Session) -> str:
    return "streaming" if session.streaming else "batch"


def loaded(reference: PlanReference, session: Session) -> CompiledPlan:
    """A plan that was compiled before.

    :raises TableException: there is none, or its tables and functions are other ones by now.
    """
    if isinstance(reference, JsonContentPlanReference):
        text, where = reference.get_content(), "the text"
    elif isinstance(reference, FilePlanReference):
        where = str(reference.get_file())
        try:
            text = local_path(where).read_text(encoding="utf-8")
        except OSError as error:
            raise problem(f"there is no plan {where}: {error.strerror}") from None
    else:
        raise not_yet("plans in Smile", "PlanReference.from_json_string")
    try:
        document = json.loads(text)
        known = document["format"]
    except (ValueError, KeyError, TypeError):
        raise problem(f"{where} is no compiled plan of Millrace") from None
    if known != FORMAT:
        raise problem(f"{where} is a plan of format {known}, and this version reads format {FORMAT}: compile it again")
    mode = document.get("mode", "streaming")
    if mode != _mode(session):
        raise problem(f"{where} was compiled in {mode} mode, and this session is in {_mode(session)} mode")
    return CompiledPlan(document, session)


def local_path(file: str | pathlib.Path) -> pathlib.Path:
    """The path of a file that may be given as file:// URI."""
    parts = urlsplit(str(file))
    if parts.scheme not in ("", "file"):
        raise problem(f"plans are in local files, not in {parts.scheme}: {file}")
    return pathlib.Path(parts.path if parts.scheme else str(file))
