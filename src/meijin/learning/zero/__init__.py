"""AlphaZero for any game: nets, inference, checkpoints and the loop that trains them."""
