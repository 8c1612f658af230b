"""``millrace lint``: what is likely to go wrong with a job, found before it runs."""

from __future__ import annotations

from millrace.lint.check import Chosen, findings
from millrace.lint.facts.finding import Finding
from millrace.lint.facts.rule import Rule
from millrace.lint.facts.subject import Subject
from millrace.lint.registry import RULES

__all__ = ["RULES", "Chosen", "Finding", "Rule", "Subject", "findings"]
