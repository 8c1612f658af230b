"""Rules of the optimiser: pure functions from plan to plan, in an order that ``optimizer.py`` in this folder gives."""
