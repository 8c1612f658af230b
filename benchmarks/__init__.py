"""Every claim of speed has a program here that measures both sides in one run and prints a ratio."""
