"""What the examples share: their options on the command line, and where their pictures go."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

Plots = Path | None
"""The folder for pictures, None where none are wanted."""


def run(main: Callable[..., Any], description: str | None) -> None:
    """Calls an example with the options of the command line.

    Args:
        main: The example, a function of `quick` (sizes for a few seconds) and `plots` (a folder).
        description: Its docstring, for `--help`.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes: a few seconds")
    parser.add_argument("--plots", type=Path, metavar="FOLDER", help="write pictures there (needs matplotlib)")
    main(**vars(parser.parse_args()))


def save(figure: Any, folder: Path, name: str) -> None:
    """Writes a figure of matplotlib to `<folder>/<name>.png`."""
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"{name}.png", dpi=120, bbox_inches="tight")
    print(f"picture: {folder / name}.png")
