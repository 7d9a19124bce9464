"""The labels on every container, volume and image that robosmoke makes, so that it can remove them."""

from __future__ import annotations

KIND = "robosmoke.kind"
KEY = "robosmoke.key"
STAGE = "robosmoke.stage"


def labels(kind: str, key: str) -> dict[str, str]:
    """Return the labels of one resource."""
    return {KIND: kind, KEY: key}
