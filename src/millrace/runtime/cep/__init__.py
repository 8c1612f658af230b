"""Complex event processing: patterns, the automaton that finds matches, and its state. No I/O, no operators."""
