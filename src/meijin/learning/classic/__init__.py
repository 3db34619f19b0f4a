"""Two small nets and the plain ways to train them: a policy net and a value net, supervised or by REINFORCE.

They follow the student report "Deep Reinforcement Learning for GO AI" (Aranda and Graham, WPI 2021), corrected where
its program went wrong. `train` makes a run; the agents `policy`, `value` and `policy_value` play what it keeps.

    from meijin import make
    from meijin.learning.classic import ClassicConfig, train

    train(make("tic_tac_toe"), ClassicConfig(learn="exact", iterations=20, epochs=5), "runs/ttt")

PyTorch is imported by `train`, not by this package: reading a config or the name of a checkpoint needs none.
"""

from meijin.learning.classic.config import ClassicConfig
from meijin.learning.classic.run import Progress, train

__all__ = ["ClassicConfig", "Progress", "train"]
