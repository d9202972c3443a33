from collections.abc import Iterator
from contextlib import closing

import pytest

from graphkin.api.work.nursery import Nursery


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    with closing(Nursery()) as nursery:
        yield nursery
