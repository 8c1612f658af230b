"""Mistakes with checkpoints and savepoints."""

from __future__ import annotations

from tests.front_door.mistakes.mistake import program

TITLE = "Checkpoints and savepoints"

JOB = "env.from_collection([1]).map(abs).uid('abs').print()\nenv.execute()\n"
STORING = (
    "env.enable_checkpointing(1000)\n"
    "env.get_checkpoint_config().set_checkpoint_storage_dir('{}')\n"
    "env.from_collection([1]).map(abs).print()\n"
    "env.execute()  # <-\n"
)

MISTAKES = (
    program(
        "A savepoint that is not there",
        JOB,
        ("sp-1 is no checkpoint or savepoint", "_metadata"),
        "The path of `-s` leads to no savepoint; relative paths count from where the command was typed.",
        "Give the folder that `millrace savepoint` or `millrace stop` printed: the one with the file `_metadata`.",
        options=("-s", "sp-1"),
    ),
    program(
        "A savepoint of another program",
        JOB,
        ("does not fit", "uids", "--allowNonRestoredState"),
        "State finds its operator by the uid, and operators of these uids are not in the program.",
        "Look at the path; give operators the uids that they had; or start with `-n`, which leaves the rest out.",
        options=("-s", "{root}/tests/data/savepoints/0.1"),
    ),
    program(
        "A relative path for checkpoints",
        "env.enable_checkpointing(1000)\nenv.get_checkpoint_config().set_checkpoint_storage_dir('checkpoints')  # <-\n",
        ("'checkpoints'", "absolute"),
        "Driver and tasks may run in different folders, and must see the same one.",
        "Give an absolute path, on a cluster one that all machines see.",
    ),
    program(
        "Two slashes in the URI of a local path",
        STORING.format("file://data/checkpoints"),
        ("file:///data/checkpoints",),
        "What stands between the second and the third slash of a URI is a machine.",
        "Write three slashes.",
    ),
    program(
        "A checkpoint folder that can't be written",
        STORING.format("file://{folder}/taken/checkpoints"),
        ("taken/checkpoints", "NotADirectoryError"),
        "The folder can't be made: a file is in its way, or the right to do so is missing.",
        "Choose another folder, or give the user of the job the right to write there.",
        files={"taken": "a file\n"},
    ),
    program(
        "A file system that there is not",
        STORING.format("s4://bucket/checkpoints"),
        ("s4://bucket/checkpoints",),
        "Neither pyarrow nor fsspec knows the scheme.",
        "Correct the scheme; [stores](guide/object-stores.md) lists those that work, some need a package.",
        others_words=True,
    ),
    program(
        "An interval of 0",
        "env.enable_checkpointing(0)  # <-\n",
        ("10 ms", "not 0"),
        "Checkpoints have some time between them; leaving the call out means none.",
        "Give milliseconds: `enable_checkpointing(10_000)`.",
    ),
)
