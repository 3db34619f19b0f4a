"""Monte Carlo tree search."""

from meijin.search.mcts.agent import MCTS

__all__ = ["MCTS"]
