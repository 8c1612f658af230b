"""From the committed description of PyFlink to the page."""

from __future__ import annotations

import json
from pathlib import Path

from .compare import compare
from .page import page
from .reasons import Explanations

ROOT = Path(__file__).parents[2]
SIGNATURES = ROOT / "tests" / "data" / "pyflink-signatures.json"
TARGET = ROOT / "docs" / "pyflink-compatibility.md"


def generate(signatures: Path = SIGNATURES) -> str:
    """The page. Raises ``Unexplained`` if a difference has no reason, or a reason no difference."""
    description = json.loads(signatures.read_text("utf-8"))
    explanations = Explanations()
    text = page(description["version"], compare(description), explanations)
    explanations.check()
    return text
