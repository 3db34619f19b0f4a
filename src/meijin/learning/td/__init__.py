"""Temporal-difference learning with n-tuple networks: TD(lambda), SARSA and Q-learning. Needs no PyTorch."""
