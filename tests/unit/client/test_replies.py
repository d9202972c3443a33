"""What the client hands out as dictionaries has the fields of the protocol's replies."""

from typing import Any

import pytest

from graphkin.client import client
from graphkin.protocol import replies
from graphkin.protocol.frozen import Frozen
from graphkin.store import records


@pytest.mark.parametrize(
    ("told", "reply", "without"),
    [
        (client.Damage, replies.Damage, set()),
        (client.CollectionSummary, replies.CollectionSummary, set()),
        (client.Item, replies.Item, set()),
        (client.SimilarItem, replies.SimilarItem, set()),
        (client.Hits, replies.SearchReply, {"generation"}),
        (records.Item, replies.Item, set()),
    ],
)
def test_fields_are_those_of_the_reply(told: Any, reply: type[Frozen], without: set[str]) -> None:
    assert set(told.__annotations__) == set(reply.model_fields) - without
