"""Two small nets and plain ways to train them: a policy net and a value net, supervised or by REINFORCE.

They follow the student report "Deep Reinforcement Learning for GO AI" (Aranda and Graham, WPI 2021), corrected where
its program went wrong. `meijin.training.classic` trains them; the agents `policy`, `value` and `policy_value` play.
"""
