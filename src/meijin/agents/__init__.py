"""The catalogue of agents. Each module registers its own; `catalogue.build` makes one from an expression."""
