"""The manifest of a folder of exported epochs. It is written last, so a folder with a manifest is complete.

The folder contains:

manifest.json                  the sampling policy, and the SHA-256 of every other file
epoch=7/part-00000.parquet     rows of epoch 7 as in the reply to `GET positives/epochs/7`, consecutive anchors per part
"""

from typing import Annotated, Literal, Self

from pydantic import Field, ValidationError

from graphkin.protocol.errors import Damaged
from graphkin.protocol.frozen import Frozen
from graphkin.protocol.policy import Policy
from graphkin.protocol.seal import seal_document, unseal_document

MANIFEST = "manifest.json"


def part_name(epoch: int, number: int) -> str:
    """Return the file name of a part."""
    return f"epoch={epoch}/part-{number:05d}.parquet"


class EpochPart(Frozen):
    """One file of an epoch. It contains `rows` anchors, which follow the anchors of the previous part."""

    epoch: Annotated[int, Field(ge=0)]
    name: Annotated[str, Field(pattern=r"^epoch=[0-9]+/part-[0-9]{5,}\.parquet$")]
    rows: Annotated[int, Field(ge=0)]
    bytes: Annotated[int, Field(ge=0)]
    sha256: str


class Epochs(Frozen):
    """Positive sets of the anchors 0 to `size` - 1 of a generation, in the epochs `first` to `stop` - 1.

    The parts of an epoch are ordered by anchor.
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

    def parts_of(self, epoch: int) -> list[EpochPart]:
        """Return the parts of one epoch."""
        return [part for part in self.parts if part.epoch == epoch]

    def to_bytes(self) -> bytes:
        """Return the content of `manifest.json`."""
        return seal_document("epochs", self.model_dump(mode="json"))

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """Read the content of `manifest.json`.

        Raises:
            Damaged: The content is not a manifest of epochs, or was altered.
        """
        try:
            values, is_intact = unseal_document("epochs", content)
            if not is_intact:
                raise ValueError("its content does not match its SHA-256")
            return cls.model_validate(values)
        except (ValueError, ValidationError) as error:
            raise Damaged(
                f"{MANIFEST} is not a valid manifest of epochs",
                expected="the file as `graphkin epochs` of this version writes it",
                hint="copy the folder again, or write it again by `graphkin epochs`",
            ) from error
