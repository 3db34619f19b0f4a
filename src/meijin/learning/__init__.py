"""Agents that learn. Nothing here is imported with `meijin` itself: nets need PyTorch, the `nn` extra."""
