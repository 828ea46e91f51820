"""What one call of a function put together, as text: groups with their expressions, and why the rest ran alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from libsparse._compiler import native, request
from libsparse._runtime.problem import Operand
from libsparse._runtime.requests import to_request

from . import execute
from .following import call
from .graph import Node
from .groups import Group
from .recorder import Done


def report(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], stage: str | None) -> str:
    """Calls a function once, and says how its operations were computed.

    Args:
        fn: A function, compiled or not.
        args: Its arguments.
        kwargs: Its arguments by name.
        stage: The stage of the compiler to show for each group; None for the loops as they were scheduled.
    """
    done: list[Done] = []
    call(getattr(fn, "__wrapped__", fn), args, kwargs, done)
    title = getattr(fn, "__name__", type(fn).__name__)
    together = [step for step in done if step.group is not None]
    count = sum(len(step.group.covered) for step in together if step.group is not None)
    alone = len(done) - len(together)
    groups = f"{_number(count, 'operation')} in {_number(len(together), 'group')}"
    head = f"{title}: {groups}, {alone or 'none'} by {'itself' if alone == 1 else 'themselves'}"
    return "\n".join([head, *(line for number, step in enumerate(done, 1) for line in _lines(number, step, stage))])


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _lines(number: int, step: Done, stage: str | None) -> Iterator[str]:
    if step.group is None:
        yield f"\n{number}. {step.name} by itself: {step.reason}"
        return
    group = step.group
    yield f"\n{number}. together: {', '.join(node.op for node in reversed(group.covered))}"
    yield f"   {group.expression}"
    for name, (node, _), operand in zip(group.names, group.reads, step.operands, strict=True):
        yield f"   {name}: {_told(node, operand)}"
    yield from (f"   | {line}" for line in _stage(group, step.operands, stage).splitlines())


def _told(node: Node, operand: Operand) -> str:
    shape = " x ".join(map(str, operand.shape)) or "a number"
    kind = (
        "the mask of a dropout" if node.op == "mask" else "dense" if operand.pattern is None else operand.pattern.format
    )
    return f"{shape}, {kind}, {operand.dtype}"


def _stage(group: Group, operands: Sequence[Operand], stage: str | None) -> str:
    """What the compiler says of a group."""
    problem, operands = execute.asked(group)
    text: str = native.explain_request(request.complete(to_request(problem, operands), ""), stage or "scheduled")
    return text.strip("\n")
