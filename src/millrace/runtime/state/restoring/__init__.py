"""What is saved of the states of operators, and how other numbers of tasks share it."""
