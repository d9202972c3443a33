"""Path parameters as FastAPI declares them."""

from typing import Annotated

from fastapi import Path
from starlette.convertors import StringConvertor, register_url_convertor

from graphkin.protocol.requests import Digits, Epoch, IdInText
from graphkin.protocol.values import MAX_ID


class _ItemIdConvertor(StringConvertor):
    """Converter of an item id at the end of a path. It does not match `query`, because items/query is another route."""

    regex = "(?!query$)[^/]+"


register_url_convertor("item", _ItemIdConvertor())

CollectionName = Annotated[str, Path(description="Collection.", examples=["nci"])]
ItemId = Annotated[IdInText, Path(description="Item id.", examples=[0])]
ComponentId = Annotated[IdInText, Path(description="Component id: the lowest id of its members.", examples=[0])]
ClusterId = Annotated[
    int, Path(ge=1, le=MAX_ID, description="Cluster id: its rank by size, from 1.", examples=[1]), Digits
]
EpochInPath = Annotated[Epoch, Path(examples=[0])]
