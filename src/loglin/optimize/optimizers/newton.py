"""Newton's method as an optimizer by name."""

from __future__ import annotations

from typing import Any

from loglin.optimize.optimizers.optimizer import Optimizer, decisions_of, start_of


class Newton(Optimizer):
    name, line = "newton", "Newton's method with conjugate gradients; needs Hessian products"

    def minimize(self, make, penalties, run, start, name) -> Any:
        import numpy as np

        from loglin.optimize.newton import minimize_newton
        from loglin.optimize.objective import HasHessian
        from loglin.optimize.penalties import Penalized

        objective: Any = make(np.float64)
        w, l2 = start_of(objective, start), penalties.l2
        has_product = objective if isinstance(objective, HasHessian) else decisions_of(self, objective)
        product = has_product.hessian_product
        return minimize_newton(
            Penalized(objective, l2),
            lambda w, v: product(w, v) + l2 * v,
            w,
            scale=1 / (objective.curvature(w).astype(np.float64) + l2 + 1e-12),
            max_iter=run.max_iter,
            tol=run.tol,
            reporter=run.reporter,
        )
