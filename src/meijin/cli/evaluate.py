"""`meijin evaluate`: how good is an agent?"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

import typer
from rich.text import Text

from meijin.arena.evaluation import NoGames
from meijin.arena.evaluators import EvaluationResult, evaluate, evaluator, evaluators, evaluators_for
from meijin.arena.pool import cores
from meijin.cli import words
from meijin.cli.common import limit, prepare
from meijin.cli.console import busy, err, in_whole_words, out, print_json, table, warn
from meijin.cli.program import INTERRUPTED, until_stopped
from meijin.cluster.connection import Cluster
from meijin.core.catalogue import make
from meijin.core.errors import BadParameter
from meijin.core.expression import parse
from meijin.core.game import Game

MISSED = 1  # exit status when a goal was not reached


def run(
    name: str,
    agent: str | None,
    named: Sequence[str],
    seed: int,
    seconds: float | None,
    simulations: int | None,
    workers: int | None,
    load: Sequence[Path],
    as_json: bool,
    ray: str | None = None,
) -> None:
    prepare(load, evaluators)
    game = make(name)
    if agent is None:
        _list(game, as_json)
        return
    if parse(agent).name == "human":
        raise BadParameter(f"{agent}: only agents can be evaluated; to play yourself, use `meijin play {name}`")
    chosen = [evaluator(each) for each in named or evaluators_for(game)]
    for each in chosen:
        if why := each.unfit(game):
            raise BadParameter(f"{each.name} does not fit {game}: {why}")
    if workers is None:
        workers = cores() if ray is None else 0
    found: list[EvaluationResult] = []
    stop, stopped = threading.Event(), False
    with ExitStack() as stack:
        if ray is not None:  # one connection for all evaluators
            stack.enter_context(Cluster(ray, warn))
        for each in chosen:
            with busy(f"{agent}: {each.name}"):
                try:
                    result, stopped = until_stopped(
                        lambda each=each: evaluate(  # type: ignore[misc]
                            game, agent, each, seed=seed, limit=limit(seconds, simulations), workers=workers,
                            ray=ray, warn=warn, stopping=stop.is_set,
                        ),
                        stop.set,
                    )  # fmt: skip
                except (KeyboardInterrupt, NoGames):  # before its first game ended
                    stopped = True
                else:
                    found.append(result)
            if stopped:
                break
    if as_json:
        evaluations = [{**asdict(each), "reached": each.reached} for each in found]
        print_json({"game": str(game), "agent": agent, "seed": seed, "evaluations": evaluations, "stopped": stopped})
    elif found:
        _print(game, agent, seed, found, stopped)
    else:
        err().print("stopped before a game ended")
    if stopped:
        raise typer.Exit(INTERRUPTED)
    if any(evaluation.reached is False for evaluation in found):
        raise typer.Exit(MISSED)


def _list(game: Game, as_json: bool) -> None:
    """List the evaluators, and those used by default for a game."""
    usual = evaluators_for(game)
    if as_json:
        known = [{"name": n, "summary": evaluators.get(n).summary} for n in evaluators.names()]
        print_json({"game": str(game), "default": usual, "evaluators": known})
        return
    shown = table("evaluator", "what it measures")
    for name in evaluators.names():
        shown.add_row(Text(name, "bold cyan"), words.prose(evaluators.get(name).summary))
    console = out()
    console.print(shown)
    console.print(Text.assemble((game.title, "bold"), " by default: ", (", ".join(usual), "cyan")))


def _print(game: Game, agent: str, seed: int, found: Sequence[EvaluationResult], stopped: bool) -> None:
    numbers = ("value", "95 % interval", "games", "seconds")
    shown = table("evaluator", *numbers, right=numbers)
    for evaluation in found:
        low, high = (_value(evaluation, end) for end in evaluation.interval)
        about = [Text(evaluation.name, "bold cyan"), _goal(evaluation), _remark(evaluation)]
        shown.add_row(
            Text("\n").join(filter(None, about)),
            Text(_value(evaluation, evaluation.value), "bold"),
            f"{low.removesuffix(' %')} - {high}",
            f"{evaluation.games:,}",
            f"{evaluation.seconds:.1f}",
        )
    console = out()
    console.print(
        Text.assemble((game.title, "bold"), "  ", (agent, "cyan"), (f"  seed {seed}{', stopped' * stopped}", "dim"))
    )
    console.print(in_whole_words(shown))


def _value(evaluation: EvaluationResult, value: float) -> str:
    if value != value:
        return "-"
    return f"{100 * value:.1f} %" if evaluation.unit == "share" else words.number(round(value, 2))


def _goal(evaluation: EvaluationResult) -> Text:
    if evaluation.goal is None:
        return Text("")
    said = _value(evaluation, evaluation.goal)
    return Text(f"goal {said} reached", "green") if evaluation.reached else Text(f"goal {said} missed", "red")


def _remark(evaluation: EvaluationResult) -> Text:
    """The most important details."""
    details = evaluation.details
    parts = []
    if "wins" in details:
        parts.append(f"{details['wins']}-{details['draws']}-{details['losses']}")
    for kind, counts in details.get("by_value", {}).items():
        parts.append(f"{kind} {counts['kept']}/{counts['positions']}")
    if details.get("mean_moves") is not None:
        parts.append(f"{details['mean_moves']:.1f} moves")
    if "highest" in details:
        parts.append(f"{words.number(details['lowest'])} to {words.number(details['highest'])}")
    if forfeits := sum(details.get("forfeits", {}).values()):
        parts.append(f"{forfeits} forfeits")
    return Text(", ".join(parts), "dim")
