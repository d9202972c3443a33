"""Highlights of differences: on both sides of a comparison, and only if it was completed."""

import re
from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect

Look = Callable[..., None]
PictureSvg = Callable[[Locator], str]


def highlighted_atoms(svg: str) -> set[str]:
    """Return the highlighted atoms of a depiction."""
    return set(re.findall(r"<ellipse [^>]*class='(atom-\d+)' [^>]*style='fill:#99D3ED", svg))


def open_pair(page: Page, name: str) -> tuple[Locator, Locator, Locator]:
    """Open a molecule of the collection pairs and return its picture, the compared picture, and the table rows."""
    page.goto(f"/?collection=pairs&q={name}&exact=1")
    rows = page.locator("main section tbody tr")
    expect(rows.first).to_be_visible()
    panel = page.get_by_label("Query and comparison")
    return panel.locator("figure.query img"), panel.locator("figure.other img"), rows


def test_slow_pair_is_highlighted_only_where_it_differs(page: Page, picture_svg: PictureSvg, look: Look) -> None:
    """The molecules have 30 and 33 atoms and share 23. RDKit's FindMCS matches only 6 of them before its timeout."""
    query, other, _ = open_pair(page, "benzamide")
    assert len(highlighted_atoms(picture_svg(other))) == 10
    assert len(highlighted_atoms(picture_svg(query))) == 7
    look(page, "slow pair")


def test_missing_chlorine_is_highlighted_in_the_query(page: Page, picture_svg: PictureSvg, look: Look) -> None:
    query, other, rows = open_pair(page, "diclofenac")
    expect(page.locator("figure.other")).to_contain_text("monochlorinated")
    assert len(highlighted_atoms(picture_svg(query))) == 1
    assert highlighted_atoms(picture_svg(other)) == set()
    look(page, "missing chlorine")
    rows.filter(has_text="benzamide").hover()
    expect(page.locator("figure.other")).to_contain_text("benzamide")
    assert len(highlighted_atoms(picture_svg(query))) > 1
    assert len(highlighted_atoms(picture_svg(other))) > 1
    page.get_by_label("Highlight").select_option("nothing")
    assert highlighted_atoms(picture_svg(query)) == set()


def test_query_that_is_not_stored_is_highlighted(page: Page, picture_svg: PictureSvg) -> None:
    query, other, _ = open_pair(page, "OC(=O)Cc1ccccc1Nc1c(Cl)cccc1Br")
    expect(page.locator("figure.query")).to_contain_text("New structure")
    expect(page.locator("figure.other")).to_contain_text("diclofenac")
    assert len(highlighted_atoms(picture_svg(query))) == len(highlighted_atoms(picture_svg(other))) == 1


def test_comparison_that_timed_out_is_not_highlighted_and_says_so(
    page: Page, picture_svg: PictureSvg, look: Look
) -> None:
    query, other, _ = open_pair(page, "rings")
    expect(page.locator("figure.other")).to_contain_text("condensed")
    for picture in (query, other):
        assert highlighted_atoms(picture_svg(picture)) == set()
        expect(picture).to_have_attribute("alt", re.compile("comparison took too long$"))
        assert ">comparison took too long</text>" in picture_svg(picture)
    look(page, "comparison took too long")
