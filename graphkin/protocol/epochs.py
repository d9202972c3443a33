"""What a folder of epochs says of itself: `manifest.json`, written last, whose presence is the publication.

manifest.json                  what was drawn, and every other file with its SHA-256
epoch=7/part-00000.parquet     epoch 7 of the next anchors each: rows as `GET positives/epochs/7` replies them
"""

from typing import Annotated, Literal, Self

from pydantic import Field, ValidationError

from graphkin.protocol.errors import Damaged
from graphkin.protocol.frozen import Frozen
from graphkin.protocol.policy import Policy
from graphkin.protocol.seal import sealed, unsealed

MANIFEST = "manifest.json"


def part_name(epoch: int, number: int) -> str:
    """What the part of this number is called."""
    return f"epoch={epoch}/part-{number:05d}.parquet"


class EpochPart(Frozen):
    """One file. `rows`: anchors of the epoch, those that follow the part's before."""

    epoch: Annotated[int, Field(ge=0)]
    name: Annotated[str, Field(pattern=r"^epoch=[0-9]+/part-[0-9]{5,}\.parquet$")]
    rows: Annotated[int, Field(ge=0)]
    bytes: Annotated[int, Field(ge=0)]
    sha256: str


class Epochs(Frozen):
    """Positive sets of the anchors 0 to `size` - 1 of a generation, in the epochs `first` to `stop` - 1.

    The parts of an epoch follow one another, by anchor.
    """

    format: Literal[1] = 1
    collection: str
    generation: str
    size: Annotated[int, Field(ge=0)]
    policy: Policy
    seed: Annotated[int, Field(ge=0)]
    first: Annotated[int, Field(ge=0)]
    stop: Annotated[int, Field(ge=0)]
    parts: list[EpochPart]

    def of(self, epoch: int) -> list[EpochPart]:
        """The parts of one epoch."""
        return [part for part in self.parts if part.epoch == epoch]

    def sealed(self) -> bytes:
        """The bytes of `manifest.json`."""
        return sealed("epochs", self.model_dump(mode="json"))

    @classmethod
    def opened(cls, content: bytes) -> Self:
        """By the bytes of `manifest.json`. Raises `Damaged` where that is another's, or not what was written."""
        try:
            values, whole = unsealed("epochs", content)
            if not whole:
                raise ValueError("its SHA-256 differs from what it says")
            return cls.model_validate(values)
        except (ValueError, ValidationError) as error:
            raise Damaged(
                f"{MANIFEST} is no manifest of epochs: {str(error).splitlines()[0]}",
                expected="the file as `graphkin epochs` of this version writes it",
                hint="copy the folder again, or write it again by `graphkin epochs`",
            ) from error
