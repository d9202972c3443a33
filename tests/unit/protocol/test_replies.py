from graphkin.protocol import replies
from graphkin.store import records


def test_the_stores_items_have_the_fields_of_the_replies() -> None:
    assert set(records.Item.__annotations__) == set(replies.Item.model_fields)
