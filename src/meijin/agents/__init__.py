"""The agents there are, by name. Each module registers its own; `catalogue.build` makes one from an expression."""
