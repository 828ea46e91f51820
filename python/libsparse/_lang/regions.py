"""Regions: where a call has a value, given which of its arguments have one; as `libsparse/index/region.go` has them."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Sequence

from . import operations
from .assignment import Call, Expr, Number


def usual(call: Call) -> str:
    """The region of a call that is given none: every coordinate at which its value may be another than 0."""
    op = operations.SIGNS.get(call.op, call.op)
    if op == "pow" and (_number(call.args[1]) or 0) > 0:
        return "0"
    if op in ("clamp", "hardtanh"):
        low, high = _number(call.args[1]), _number(call.args[2])
        return "0" if low is not None and high is not None and low <= 0 <= high else "all"
    if op == "where" and _number(call.args[2]) == 0:
        return "0 & 1"
    if op == "where" and _number(call.args[1]) == 0:
        return "2"
    return operations.REGIONS.get(op, "some")


def _number(expr: Expr) -> int | float | None:
    """The value of a literal, which may have a sign."""
    if isinstance(expr, Number):
        return expr.value
    if isinstance(expr, Call) and expr.op == "neg":
        value = _number(expr.args[0])
        return None if value is None else -value
    return None


def holds(region: str, defined: Sequence[bool], names: Sequence[str] | None = None) -> bool:
    """Whether a region contains a place where exactly the arguments that are `defined` have a value.

    Args:
        region: The region, over the numbers of arguments or over `names`.
        defined: Whether each argument has a value.
        names: The parameters of a function.
    """
    known = {"every": all(defined), "some": any(defined), "all": True}
    if region in known:
        return known[region]
    keys = [f"_{number}" for number in range(len(defined))] if names is None else names
    known.update(zip(keys, defined, strict=True))
    return _evaluate(_tree(region), known)


@functools.lru_cache(maxsize=256)
def _tree(region: str) -> ast.expr:
    """A region as a tree: the signs of regions have the precedence that they have in Python."""
    return ast.parse(re.sub(r"\b(\d+)\b", r"_\1", region.strip()), mode="eval").body


def _evaluate(node: ast.expr, known: dict[str, bool]) -> bool:
    if isinstance(node, ast.Name):
        return known[node.id]
    if isinstance(node, ast.UnaryOp):
        return not _evaluate(node.operand, known)
    assert isinstance(node, ast.BinOp)
    left, right = _evaluate(node.left, known), _evaluate(node.right, known)
    if isinstance(node.op, ast.BitAnd):
        return left and right
    return left or right if isinstance(node.op, ast.BitOr) else left != right
