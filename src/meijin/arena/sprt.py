"""The sequential probability ratio test, for matches; its mathematics is in `meijin.core.statistics`."""

from meijin.core.statistics import Sprt, SprtProgress, pentanomial

__all__ = ["Sprt", "SprtProgress", "pentanomial"]
