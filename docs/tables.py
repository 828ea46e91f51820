"""What pages of the reference take from the program itself, as Markdown: no table is written by hand twice.

The tables stand in the pages between two comments, so that a page can be read as it is. `python docs/tables.py`
writes them anew, and so does `make docs`; a test compares those that don't depend on the version of torch.
"""

from __future__ import annotations

import inspect
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from libsparse._compiler import native
from libsparse._tensor.dispatch_table import handlers
from libsparse._torch.registry import overridable
from torch import Tensor

import libsparse

_PLACES: tuple[tuple[str, ModuleType | type], ...] = (
    ("torch", torch),
    ("torch.Tensor", Tensor),
    ("torch.sparse", torch.sparse),
    ("torch.nn.functional", torch.nn.functional),
    ("torch.autograd", torch.autograd),
)


PAGES = Path(__file__).parent
_TABLE = re.compile(r"<!-- table: (\w+) -->\n.*?<!-- end -->", re.DOTALL)
OF_TORCH = frozenset({"torch_functions", "routed_functions"})  # these list what the installed version of torch has


def filled(text: str) -> str:
    """A page with its tables written anew."""
    known = substitutions() if _TABLE.search(text) else {}
    return _TABLE.sub(lambda found: f"<!-- table: {found[1]} -->\n{known[found[1]]}\n<!-- end -->", text)


def substitutions() -> dict[str, str]:
    """Every table by the name that pages give it."""
    return {
        "torch_functions": _by_place([f for f in handlers if not _is_operator(f)]),
        "routed_functions": _by_place([f for f in handlers if id(f) in overridable and not _is_operator(f)]),
        "functions": _functions(),
        "commands": _commands(),
        "level_kinds": _kinds(),
        "names": _names(),
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


def _names() -> str:
    """The public names, with the first sentence of what they say of themselves."""
    lines = ["| name | |", "|---|---|"]
    for name in sorted(libsparse.__all__, key=str.lower):
        told = (inspect.getdoc(getattr(libsparse, name)) or "").partition("\n\n")[0]
        sentence = "The version." if name == "__version__" else re.split(r"(?<=\.)\s", " ".join(told.split()))[0]
        lines.append(f"| `ls.{name}` | {sentence.replace('|', chr(92) + '|')} |")
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


if __name__ == "__main__":
    for page in PAGES.rglob("*.md"):
        before = page.read_text(encoding="utf-8")
        if (after := filled(before)) != before:
            page.write_text(after, encoding="utf-8")
