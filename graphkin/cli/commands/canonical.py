"""`graphkin canonical`: SMILES as a collection stores them."""

from typing import TYPE_CHECKING

import click

from graphkin.cli import options
from graphkin.cli.help import command, option
from graphkin.cli.output import print_json

if TYPE_CHECKING:
    from graphkin.similarity.molecules.recipe import MoleculeRecipe


@command(
    examples=[
        ("Write a molecule as graphkin stores it", "graphkin canonical 'OC(=O)c1ccccc1OC(C)=O'"),
        ("Standardize as a collection does", "graphkin canonical --store s --collection m 'CCO.Cl'"),
        ("Convert a list, one SMILES per line", "graphkin canonical - < smiles.txt"),
    ]
)
@click.argument("smiles", nargs=-1, required=True, metavar="SMILES...")
@options.optional_store
@option(
    "--collection",
    metavar="NAME",
    panel="Collection",
    help="Collection of --store whose recipe standardizes the molecules. [default: the default recipe]",
)
@options.as_json
def canonical(smiles: tuple[str, ...], store_location: str | None, collection: str | None, as_json: bool) -> None:
    """Print the canonical SMILES of molecules, one per line.

    Join data of your own with the property `smiles` of items by this text. With --store and --collection, molecules are
    standardized by the recipe of that collection, and otherwise by the default recipe. SMILES `-` reads standard input.
    """
    from graphkin.cli.conditions import read_argument
    from graphkin.similarity.molecules.query import read_molecule

    recipe = _recipe(store_location, collection)
    texts = (line for text in smiles for line in str(read_argument(text)).splitlines())
    results = [read_molecule(recipe, text.strip(), "smiles").smiles for text in texts if text.strip()]
    if as_json:
        print_json(results)
        return
    for result in results:
        click.echo(result)


def _recipe(store_location: str | None, collection: str | None) -> "MoleculeRecipe":
    """Return the recipe of a collection, or the default recipe if none is named.

    Raises:
        InvalidInput: A collection is named without a store, or the items are not molecules.
    """
    from graphkin.protocol.errors import InvalidInput
    from graphkin.similarity.molecules.recipe import MoleculeRecipe, resolve
    from graphkin.store import open_generation

    if collection is None:
        return resolve()
    if store_location is None:
        raise InvalidInput(
            "--collection needs the store of the collection",
            given=collection,
            expected="--store and --collection, or neither",
            hint="add `--store DIR`",
        )
    with open_generation(store_location, collection, None) as reader:
        if reader.manifest.kind != "molecule":
            raise InvalidInput(
                "only molecules have canonical SMILES",
                given=f"collection {collection!r} of kind {reader.manifest.kind}",
                expected="a collection of molecules",
                hint="leave out --collection, or name a collection of molecules",
            )
        return MoleculeRecipe.model_validate(reader.manifest.recipe)
