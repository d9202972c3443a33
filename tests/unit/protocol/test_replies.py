from graphkin.protocol import replies
from graphkin.store import records


def test_items_of_stores_and_replies_have_the_same_fields() -> None:
    assert set(records.Item.__annotations__) == set(replies.Item.model_fields)
