"""Functions of the user: their base classes, the wrappers that give them types, modules of them."""
