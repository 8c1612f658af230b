"""Transfer between tasks: which subtask an element goes to, and the packets in which elements travel."""
