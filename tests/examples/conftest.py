"""The programs of examples/ find each other as they do when they are run as scripts: by their own folder."""

from __future__ import annotations

import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"

sys.path += [str(EXAMPLES), *(str(EXAMPLES / folder) for folder in ("tutorial", "patterns"))]
