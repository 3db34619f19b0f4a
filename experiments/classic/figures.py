"""Figures 7 to 11 of "Deep Reinforcement Learning for GO AI" (Aranda and Graham, WPI 2021) again, on tic-tac-toe.

    python experiments/classic/figures.py                # 500 epochs an iteration: 40 minutes or more, by estimate
    python experiments/classic/figures.py --epochs 10    # fewer: a few minutes on one core

Trains what the configs beside this file say, into the folder `--runs` (existing runs are continued), and prints our
numbers beside the published ones as Markdown. The published numbers are those of the report's text; none was read off a
plot. Every result is given for both seats, as the seat alone is worth much: random play against itself wins 58 % as the
first seat and 29 % as the second.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from meijin import Agent, State, build, make
from meijin.learning.classic import checkpoint, examples
from meijin.learning.classic.choice import Choice, any_legal, chooser
from meijin.learning.classic.config import ClassicConfig
from meijin.learning.classic.episodes import play
from meijin.training.classic_run import ClassicRun
from meijin.training.folder import RunFolder, read_metrics

HERE = Path(__file__).parent
GAME = make("tic_tac_toe")


def trained(name: str, args: argparse.Namespace) -> tuple[Path, dict[str, str]]:
    """The run of a config, trained if it is not whole yet, and the metrics of its last iteration."""
    config = ClassicConfig.load(HERE / f"{name}.json").changed({"seed": args.seed})
    if config.learn == "reinforce":
        epochs = min(config.epochs, args.epochs)
        config = config.changed({"length.iterations": args.iterations, "matches": args.matches, "epochs": epochs})
    folder = Path(args.runs) / name
    print(f"training {name} ...", file=sys.stderr, flush=True)
    run = ClassicRun(folder, config, resume=(folder / "config.json").exists())
    if run.progress < 1.0:
        run.go()
    return folder, read_metrics(folder / "metrics.csv")[-1]


def against_random(agent: Agent, games: int, seed: int) -> list[list[float]]:
    """[seat][(wins, draws, losses)] in per cent."""
    rival = build("random", GAME, seed=seed)
    agent.seed(seed + 1)
    counts = np.zeros((2, 3))
    for number in range(2 * games):
        state, seat = State(GAME), number % 2
        while not state.is_over:
            state.play((agent if state.turn == seat else rival).act(state))
        counts[seat, int(1 - np.sign(state.scores[seat]))] += 100 / games
    return counts.tolist()


def batched(one: Choice, other: Choice, games: int, seed: int) -> Any:
    """The same for choosers, quickly."""
    return play(GAME, one, other, 2 * games, seed)[1].counts * (100 / games)


def shown(values: Sequence[float]) -> str:
    return " / ".join(f"{value:.1f}" for value in values)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    print("\n| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")


def net_of(folder: Path, iteration: int) -> Any:
    return checkpoint.load(RunFolder(folder).numbered(iteration)).net


def figure_7(args: argparse.Namespace, report: Path, steady: Path, value: Path, exact: Path) -> None:
    print("\n## Figure 7: win / draw / loss % against random play")
    rows = [
        ("random", "random", ""),
        ("minimax over the full tree", "perfect", "99.8 / 0.2 / 0"),
        ("MCTS, 100 simulations", "mcts(simulations=100)", "98 / 2 / 0"),
        (
            f"policy net, REINFORCE with the report's settings, {args.epochs} epochs",
            f"policy({str(report)!r})",
            "64.2 / 12.6 / 23.2",
        ),
        ("policy net, REINFORCE with entropy, a pool and 1 epoch", f"policy({str(steady)!r})", ""),
        ("value net from games", f"value({str(value)!r})", ""),
        ("value net from games, no random moves", f"value({str(value)!r}, epsilon=0)", ""),
        ("policy net from exact data, likeliest move", f"policy({str(exact)!r}, sample=False)", ""),
        (
            "policy (entropy and pool) and value in one search, 100 simulations",
            f"policy_value({str(steady)!r}, {str(value)!r}, simulations=100)",
            "wished for",
        ),
    ]
    out = []
    for label, expression, published in rows:
        first, second = against_random(build(expression, GAME, seed=args.seed), args.games, args.seed + 1000)
        out.append((label, published, shown(first), shown(second)))
    table(("player", "report", "ours, first seat", "ours, second seat"), out)


def figure_8(folder: Path, last: dict[str, str]) -> None:
    print("\n## Figure 8: loss of the policy net in supervised training, 500 epochs")
    config = ClassicConfig.load(folder / "config.json")
    data = examples.exact(GAME, examples.positions(GAME, config.positions, config.seed), config.alpha)
    floor = -float((data.policy * np.log(np.where(data.policy > 0, data.policy, 1))).sum(1).mean())
    first, final = float(last["first_loss"]), float(last["loss"])
    table(
        ("", "report", "ours", "ours above the least possible"),
        [
            ("first epoch", "0.75", f"{first:.3f}", f"{first - floor:.3f}"),
            ("last epoch", "0.07", f"{final:.3f}", f"{final - floor:.3f}"),
        ],
    )
    print(
        f"\nThe favourite move is a best one in {100 * float(last['best']):.0f} % of the {last['positions']} positions."
    )
    print(f"Where several moves are best they share the target, so no net can come below {floor:.3f} here.")


def figure_9(folder: Path, last: dict[str, str], seed: int) -> None:
    print("\n## Figure 9: how often the value net plays its best move, 10 sets of 100 moves")
    agent = build(f"value({str(folder)!r})", GAME, seed=seed)
    shares = [sum(not agent.analyse(State(GAME)).note for _ in range(100)) for _ in range(10)]
    table(
        ("", "report", "ours"),
        [("best move, %", "close to 90", f"mean {np.mean(shares):.1f}, sets from {min(shares)} to {max(shares)}")],
    )
    first, final = float(last["first_loss"]), float(last["loss"])
    print(f"\nIts loss in supervised training went from {first:.3f} to {final:.3f}.")


def figures_10_11(name: str, folder: Path, args: argparse.Namespace, published: bool) -> None:
    last = args.iterations - 1  # the report counts models from 0
    nets = [chooser(net_of(folder, k + 1)) for k in range(last + 1)]
    seed = args.seed + 2000
    random = np.array([batched(net, any_legal, args.games, seed + k)[:, 2] for k, net in enumerate(nets)])
    mutual = np.array([batched(nets[last], net, args.games, seed + k)[:, 2] for k, net in enumerate(nets[:last])])
    tenth = max(1, args.iterations // 10)
    picked = sorted({*range(0, last + 1, tenth), last})
    said = {0: "around 24", last: "below 20"} if published else {}
    print(f"\n## Figure 10: loss % of the models against random play ({name})")
    rows = [(str(k), said.get(k, ""), f"{random[k, 0]:.1f}", f"{random[k, 1]:.1f}") for k in picked]
    for label, part in ((f"mean of the first {tenth}", random[:tenth]), (f"mean of the last {tenth}", random[-tenth:])):
        rows.append((label, "", f"{part[:, 0].mean():.1f}", f"{part[:, 1].mean():.1f}"))
    table(("model", "report", "ours, first seat", "ours, second seat"), rows)
    print(f"\n## Figure 11: loss % of model {last} against the others ({name})")
    rows = [(str(k), "", f"{mutual[k, 0]:.1f}", f"{mutual[k, 1]:.1f}") for k in picked if k != last]
    for label, part in ((f"mean of the first {tenth}", mutual[:tenth]), (f"mean of the last {tenth}", mutual[-tenth:])):
        rows.append(
            (label, "no clear trend" if published else "", f"{part[:, 0].mean():.1f}", f"{part[:, 1].mean():.1f}")
        )
    table(("against model", "report", "ours, first seat", "ours, second seat"), rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", default="runs/classic", help="where the runs are kept")
    parser.add_argument("--iterations", type=int, default=100, help="of REINFORCE; the report: 100")
    parser.add_argument("--matches", type=int, default=1000, help="an iteration; the report: 1000")
    parser.add_argument("--epochs", type=int, default=500, help="an iteration, at most; the report: 500")
    parser.add_argument("--games", type=int, default=1000, help="each player plays in each seat; the report: 1000")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()

    supervised, last = trained("policy_supervised", args)
    values, value_last = trained("value_supervised", args)
    exact, exact_last = trained("policy_exact", args)
    report, _ = trained("policy_reinforce", args)
    steady, _ = trained("policy_reinforce_steady", args)
    value, _ = trained("value_reinforce", args)

    print(
        f"`python {shlex.join(sys.argv)}`, {datetime.date.today()}, {platform.machine()} with {os.cpu_count()} cores,"
    )
    print(
        f"Python {platform.python_version()}, PyTorch {torch.__version__}. {args.games} games a seat and entry: ",
        end="",
    )
    print(f"each share lies within {98 / args.games**0.5:.1f} points of that player's own in 95 % of cases.")
    print("Each net was trained once: how much another seed would change is not in that margin.")
    if args.epochs < 500:
        print(f"\nREINFORCE had {args.epochs} epochs an iteration here; the report's had 500.")
    figure_7(args, report, steady, value, exact)
    print(
        f"\nExact data: the policy net keeps the result in {100 * float(exact_last['keeps']):.2f} % of all positions."
    )
    figure_8(supervised, last)
    figure_9(values, value_last, args.seed)
    figures_10_11(f"REINFORCE with the report's settings, {args.epochs} epochs", report, args, published=True)
    figures_10_11("REINFORCE with entropy, a pool and 1 epoch", steady, args, published=False)


if __name__ == "__main__":
    main()
