"""Checkpoints and savepoints as files: their content, their places, and how a job is restored from them."""
