"""Names the search agents."""

from meijin.agents.catalogue import agents
from meijin.search.alphabeta import AlphaBeta
from meijin.search.flat import Flat
from meijin.search.maxn import MaxN
from meijin.search.mcts import MCTS

agents.register("mc", Flat)
agents.register("mcts", MCTS)
agents.register("maxn", MaxN)
agents.register("alphabeta", AlphaBeta)
