"""The forest: AlphaZero's search for many positions at once, one source for CPU and GPU."""

from meijin.search.forest.driver import Forest, Settings

__all__ = ["Forest", "Settings"]
