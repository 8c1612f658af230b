"""A command that submits a program: ``python client.py FOLDER ID [POINT]``; it dies at the point."""

from __future__ import annotations

import sys

from tests.cluster.processes.small import install

from millrace.cluster.submissions import SubmittedProgram, submit

if __name__ == "__main__":
    folder, id = sys.argv[1:3]
    if len(sys.argv) > 3:
        install(sys.argv[3], folder)
    print(submit(folder, SubmittedProgram(id, folder, isolated=True)))
