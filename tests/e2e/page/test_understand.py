"""The tree from the whole collection to one molecule, the description of a collection, and the origin of positives."""

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import httpx
from playwright.sync_api import Page, expect

from studies.report import main as make_report

Look = Callable[[Page, str], None]

QUERY = "COc1cccc(NC(=O)c2ccc(S(=O)(=O)N3CCCC3)cc2)c1"
COLLECTION = "/v1/collections/chembl"


def test_tree_starts_with_all_clusters(page: Page, api: httpx.Client) -> None:
    page.goto("/?collection=chembl")
    page.get_by_role("link", name="Clusters", exact=True).click()
    page.get_by_role("link", name="Tree").click()
    clusters = page.get_by_label("Similarity tree").get_by_role("listitem")
    reply = api.get(f"{COLLECTION}/components").json()
    expect(clusters).to_have_count(len(reply["components"]))
    expect(page.get_by_text(f"{reply['singletons']} of 2,000 items have no neighbor")).to_be_visible()
    expect(clusters.first).to_contain_text(f"{reply['components'][0]['size']:,} items")
    page.get_by_role("slider").fill("0.5")
    higher = api.get(f"{COLLECTION}/components", params={"min_similarity": 0.5}).json()
    expect(clusters).to_have_count(len(higher["components"]))
    expect(clusters.first).to_contain_text(f"{higher['components'][0]['size']:,} items")
    page.get_by_role("heading", name="Components at similarity ≥ 0.50").wait_for()
    page.wait_for_load_state("networkidle")


def test_dendrogram_shows_how_a_component_splits(page: Page, api: httpx.Client) -> None:
    """Each circle is a part that the API has as a component at the similarity of the circle."""
    components = api.get(f"{COLLECTION}/components", params={"min_similarity": 0.4}).json()["components"]
    component = components[2]
    page.goto("/?collection=chembl&part=tree&min_similarity=0.4")
    page.get_by_label("Similarity tree").get_by_role("link").nth(2).click()
    leaves = page.get_by_role("list", name="Leaves").get_by_role("listitem")
    expect(leaves).to_have_count(component["size"])
    page.get_by_text(f"Component of {component['size']} compounds", exact=True).wait_for()
    circles = page.get_by_role("group", name=re.compile("^Dendrogram of ")).get_by_role("link")
    top = circles.last
    expect(top).to_have_attribute(
        "aria-label",
        re.compile(f"^Component of {component['size']} compounds at similarity ≥ {component['similarity']:.2f}"),
    )
    top.click()
    page.get_by_role("heading", name=f"Components at similarity ≥ {component['similarity']:.2f}").wait_for()
    page.get_by_text(f"{component['size']} members", exact=True).wait_for()
    page.go_back()
    leaves.last.get_by_role("link").click()
    expect(page.get_by_label("Query and comparison")).to_be_visible()


def test_collection_describes_its_ingest(page: Page, api: httpx.Client) -> None:
    page.goto("/?collection=chembl")
    page.get_by_role("link", name="About").click()
    manifest = api.get(COLLECTION).json()["manifest"]
    article = page.get_by_role("article")
    for text in (f"{manifest['counts']['rejected']:,}", f"{manifest['edges']:,}", manifest["generation"], "morgan"):
        expect(article).to_contain_text(text)
    hops = api.get(f"{COLLECTION}/hops").json()["hops"]
    rows = article.get_by_role("figure").filter(has_text="Similarity by distance in the graph").locator("tbody tr")
    expect(rows).to_have_count(len(hops))
    expect(rows.first).to_contain_text(f"{hops[0]['mean']:.3f}")


def test_collection_of_graphs_describes_its_ingest(page: Page, look: Look) -> None:
    page.goto("/?collection=graphs&part=collection")
    expect(page.get_by_role("img", name="Histogram of items by neighbors")).to_be_visible()
    expect(
        page.get_by_role("figure").filter(has_text="Similarity by distance in the graph").locator("svg")
    ).to_be_visible()
    look(page, "collection of graphs")


def test_reports_of_the_collection_are_shown(
    store_folder: Path,
    serve: Callable[..., AbstractContextManager[httpx.Client]],
    page: Page,
    look: Look,
    tmp_path: Path,
) -> None:
    options = ["hops", "--store", str(store_folder), "--collection", "nci", "--targets", "10"]
    assert make_report([*options, "--output", str(tmp_path)]) == 0
    with serve(store_folder, reports=tmp_path) as api:
        page.goto(f"{api.base_url}/?collection=nci&part=collection")
        report = page.get_by_role("figure").filter(has_text="Similarity against exact hops")
        picture = report.get_by_role("img")
        expect(picture).to_be_visible()
        assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") > 300
        expect(report).to_contain_text("--targets 10")
        look(page, "reports")
        page.goto(f"{api.base_url}/?collection=karate&part=collection")
        expect(page.get_by_role("img", name="Histogram of items by neighbors")).to_be_visible()
        expect(page.get_by_role("figure").filter(has_text="Created with")).to_have_count(0)


