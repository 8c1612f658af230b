"""``millrace lint``: what is likely to go wrong with a job, found before it runs."""

from __future__ import annotations

from millrace.lint.check import RULES, Chosen, findings
from millrace.lint.facts import Finding, Rule, Subject

__all__ = ["RULES", "Chosen", "Finding", "Rule", "Subject", "findings"]
