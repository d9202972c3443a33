"""Both clients behind one synchronous interface."""

import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import Any, Self

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

from graphkin.client import AsyncCollection, AsyncGraphkin, Graphkin

Connect = Callable[..., Any]

_END = object()


class Blocking:
    """An asynchronous client or collection with a synchronous interface. Its event loop runs in another thread."""

    def __init__(self, portal: BlockingPortal, wrapped: Any) -> None:
        self._portal = portal
        self._wrapped = wrapped

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._wrapped, name)
        if inspect.iscoroutinefunction(attribute):
            return lambda *arguments, **options: self._call(partial(attribute, *arguments, **options))
        if inspect.isasyncgenfunction(attribute):
            return lambda *arguments, **options: self._iterate(attribute(*arguments, **options))
        return attribute

    def _call(self, function: Callable[[], Any]) -> Any:
        result = self._portal.call(function)
        return Blocking(self._portal, result) if isinstance(result, AsyncCollection) else result

    def _iterate(self, elements: AsyncIterator[Any]) -> Iterator[Any]:
        while (attribute := self._portal.call(_next_element, elements)) is not _END:
            yield attribute

    def close(self) -> None:
        self._portal.call(self._wrapped.aclose)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return repr(self._wrapped)


async def _next_element(elements: AsyncIterator[Any]) -> Any:
    return await anext(elements, _END)


@pytest.fixture(scope="session", params=["synchronous", "asynchronous"])
def connect(request: pytest.FixtureRequest) -> Iterator[Connect]:
    """Yield `connect(url, retry_seconds=...)`, which returns a client with the interface of `Graphkin`."""
    if request.param == "synchronous":
        yield Graphkin
        return
    with start_blocking_portal() as portal:
        yield lambda url, **options: Blocking(portal, AsyncGraphkin(url, **options))
