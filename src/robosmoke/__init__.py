"""robosmoke: smoke tests for robot-learning simulation benchmarks."""

import importlib
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from robosmoke.guest.engine.evaluate import evaluate

__all__ = ["__version__", "evaluate"]

try:
    __version__ = version("robosmoke")
except PackageNotFoundError:  # a bare checkout on sys.path
    __version__ = "0.0.0"


def __getattr__(name: str) -> Any:
    """Load the evaluation engine, and NumPy with it, when somebody asks for it."""
    if name == "evaluate":
        return importlib.import_module("robosmoke.guest.engine.evaluate").evaluate
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
