"""What stands in paths, as FastAPI reads it."""

from typing import Annotated

from fastapi import Path

from graphkin.protocol.requests import Epoch, Id

CollectionName = Annotated[str, Path(description="Collection.", examples=["nci"])]
ItemId = Annotated[Id, Path(description="Item id.", examples=[0])]
ComponentId = Annotated[Id, Path(description="Component id: its lowest member's.", examples=[0])]
EpochInPath = Annotated[Epoch, Path(examples=[0])]
