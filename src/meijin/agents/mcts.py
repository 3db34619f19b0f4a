"""Names the search agents."""

from meijin.agents.catalogue import agents
from meijin.search.mcts import MCTS

agents.register("mcts", MCTS)
