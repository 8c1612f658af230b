"""How the nodes of plans become operators: their streaming forms, found by this folder."""
