"""From a relational plan to a streaming program: which changes flow where, and which operators make them."""
