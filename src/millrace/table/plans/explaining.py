"""EXPLAIN: plans as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from millrace.relational.nodes import Rel
from millrace.relational.nodes.text import plan_text
from millrace.table.settings.explain_detail import ExplainDetail

if TYPE_CHECKING:
    from millrace.table.sessions.session import Session


def explain(plans: Sequence[Rel], session: Session, details: Sequence[ExplainDetail]) -> str:
    """The plans as they were written, as they are run, and how Spark runs them."""
    sections = {"Abstract Syntax Tree": "\n\n".join(map(plan_text, plans))}
    sections |= session.engine.explain(plans, session, details)
    return "\n".join(f"== {title} ==\n{text}\n" for title, text in sections.items())
