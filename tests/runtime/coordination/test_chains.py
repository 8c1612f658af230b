"""The files that make up the state of a task, from checkpoint to checkpoint."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from millrace.checkpoint.task_storage import chain_files
from millrace.runtime.bases.epoch_protocol import TaskAck
from millrace.runtime.coordination.snapshot import COMPACT_BYTES, TaskChain, TaskFiles, WholeFile

Epochs = list[tuple[int | None, int | None, bool]]
TASK = (0, 0)
SIZES = st.one_of(st.none(), st.integers(1, 40))
EPOCHS = st.lists(st.tuples(SIZES, SIZES, st.booleans()), max_size=12)
"""of each epoch: bytes of its changes, bytes of the whole state, whether it ends with a checkpoint"""


def files_of(files: TaskFiles) -> set[str]:
    return {file.path for file in chain_files(TASK, files)}


@given(EPOCHS, EPOCHS, st.integers(0, 12))
def test_what_a_checkpoint_adds_covers_all_its_files(before: Epochs, after: Epochs, back: int) -> None:
    """Also when the job has begun again from an earlier epoch in between."""
    persisted: set[str] = set()
    known, chain, past = TaskFiles(), TaskChain(), [TaskFiles()]
    for epoch, (delta, full, checkpoint) in enumerate([*before, *after], 1):
        if epoch == len(before) + 1:
            chain = TaskChain(past[min(back, len(past) - 1)])
        chain.add(TaskAck(epoch, *TASK, delta_bytes=delta, full_bytes=full, run=epoch % 3 + 1))
        past.append(chain.files())
        if checkpoint:
            files = chain.files()
            persisted |= files_of(files.beyond(known))
            known = files
            assert persisted >= files_of(files)


@given(EPOCHS, EPOCHS)
def test_a_whole_state_that_was_made_later_is_as_one_that_the_task_wrote(before: Epochs, after: Epochs) -> None:
    """But for the name of its file, and the changes of its own epoch, which only the task's chain has got rid of."""
    made, wrote = TaskChain(), TaskChain()
    for epoch, (delta, _, _) in enumerate([*before, (5, None, False)], 1):
        for chain in (made, wrote):
            chain.add(TaskAck(epoch, *TASK, delta_bytes=delta, run=2))
    head, added, last = made.head, made.added_bytes, len(before) + 1
    wrote = TaskChain(TaskFiles(head, 50, whole_checksum=7))
    for epoch, (delta, _, _) in enumerate(after, last + 1):
        for chain in (made, wrote):
            chain.add(TaskAck(epoch, *TASK, delta_bytes=delta, delta_checksum=delta, run=3))
    known = made.files()
    made.begin_at(head, added, WholeFile(9, 50, 7))
    made.validate()
    assert made.files() == replace(wrote.files(), whole_run=9)
    assert (made.head, made.ran, made.versions, made.bytes) == (wrote.head, wrote.ran, wrote.versions, wrote.bytes)
    assert made.files().beyond(known) == made.files(), "a checkpoint has to persist the whole state"
    assert files_of(made.files()) == {f"0-0/{last}-9.full", *files_of(TaskFiles(changes=wrote.files().changes))}


def test_what_both_have_is_left_out() -> None:
    chain = TaskChain()
    chain.add(TaskAck(1, *TASK, delta_bytes=3, run=1))
    known = chain.files()
    assert known.beyond(known) == TaskFiles()
    chain.add(TaskAck(2, *TASK, delta_bytes=31, run=1))
    assert files_of(chain.files().beyond(known)) == {"0-0/2-1.delta"}
    chain.add(TaskAck(3, *TASK, full_bytes=50, run=1))
    assert chain.files().beyond(known) == chain.files()


def test_a_longer_last_entry_is_another_file() -> None:
    assert TaskFiles(changes="1-1:31").beyond(TaskFiles(changes="1-1:3")) == TaskFiles(changes="1-1:31")


def test_what_only_adds_to_the_state_does_not_make_it_worth_writing_again() -> None:
    adding, replacing, both = TaskChain(), TaskChain(), TaskChain()
    for epoch in range(1, 40):
        adding.add(TaskAck(epoch, *TASK, delta_bytes=COMPACT_BYTES, added_bytes=COMPACT_BYTES - 10, run=1))
        replacing.add(TaskAck(epoch, *TASK, delta_bytes=COMPACT_BYTES, run=1))
        both.add(TaskAck(epoch, *TASK, delta_bytes=COMPACT_BYTES, added_bytes=COMPACT_BYTES // 4, run=1))
    assert adding.urgency < 0.1 and adding.bytes == 39 * COMPACT_BYTES
    assert replacing.urgency == 39
    assert both.urgency == 3  # three quarters of it replace what the rest has added
    replacing.add(TaskAck(40, *TASK, delta_bytes=5, added_bytes=5, full_bytes=COMPACT_BYTES, run=1))
    assert replacing.urgency == 0
