"""What torch.compile's tracer of Python is taught: methods that take functions, and patterns of inputs as arguments.

The tracer has no public place for either. Its two methods below are replaced when it first looks at a SparseTensor; a
torch in which they are missing breaks its graphs there, as for any class that it doesn't know.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from libsparse._storage.pattern import Pattern

inlined: dict[str, Callable[..., Any]] = {}
"""The methods of SparseTensors that take functions, which no node of a graph can: the tracer reads their bodies."""

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
        """An object as a node of the graph: the pattern of an input is read off the input."""
        if isinstance(self.value, Pattern) and isinstance(self.source, AttrSource) and self.source.member == "pattern":
            owner = InstructionTranslator.current_tx().output.input_source_to_var.get(self.source.base)
            if owner is not None:
                return owner.as_proxy().pattern
        return as_proxy(self)

    tensors.call_method, objects.as_proxy = call_inlined, read_off
