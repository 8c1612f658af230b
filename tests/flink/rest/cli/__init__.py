"""The command line: what is typed, what it answers, and where that differs."""
