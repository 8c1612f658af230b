"""``millrace lint``: finds likely mistakes of a job before it runs."""

from __future__ import annotations

from millrace.lint.check import RULES, Chosen, findings
from millrace.lint.facts import Finding, Rule, Subject

__all__ = ["RULES", "Chosen", "Finding", "Rule", "Subject", "findings"]
