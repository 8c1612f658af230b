"""The rules of the optimiser: each is a function from a plan to an equivalent plan."""
