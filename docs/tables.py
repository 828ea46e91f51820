"""What pages of the reference take from the program itself, as Markdown: no table is written by hand twice."""

from __future__ import annotations

import json
import subprocess
from types import ModuleType

import torch
from libsparse._compiler import native
from libsparse._tensor.dispatch_table import handlers
from libsparse._torch.registry import overridable
from torch import Tensor

_PLACES: tuple[tuple[str, ModuleType | type], ...] = (
    ("torch", torch),
    ("torch.Tensor", Tensor),
    ("torch.sparse", torch.sparse),
    ("torch.nn.functional", torch.nn.functional),
    ("torch.autograd", torch.autograd),
)


def substitutions() -> dict[str, str]:
    """Every table by the name that pages give it."""
    return {
        "torch_functions": _by_place([f for f in handlers if not _is_operator(f)]),
        "routed_functions": _by_place(overridable),
        "functions": _functions(),
        "commands": _commands(),
    }


def _run(*arguments: str) -> str:
    return subprocess.run([native.EXECUTABLE, *arguments], capture_output=True, text=True, check=True).stdout


def _is_operator(function: object) -> bool:
    return str(getattr(function, "__name__", "")).startswith("__") and not hasattr(function, "__self__")


def _by_place(functions: list[object]) -> str:
    """One line a namespace, with the names that the functions have there."""
    lines = []
    for title, place in _PLACES:
        wanted = {id(f) for f in functions}
        names = sorted(name for name in dir(place) if name[0] != "_" and id(getattr(place, name, None)) in wanted)
        if names:
            lines.append(f"- `{title}`: " + ", ".join(f"`{name}`" for name in names))
    return "\n".join(lines)


def _functions() -> str:
    """The functions of expressions by their number of arguments."""
    known = json.loads(_run("functions"))
    lines = ["| arguments | integers stay integers | integers become floats |", "|---|---|---|"]
    for count in sorted({f["args"] for f in known}):
        whole, floating = (
            " ".join(f"`{f['name']}`" for f in known if f["args"] == count and f["float"] is kind)
            for kind in (False, True)
        )
        lines.append(f"| {count} | {whole} | {floating} |")
    return "\n".join(lines)


def _commands() -> str:
    """The usage of the schedule commands, as the compiler prints it."""
    _, _, rest = _run("help").partition("separated by semicolons:\n")
    usage, _, _ = rest.partition("\n\n")
    return "```text\n" + "\n".join(line.strip() for line in usage.splitlines()) + "\n```"
