"""How PyG's layers begin: linear layers and parameters that are uniform with the variance of Glorot and Bengio."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


def glorot_(parameter: Tensor | None) -> None:
    """Draws a parameter, if there is one, from +-sqrt(6 / (the sum of its last two extents)).

    Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural networks", 2010, equation 16.
    """
    if parameter is not None:
        bound = math.sqrt(6 / (parameter.shape[-2] + parameter.shape[-1]))
        with torch.no_grad():
            parameter.uniform_(-bound, bound)


class Glorot(nn.Linear):
    """A linear layer whose weight begins like that."""

    def reset_parameters(self) -> None:
        """Draws the parameters anew."""
        glorot_(self.weight)
        if self.bias is not None:
            bound = 1 / math.sqrt(max(self.in_features, 1))
            nn.init.uniform_(self.bias, -bound, bound)


class LazyGlorot(nn.LazyLinear):
    """One that takes its number of inputs from the first input."""

    cls_to_become = Glorot


def linear(inputs: int, outputs: int, bias: bool = True, glorot: bool = False) -> nn.Linear:
    """A linear layer; that of -1 inputs takes their number from the first input."""
    if inputs == -1:
        return LazyGlorot(outputs, bias) if glorot else nn.LazyLinear(outputs, bias)
    return Glorot(inputs, outputs, bias) if glorot else nn.Linear(inputs, outputs, bias)


def is_plain(layer: nn.Module) -> bool:
    """Whether a layer does what its weight says and nothing else, so that others may compute it with the weight.

    Lazy layers that have seen no input, those that are pruned or have `weight_norm`, and such as others have put in the
    place of a linear layer have hooks or functions of their own.
    """
    hooks = layer._forward_hooks, layer._forward_pre_hooks, layer._backward_hooks, layer._backward_pre_hooks
    own = getattr(layer.forward, "__func__", None) is not nn.Linear.forward
    return not own and not any([len(found) > 0 for found in hooks])