def test_rejections_are_listed(page: Page, look: Look) -> None:
    page.goto("/?collection=nci&part=collection")
    rows = page.get_by_role("region", name="Rejected records").locator("tbody tr")
    expect(rows).to_have_count(20)
    expect(rows.first).to_contain_text("nci.smi:2001")
    expect(rows.first).to_contain_text("c1ccc(")
    expect(rows.first.locator("summary")).to_have_text("syntax error around character 6")
    reason = rows.nth(1).get_by_text("check for mistakes around position 6")
    expect(reason).not_to_be_visible()
    page.set_viewport_size({"width": 390, "height": 800})
    rows.nth(1).get_by_text("extra open parentheses").first.click()
    expect(reason).to_be_visible()
    rows.first.scroll_into_view_if_needed()
    look(page, "phone rejections")
    page.set_viewport_size({"width": 1280, "height": 860})
    page.get_by_role("button", name="Show more").click()
    expect(rows).to_have_count(25)


def test_positives_are_explained(page: Page, api: httpx.Client) -> None:
    item = api.get(f"{COLLECTION}/items", params={"smiles": QUERY}).json()["items"][0]
    page.goto(f"/?collection=chembl&q={QUERY}&view=positives")
    parameters: dict[str, str | int] = {"policy": "random_walk", "k": 10, "seed": 0}
    positives = api.get(f"{COLLECTION}/items/{item['id']}/positives", params=parameters).json()["positives"]
    listed_positives = page.get_by_label("Positives").get_by_role("listitem")
    distinct = {positive["item"]["id"]: positive for positive in reversed(positives)}
    expect(listed_positives).to_have_count(len(distinct))
    ids = list(dict.fromkeys(positive["item"]["id"] for positive in positives))
    for place, positive in enumerate(distinct[id] for id in ids):
        expect(listed_positives.nth(place)).to_contain_text(positive["item"]["smiles"])
        expect(listed_positives.nth(place)).to_contain_text(
            "Neighbor of the query" if positive["direct"] else "Not a neighbor"
        )
        expect(listed_positives.nth(place)).to_contain_text(re.compile("visited it (once|twice|[0-9]+ times)"))
    listed_positives.nth(1).hover()
    expect(page.locator("figure.other")).to_contain_text(distinct[ids[1]]["item"]["smiles"])
    page.get_by_label("Sampler").select_option("first_order")
    expect(listed_positives.first).to_contain_text("Neighbor of the query")
    expect(page.get_by_text("visited it")).to_have_count(0)
    page.go_back()
    expect(page.get_by_label("Sampler")).to_have_value("random_walk")
    expect(listed_positives).to_have_count(len(distinct))


def test_seed_of_the_sample_is_part_of_the_url(page: Page) -> None:
    page.goto(f"/?collection=chembl&q={QUERY}&view=positives&policy=second_order")
    sampled_positives = page.get_by_label("Positives").get_by_role("listitem")
    expect(sampled_positives.first).to_be_visible()
    page.get_by_role("button", name="Sample again").click()
    expect(page).to_have_url(re.compile("seed=1"))
    page.wait_for_load_state("networkidle")
    first_sample = sampled_positives.all_inner_texts()
    page.goto(page.url)
    expect(sampled_positives).to_have_text(first_sample, use_inner_text=True)
    expect(page.get_by_label("Sampler")).to_have_value("second_order")


def test_tree_starts_at_0_where_every_similarity_is_stored(page: Page, api: httpx.Client) -> None:
    reply = api.get("/v1/collections/shapes/components").json()
    assert reply["total"] > 0
    page.goto("/?collection=shapes&part=tree")
    clusters = page.get_by_role("region", name="Similarity tree").get_by_role("listitem")
    expect(clusters).to_have_count(reply["total"])
    clusters.first.get_by_role("link").click()
    leaves = page.get_by_role("region", name="Component").get_by_role("list", name="Leaves").get_by_role("listitem")
    expect(leaves.first).to_be_visible()
    page.get_by_role("link", name="Graph around the central").click()
    members = page.get_by_role("list", name="Items in the graph").get_by_role("listitem")
    expect(members.filter(has_text="1.000").first).to_contain_text(
        "identical features: Two different items with identical features."
    )
    page.get_by_text("Download", exact=True).click()
    with page.expect_download():
        page.get_by_role("button", name="GraphML").click()
    assert page.get_by_role("alert").count() == 0
