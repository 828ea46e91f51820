"""Linear algebra with sparse matrices: equations, eigenvalues and singular values, with gradients.

For what is not here, `A.as_linear_operator()` gives the matrix to SciPy's solvers.
"""

from __future__ import annotations

from .convergence import ConvergenceError
from .equations import solve
from .spectra import eigsh, power_iteration, svds

__all__ = ["ConvergenceError", "eigsh", "power_iteration", "solve", "svds"]
