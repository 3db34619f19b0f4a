"""Rows of results as tables: for notebooks, and as pandas DataFrames."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from meijin.core.errors import MeijinError

Row = dict[str, Any]


def frame(rows: Sequence[Row] | dict[str, Any]) -> Any:
    """The rows as a pandas DataFrame."""
    try:
        import pandas
    except ModuleNotFoundError:
        raise MeijinError("to_pandas needs pandas: pip install pandas") from None
    return pandas.DataFrame(rows)


def html(rows: Sequence[Row], most: int = 50) -> str:
    """The first rows as an HTML table; columns in which nothing is said are left out."""
    names = [name for name in (rows[0] if rows else ()) if any(row[name] not in (None, "") for row in rows)]
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(_text(row[name]))}</td>" for name in names) + "</tr>" for row in rows[:most]
    )
    more = f"<p>and {len(rows) - most} more</p>" if len(rows) > most else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _text(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.3f}" if isinstance(value, float) else f"{value:,}" if type(value) is int else str(value)
