"""The relational core: data types, bound expressions, plan nodes, built-in functions and the rules of the optimiser.
It executes no plans."""
