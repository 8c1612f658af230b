"""The program that runs a pipeline: ``python -m millrace.cdc.program pipeline.yaml``."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from millrace.cdc.composer import build, compose
from millrace.cdc.pipeline_file import read_pipeline
from millrace.cdc.yaml_tree import PipelineError

WRONG_FILE = 2
"""exit code of an invalid pipeline file, as of wrong options"""


def main(arguments: Sequence[str]) -> None:
    """Run the pipeline of a file until it ends. Functions are imported from the file's folder."""
    path = os.path.abspath(arguments[0])
    folder = os.path.dirname(path)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        composed = compose(read_pipeline(path))
    except PipelineError as error:
        print(error, file=sys.stderr)
        sys.exit(WRONG_FILE)
    build(composed).execute(composed.pipeline.name)


if __name__ == "__main__":
    main(sys.argv[1:])
