"""What pages of the reference take from the program itself, as Markdown: no table is written by hand twice."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from types import ModuleType
from typing import Any

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
        "level_kinds": _kinds(),
        "level_invariants": _invariants(),
    }


def _run(*arguments: str) -> str:
    return subprocess.run([native.EXECUTABLE, *arguments], capture_output=True, text=True, check=True).stdout


def _is_operator(function: object) -> bool:
    return str(getattr(function, "__name__", "")).startswith("__") and not hasattr(function, "__self__")


def _by_place(functions: list[object]) -> str:
    """One line a namespace, with the names that the functions have there."""
    wanted = set(functions)  # by equality: torch.mm and torch.spmm are one function
    lines = []
    for title, place in _PLACES:
        found = ((name, getattr(place, name, None)) for name in dir(place) if name[0] != "_")
        names = sorted(name for name, value in found if isinstance(value, Callable) and value in wanted)
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


def _kinds() -> str:
    """The kinds of levels, as the compiler describes them."""
    kinds = json.loads(_run("formats"))["levels"]
    rows = (f"| `{_letter(kind)}` | {kind['name']} | {kind['arrays']} |" for kind in kinds)
    return "\n".join(["| letter | kind | arrays |", "|---|---|---|", *rows])


def _invariants() -> str:
    """What holds of the arrays of each kind of level."""
    lines = ["| level | properties | length of pos | length of crd | values of crd |", "|---|---|---|---|---|"]
    for kind in json.loads(_run("formats"))["levels"]:
        props = ", ".join(
            name.replace("_", " ") for name, holds in kind["props"].items() if holds and name[:4] != "has_"
        )
        values = f"`{_formula(kind['crd_lo'])}` to below `{_formula(kind['crd_hi'])}`" if kind["crd_len"] else ""
        lengths = [f"`{_formula(kind[name])}`" if kind[name] else "" for name in ("pos_len", "crd_len")]
        lines.append(f"| `{_letter(kind)}` | {props} | {' | '.join(lengths)} | {values} |")
    return "\n".join(lines)


def _letter(kind: dict[str, Any]) -> str:
    """A kind as a format spells it, with names for its numbers."""
    names = ",".join(f"n{i}" for i in range(kind["numbers"]))
    return kind["letter"] + (f"({names})" if names else "")


def _formula(formula: Any, *, outer: bool = True) -> str:
    """A formula of the compiler's JSON as text."""
    if not isinstance(formula, list):
        return str(formula).replace("number", "n")
    op, *parts = formula
    if op in ("pos", "crd"):
        return f"{op}[{_formula(parts[0])}]"
    if op.isalpha():
        return f"{op}({', '.join(map(_formula, parts))})"
    text = f" {op} ".join(_formula(part, outer=False) for part in parts)
    return text if outer else f"({text})"


def _commands() -> str:
    """The usage of the schedule commands, as the compiler prints it."""
    _, _, rest = _run("help").partition("separated by semicolons:\n")
    usage, _, _ = rest.partition("\n\n")
    return "```text\n" + "\n".join(line.strip() for line in usage.splitlines()) + "\n```"
