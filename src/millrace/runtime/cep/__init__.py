"""Complex event processing: patterns, the automaton that finds them, and its buffer. No I/O, no operator."""
