"""From one task to another: which subtask gets an element, and how elements travel."""
