"""What can come of a game when seats are free to choose between moves that are equal to them."""

from __future__ import annotations

from meijin.core.state import State


def outcomes(state: State) -> set[tuple[float, ...]]:
    """All scores that may come of it when every seat plays what is best for it, whatever it does in a tie."""
    if state.is_over:
        return {tuple(state.scores)}
    seat, found = state.turn, [outcomes(state.copy().play(move)) for move in state.legal_moves]
    sure = max(min(each[seat] for each in may) for may in found)
    return {each for may in found for each in may if max(every[seat] for every in may) >= sure}
