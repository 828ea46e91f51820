"""What torch.compile's tracer of Python is taught: methods that take functions, and patterns of inputs as arguments.

The tracer has no public place for either. Its two methods below are replaced when it first looks at a SparseTensor; a
torch in which they are missing breaks its graphs there, as for any class that it doesn't know.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from libsparse._storage.pattern import Pattern

inlined: dict[str, Callable[..., Any]] = {}
"""The methods of SparseTensors that take functions, which no node of a graph can: the tracer reads their bodies."""

AS_INPUT = "_as_input"
"""The attribute of a pattern that is a sparse tensor without values: graphs take tensors, and no other objects."""

_taught: list[str] = []


def teach() -> None:
    """Replaces the tracer's methods, once it is imported; torch imports it when something is compiled."""
    if _taught or "torch._dynamo.symbolic_convert" not in sys.modules:
        return
    _taught.append("once")
    try:
        from torch._dynamo import variables
        from torch._dynamo.source import AttrSource
        from torch._dynamo.symbolic_convert import InstructionTranslator

        tensors: Any = variables.TensorVariable
        objects: Any = variables.UserDefinedObjectVariable
        functions: Any = variables.UserFunctionVariable
        call_method, as_proxy = tensors.call_method, objects.as_proxy
    except (ImportError, AttributeError):
        return

    def call_inlined(self: Any, tx: Any, name: str, args: Any, kwargs: Any) -> Any:
        """The result of a method of a tensor that the graph has made."""
        method = inlined.get(name)
        if method is None or getattr(type(self.as_proxy().node.meta.get("example_value")), name, None) is not method:
            return call_method(self, tx, name, args, kwargs)
        return functions(method).call_function(tx, [self, *args], kwargs)

    def read_off(self: Any) -> Any:
        """An object as a node of the graph: a pattern is read off an input, its own tensor if need be."""
        if not isinstance(self.value, Pattern) or self.source is None:
            return as_proxy(self)
        tx = InstructionTranslator.current_tx()
        members, base = [], self.source  # the attributes that lead to it: `A.pattern`, and in torch 2.12 `A.T.pattern`
        while isinstance(base, AttrSource) and base not in tx.output.input_source_to_var:
            members.append(base.member)
            base = base.base
        owner = tx.output.input_source_to_var.get(base) if members[:1] == ["pattern"] else None
        if owner is not None:
            return functools.reduce(getattr, reversed(members), owner.as_proxy())
        built = variables.VariableTracker.build(tx, getattr(self.value, AS_INPUT), AttrSource(self.source, AS_INPUT))
        return built.as_proxy().pattern

    tensors.call_method, objects.as_proxy = call_inlined, read_off
