"""AlphaZero for any game: nets, inference, self-play, and the learner; `meijin.training` runs them."""
