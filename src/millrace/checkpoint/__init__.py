"""Checkpoints and savepoints as files: what is written, where, and how a job finds its way back from it."""
