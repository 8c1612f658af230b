"""The description of a job: what each operator does, and how operators are connected."""
