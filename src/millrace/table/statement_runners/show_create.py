"""SHOW CREATE: the statement that would make an object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from millrace.table.catalogs.paths import quoted
from millrace.table.descriptions.schema import Declared, Schema
from millrace.table.not_yet import not_yet
from millrace.table.statement_runners.describe import model_of
from millrace.table.values.problems import problem
from millrace.util.secrets import mask_options, mask_statement

if TYPE_CHECKING:
    from millrace.table.sessions.session import Session


def create_text(kind: str, path: Sequence[str], session: Session) -> str:
    if kind == "CATALOG":
        return _catalog(str(path[-1]), session)
    if kind == "MODEL":
        return _model(path, session)
    if kind not in ("TABLE", "VIEW"):
        raise not_yet(f"SHOW CREATE {kind}", "SHOW CREATE TABLE")
    found = session.catalogs.table(path)
    if found.table.is_view != (kind == "VIEW"):
        other = "VIEW" if found.table.is_view else "TABLE"
        raise problem(f"{found.identifier} is a {other.lower()}: SHOW CREATE {other}")
    temporary = "TEMPORARY " if found.temporary else ""
    head = f"CREATE {temporary}{kind} {found.identifier}"
    comment = found.table.get_description()
    said = [] if not comment else [f"COMMENT {_text(comment)}"]
    if kind == "VIEW":
        if found.table.plan is not None:
            raise problem(f"{found.identifier} is a view of a Table made in Python: it has no SQL")
        names = ",\n".join(f"  {quoted(each.name)}" for each in found.table.get_unresolved_schema().columns)
        return "\n".join([f"{head} (\n{names}\n)", *said, f"AS {mask_statement(found.table.expanded_query or '')}"])
    keys = found.table.partition_keys
    parts = [f"{head} (\n{_columns(found.table.get_unresolved_schema())}\n)", *said]
    parts += [] if found.table.distribution is None else [str(found.table.distribution)]
    parts += [f"PARTITIONED BY ({', '.join(map(quoted, keys))})"] if keys else []
    return "\n".join([*parts, f"WITH (\n{_options(found.table.get_options())}\n)", ""])


def _columns(schema: Schema) -> str:
    lines = [_column(column) for column in schema.columns]
    if schema.watermark is not None:
        lines.append(f"WATERMARK FOR {quoted(schema.watermark.column)} AS {schema.watermark.expression}")
    if schema.primary_key is not None:
        names = ", ".join(map(quoted, schema.primary_key.columns))
        lines.append(f"CONSTRAINT {quoted(schema.primary_key.name)} PRIMARY KEY ({names}) NOT ENFORCED")
    return ",\n".join(f"  {line}" for line in lines)


def _column(column: Declared) -> str:
    if column.expression is not None:
        text = f"{quoted(column.name)} AS {column.expression}"
    else:
        text = f"{quoted(column.name)} {column.type}"
    if column.metadata:
        text += " METADATA"
        text += f" FROM {_text(column.metadata_key)}" if column.metadata_key not in (None, column.name) else ""
        text += " VIRTUAL" if column.virtual else ""
    return text + (f" COMMENT {_text(column.comment)}" if column.comment else "")


def _model(path: Sequence[str], session: Session) -> str:
    identifier = session.catalogs.qualify(path)
    model = model_of(path, session)
    temporary = "TEMPORARY " if identifier in session.catalogs.temporary_models else ""
    said = [f"CREATE {temporary}MODEL {identifier}"]
    for word, schema in (("INPUT", model.get_input_schema()), ("OUTPUT", model.get_output_schema())):
        if schema is not None and schema.columns:
            said.append(f"{word} ({', '.join(map(_column, schema.columns))})")
    if model.get_description():
        said.append(f"COMMENT {_text(model.get_description())}")
    return "\n".join([*said, f"WITH (\n{_options(model.get_options())}\n)", ""])


def _catalog(name: str, session: Session) -> str:
    session.catalogs.catalog(name)
    options, comment = session.catalogs.descriptions.get(name, ({"type": "generic_in_memory"}, None))
    said = f"COMMENT {_text(comment)}\n" if comment else ""
    return f"CREATE CATALOG {quoted(name)}\n{said}WITH (\n{_options(options)}\n)\n"


def _options(options: Mapping[str, str]) -> str:
    return ",\n".join(f"  {_text(key)} = {_text(value)}" for key, value in mask_options(options).items())


def _text(value: str | None) -> str:
    escaped = (value or "").replace("'", "''")
    return f"'{escaped}'"
