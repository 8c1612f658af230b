"""Commands that look at the job of a program instead of running it."""
