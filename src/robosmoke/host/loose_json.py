"""Read JSON that other tools wrote, NaN and byte-order mark included, with the place in every complaint."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from robosmoke.errors import RecordError

T = TypeVar("T")

_NAMES = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", int: "a number", float: "a number"}


def read_loosely(path: Path) -> Node:
    """Return the object a file holds; raises `RecordError` naming file, position and what was expected."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise RecordError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise RecordError(f"{path}: byte {error.start}: is not UTF-8: expected a JSON file") from error
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise RecordError(
            f"{path}:{error.lineno}:{error.colno}: is not whole JSON ({error.msg}):"
            " expected an object; was its writer stopped?"
        ) from error
    except (ValueError, RecursionError) as error:
        raise RecordError(f"{path}: is not usable JSON: {error}") from error
    return _node(value, str(path), "top level")


@dataclass(frozen=True, kw_only=True)
class Node:
    """One object of a document; each getter raises `RecordError` unless its key holds what it says."""

    value: dict[str, Any]
    file: str
    key: str

    @property
    def where(self) -> str:
        """Return ``file: key.path``."""
        return f"{self.file}: {self.key}"

    @property
    def keys(self) -> str:
        """List the keys, a few of them where there are many."""
        shown = [repr(key) for key in list(self.value)[:8]]
        return ", ".join(shown) + (", …" if len(self.value) > len(shown) else "")

    def has(self, key: str) -> bool:
        """Tell whether a key is there."""
        return key in self.value

    def object(self, key: str) -> Node:
        """Return an object."""
        return _node(self._get(key, "an object"), self.file, self._path(key))

    def array(self, key: str) -> list[Node]:
        """Return an array of objects."""
        return [_node(item, self.file, where) for where, item in self._items(key)]

    def text(self, key: str) -> str:
        """Return a string."""
        return self._checked(self._get(key, "a string"), self._path(key), "a string", _text)

    def integer(self, key: str) -> int:
        """Return an integer."""
        return self._checked(self._get(key, "an integer"), self._path(key), "an integer", _integer)

    def number(self, key: str) -> float | None:
        """Return a number, NaN and infinity included, or null."""
        return self._checked(self._get(key, "a number"), self._path(key), "a number or null", _number)

    def boolean(self, key: str) -> bool | None:
        """Return a boolean or null."""
        return self._checked(self._get(key, "a boolean"), self._path(key), "a boolean or null", _boolean)

    def numbers(self, key: str) -> list[float | None]:
        """Return an array of numbers, NaN and infinity included, and nulls."""
        return [self._checked(item, where, "a number or null", _number) for where, item in self._items(key)]

    def booleans(self, key: str) -> list[bool | None]:
        """Return an array of booleans and nulls."""
        return [self._checked(item, where, "a boolean or null", _boolean) for where, item in self._items(key)]

    def texts(self, key: str) -> list[str]:
        """Return an array of strings; an absent key is an empty one."""
        if not self.has(key):
            return []
        return [self._checked(item, where, "a string", _text) for where, item in self._items(key)]

    def _path(self, key: str) -> str:
        return key if self.key == "top level" else f"{self.key}.{key}"

    def _get(self, key: str, expected: str) -> Any:
        if key not in self.value:
            raise RecordError(f"{self.where}: key {key!r} is missing: expected {expected}")
        return self.value[key]

    def _items(self, key: str) -> Iterator[tuple[str, Any]]:
        value = self._get(key, "an array")
        if not isinstance(value, list):
            raise RecordError(f"{self.file}: {self._path(key)}: expected an array, found {_named(value)}")
        for index, item in enumerate(value):
            yield f"{self._path(key)}[{index}]", item

    def _checked(self, value: Any, where: str, expected: str, accept: Callable[[Any], T]) -> T:
        try:
            return accept(value)
        except TypeError:
            raise RecordError(f"{self.file}: {where}: expected {expected}, found {_named(value)}") from None


def _node(value: Any, file: str, key: str) -> Node:
    if not isinstance(value, dict):
        raise RecordError(f"{file}: {key}: expected an object, found {_named(value)}")
    return Node(value=value, file=file, key=key)


def _named(value: Any) -> str:
    return "null" if value is None else _NAMES[type(value)]


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    # JSON may hold half of a surrogate pair, which no record could be written with.
    return value.encode("utf-8", "replace").decode("utf-8")


def _integer(value: Any) -> int:
    if type(value) is not int:
        raise TypeError
    return value


def _number(value: Any) -> float | None:
    if value is None:
        return None
    if type(value) not in (int, float):
        raise TypeError
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def _boolean(value: Any) -> bool | None:
    if value is not None and type(value) is not bool:
        raise TypeError
    return value
