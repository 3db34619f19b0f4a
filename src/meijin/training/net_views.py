"""What TensorBoard shows of a zero net: pictures of the start of its game, and numbers for histograms."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from meijin.core.rng import stream
from meijin.core.state import State
from meijin.learning.zero.learner import Learner
from meijin.learning.zero.nets import Net
from meijin.learning.zero.raw_net import RawNet
from meijin.learning.zero.replay import ReplayBuffer
from meijin.learning.zero.worker import make_evaluator
from meijin.training import curves

BATCH = 32  # positions evaluated at once
SAMPLE = 512  # positions that the net is asked about for histograms

Arrays = dict[str, NDArray[np.float32]]


def pictures(net: Net, device: str, values: bool) -> Arrays:
    """The policy at the start and, if asked for, what the net thinks of the positions after each move."""
    state = State(net.game).roll(stream(1))
    if state.is_over:
        return {}
    raw = RawNet(make_evaluator(net, BATCH, device, "float32"))
    found = {"policy/start": curves.heat_map(state, raw.priors(state))}
    if values and found["policy/start"] is not None:
        worth = [by_seat[state.turn] for by_seat in raw.move_values(state)]
        found["value/start"] = curves.value_map(state, worth)
    return {name: picture for name, picture in found.items() if picture is not None}


def numbers(learner: Learner, window: ReplayBuffer) -> Arrays:
    """The weights by layer, and what the net says about positions all over the window."""
    entropy, value = learner.opinions(window.sample(SAMPLE))
    said = {"policy/entropy": entropy.cpu().numpy(), "value/mover": value.cpu().numpy()}
    return curves.weights(learner.averaged) | said
