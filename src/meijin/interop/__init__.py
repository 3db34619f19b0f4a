"""Meijin's games in other frameworks: PettingZoo, Gymnasium and OpenSpiel. Each module needs its own package."""
