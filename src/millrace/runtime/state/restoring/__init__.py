"""The saved state of operators, and how another number of subtasks restores it."""
