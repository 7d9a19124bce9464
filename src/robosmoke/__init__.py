"""robosmoke: smoke tests for robot-learning simulation benchmarks."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("robosmoke")
except PackageNotFoundError:  # a bare checkout on sys.path
    __version__ = "0.0.0"
