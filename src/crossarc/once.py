"""Attributes that are computed when they are first asked for, and kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

__all__ = ["once"]

T = TypeVar("T")


class once(Generic[T]):  # noqa: N801  # reads as `property` does
    """`functools.cached_property` without its lock.

    Before Python 3.12 that lock is one for all instances of a class, so that threads wait for each
    other although they ask different objects. Here, threads that ask the same object at the same
    time may both compute, with the same result.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type[Any]) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type[Any]) -> T: ...

    def __get__(self, instance: object | None, owner: type[Any]) -> Self | T:
        if instance is None:
            return self
        # From now on the instance's own attribute is found first.
        value = instance.__dict__[self._name] = self._compute(instance)
        return value
