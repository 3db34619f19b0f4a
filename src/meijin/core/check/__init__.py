"""The conformance kit for people who write games: `check_game` tries the laws that every game keeps.

    report = check_game(game)             # or a RuleError that names the rule, the line and the remedy
    report.laws, report.warnings
    report.statistics                     # of random play; alone: play_statistics(game)

| module | what is in it |
|---|---|
| `run` | `check_game`, the list of laws, the report |
| `declarations`, `laws`, `comparisons` | the laws: before any play, of interpreted play, of compiled play |
| `trial`, `guard`, `overflow` | interpreted games whose mistakes stop at their line |
| `statistics`, `advice` | what random play shows, and what looks like a mistake in it |
| `supervise` | the child process in which rules may hang or crash |
| `lint`, `diagnose` | what is wrong with a rule, in words |
"""

from meijin.core.check.run import Law, Report, check_game
from meijin.core.check.statistics import SeatStatistics, Spread, Statistics, play_statistics

__all__ = ["Law", "Report", "SeatStatistics", "Spread", "Statistics", "check_game", "play_statistics"]
