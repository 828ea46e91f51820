"""`explain`: what the compiler makes of a computation and why."""

from __future__ import annotations

import html
from typing import Any

from . import einsums, expressions, golib, problem, promotion, request, running, spec
from .format import Format


class Explanation(str):
    """The compiler's account; prints as text, shows as HTML in a notebook."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self)}</pre>"

    def __repr__(self) -> str:
        """The text itself, so that a prompt shows it readably."""
        return str(self)


def explain(
    text: str,
    *operands: Any,
    stage: str | None = None,
    format: str | Format | None = None,
    reduce: str = "sum",
    combine: str = "mul",
    **named: Any,
) -> Explanation:
    """Says how a computation is done: expression, formats, schedule, loops, C.

    Args:
        text: An einsum specification, or an assignment with operands by name.
        operands: The operands of an einsum.
        stage: The name of one stage of the compiler; None for all.
        format: As in `einsum`.
        reduce: As in `einsum`.
        combine: As in `einsum`.
        named: The operands of an assignment.
    """
    if named or "=" in text:
        asked = [*expressions.problems(text, named, format, reduce, combine)]
    else:
        reduce = einsums.checked(reduce, combine)
        plain = einsums.to_operands(operands)
        parsed = spec.parse(text, tuple(len(o.shape) for o in plain))
        wish = None if format is None or not parsed.output else Format(format).resolve(len(parsed.output))
        inputs, plain = einsums.simplify(parsed.inputs, plain)
        wish = einsums.unfilled(inputs, parsed.output, wish, reduce)
        dtype = einsums.dtype_of(plain, reduce, combine)
        asked = [(problem.product(tuple(inputs), parsed.output, wish, reduce, combine, dtype=dtype), plain)]
    questions = [request.complete(problem.describe(one, plain), "") for one, plain in asked]
    return Explanation("\n".join(golib.explain_request(question, stage or "") for question in questions))


def notes(text: str, *operands: Any) -> tuple[str, ...]:
    """What was chosen for an einsum and why, in a few lines; compiles it if it has to.

    Args:
        text: An einsum specification.
        operands: Its operands.
    """
    plain = einsums.to_operands(operands)
    parsed = spec.parse(text, tuple(len(o.shape) for o in plain))
    inputs, plain = einsums.simplify(parsed.inputs, plain)
    asked = problem.product(tuple(inputs), parsed.output, dtype=promotion.common(plain))
    return running.prepare(asked, plain).kernel.notes
