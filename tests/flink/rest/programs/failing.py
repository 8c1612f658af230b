"""A program that fails before it has a job."""

raise ValueError("this program fails")
