"""What tuning has found, as a table: for `libsparse tune --list`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_COLUMNS = ("name", "expression", "threads", "patterns", "tried", "gain", "when", "schedule")
_WIDEST = 44  # characters of a column but the last


def text(records: Mapping[str, Any]) -> str:
    """A line for each pattern, and for each class with a schedule for all patterns; columns are as wide as needed."""
    rows = [_COLUMNS]
    for name, record in sorted(records.items(), key=lambda pair: (pair[1]["expression"], pair[0])):
        about = name[:12], record["expression"], str(record["threads"])
        if record["class"] is not None:
            rows.append((*about, "all of these sizes", "", "", "", record["class"]))
        for pattern in record["patterns"].values():
            gain = f"{pattern['gain']:.2f}" if pattern["schedule"] is not None and "gain" in pattern else ""
            formats, tried, when = pattern.get("formats", ""), str(len(pattern["trials"])), pattern.get("when", "")
            rows.append((*about, formats, tried, gain, when, pattern["schedule"] or "the compiler's"))
    if len(rows) == 1:
        return "nothing has been tuned"
    widths = [min(max(len(row[column]) for row in rows), _WIDEST) for column in range(len(_COLUMNS) - 1)]
    return "\n".join("  ".join([*map(_cell, row, widths), row[-1]]).rstrip() for row in rows)


def _cell(text: str, width: int) -> str:
    """A text in so many characters."""
    return (text if len(text) <= width else text[: width - 3] + "...").ljust(width)
