"""Methods by the names that they have elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

_METHODS = {"delete": "erase", "remove": "erase", "add": "insert", "append": "insert", "query": "search"}


class HasOtherWords:
    """Names the method that is meant, if an index has none of this name."""

    __slots__ = ()

    if not TYPE_CHECKING:  # a type checker would take any name for one that is there

        def __getattr__(self, name: str) -> Any:
            meant = f"; did you mean {_METHODS[name]!r}?" if name in _METHODS else ""
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}{meant}", name=name, obj=self
            )
