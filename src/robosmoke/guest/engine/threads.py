"""Fix the thread count of a process's numerical libraries; imports none of them."""

from __future__ import annotations

import os
import sys
from typing import Any

_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def thread_variables(threads: int) -> dict[str, str]:
    """Return the variables that libraries read when they are loaded."""
    return dict.fromkeys(_VARIABLES, str(threads))


def apply_threads(threads: int) -> None:
    """Set the variables for what is loaded later, and torch's count if it is loaded already."""
    os.environ.update(thread_variables(threads))
    torch: Any = sys.modules.get("torch")
    if torch is not None and torch.get_num_threads() != threads:
        torch.set_num_threads(threads)
