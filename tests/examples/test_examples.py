"""Every example runs at a small size, learns or finds what it should, and draws its picture."""

from __future__ import annotations

import ast
import json
import runpy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import libsparse as ls

EXAMPLES = Path(__file__).parents[2] / "examples"
Figures = dict[str, float]

EXPECTED: dict[str, Callable[[Figures], bool]] = {
    "citations": lambda found: min(found.values()) > 0.5,  # seven fields
    "conductivity": lambda found: found["last"] < found["first"] / 50,
    "cp_als": lambda found: found["last"] < 0.5 < found["first"],
    "drop_in": lambda found: found["apart"] < 1e-4,
    "graph_algorithms": lambda found: abs(found["sum"] - 1) < 1e-3,
    "large_graph": lambda found: found["accuracy"] > 0.3,  # one epoch, seven fields
    "pruned_digits": lambda found: found["accuracy"] > 0.8,
    "pyg_layers": lambda found: found["apart"] < 1e-4,
    "recommender": lambda found: found["recall"] > 1.5 * found["popular"],
    "sparse_regression": lambda found: found["right"] > 0.99 and found["apart"] < 1e-3,
    "sparse_transformer": lambda found: found["last"] < found["first"] - 1,
}


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Small examples are slower with threads where other tests run beside them."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_all_are_tested():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*EXPECTED, "options"}
    assert len(EXPECTED) + len(list(EXAMPLES.glob("*.ipynb"))) >= 12


@pytest.mark.parametrize("name", EXPECTED)
def test_example(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "pyg_layers":
        pytest.importorskip("torch_geometric")
    monkeypatch.syspath_prepend(EXAMPLES)
    found = runpy.run_path(str(EXAMPLES / f"{name}.py"))["main"](quick=True, plots=tmp_path)
    assert EXPECTED[name](found), found
    assert (tmp_path / f"{name}.png").stat().st_size > 5000


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebook(path: Path) -> None:
    """Cells run in order, and what a cell shows is text and HTML."""
    names: dict[str, Any] = {}
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [], "notebooks are kept without outputs"
            _show(_value("".join(cell["source"]).replace("BUDGET = 40", "BUDGET = 6"), names))


def _value(source: str, names: dict[str, Any]) -> Any:
    """Runs a cell, and returns the value of its last line if that is an expression, as Jupyter does."""
    *statements, last = _parsed(source)
    exec("\n".join(statements), names)
    try:
        code = compile(last, "<cell>", "eval")
    except SyntaxError:
        exec(last, names)
        return None
    return eval(code, names)


def _parsed(source: str) -> list[str]:
    return [ast.unparse(node) for node in ast.parse(source).body]


def _show(value: Any) -> None:
    if isinstance(value, ls.SparseTensor) or hasattr(type(value), "_repr_html_"):
        assert "<" in value._repr_html_()
    assert repr(value)
