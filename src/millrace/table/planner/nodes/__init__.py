"""Turns the nodes of plans into operators: the modules of this folder register the streaming form of each kind of
node."""
