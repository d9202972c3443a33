"""Both clients, asked in the same way."""

import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import Any, Self

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

from graphkin.client import AsyncCollection, AsyncGraphkin, Graphkin

Connect = Callable[..., Any]

_NOTHING = object()


class Blocking:
    """The asynchronous client, or a collection of its, asked like the synchronous one: its loop is another thread's."""

    def __init__(self, portal: BlockingPortal, asked: Any) -> None:
        self._portal = portal
        self._asked = asked

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._asked, name)
        if inspect.iscoroutinefunction(found):
            return lambda *given, **options: self._answered(partial(found, *given, **options))
        if inspect.isasyncgenfunction(found):
            return lambda *given, **options: self._iterated(found(*given, **options))
        return found

    def _answered(self, ask: Callable[[], Any]) -> Any:
        answer = self._portal.call(ask)
        return Blocking(self._portal, answer) if isinstance(answer, AsyncCollection) else answer

    def _iterated(self, elements: AsyncIterator[Any]) -> Iterator[Any]:
        while (found := self._portal.call(_following, elements)) is not _NOTHING:
            yield found

    def close(self) -> None:
        self._portal.call(self._asked.aclose)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return repr(self._asked)


async def _following(elements: AsyncIterator[Any]) -> Any:
    return await anext(elements, _NOTHING)


@pytest.fixture(scope="session", params=["synchronous", "asynchronous"])
def connect(request: pytest.FixtureRequest) -> Iterator[Connect]:
    """`connect(url, retry_seconds=...)`: a client, to be asked like a `Graphkin`."""
    if request.param == "synchronous":
        yield Graphkin
        return
    with start_blocking_portal() as portal:
        yield lambda url, **options: Blocking(portal, AsyncGraphkin(url, **options))
