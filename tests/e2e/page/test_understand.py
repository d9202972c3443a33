"""The tree, from the whole collection to one molecule; how a collection was made; why two items are positives."""

import re
from collections.abc import Callable

import httpx
from playwright.sync_api import Page, expect

Look = Callable[[Page, str], None]

QUERY = "COc1cccc(NC(=O)c2ccc(S(=O)(=O)N3CCCC3)cc2)c1"
OFF = re.compile("comes? off$")
COLLECTION = "/v1/collections/chembl"


def test_the_tree_begins_with_all_clusters(page: Page, api: httpx.Client, look: Look) -> None:
    page.goto("/?collection=chembl")
    page.get_by_role("link", name="Tree").click()
    clusters = page.get_by_label("Clusters").get_by_role("listitem")
    found = api.get(f"{COLLECTION}/components").json()
    expect(clusters).to_have_count(len(found["components"]))
    expect(page.get_by_text(f"{found['singletons']} of 2,000 items are alone")).to_be_visible()
    expect(clusters.first).to_contain_text(f"{found['components'][0]['size']:,} items")
    page.get_by_role("slider").fill("0.5")
    higher = api.get(f"{COLLECTION}/components", params={"min_similarity": 0.5}).json()
    expect(clusters).to_have_count(len(higher["components"]))
    expect(clusters.first).to_contain_text(f"{higher['components'][0]['size']:,} items")
    page.wait_for_load_state("networkidle")
    look(page, "clusters")


def test_a_cluster_is_followed_to_one_molecule(page: Page, look: Look) -> None:
    page.goto("/?collection=chembl&part=tree&min_similarity=0.4")
    page.get_by_label("Clusters").get_by_role("link").nth(2).click()
    tree = page.get_by_label("Tree", exact=True)
    expect(tree.get_by_text(OFF).first).to_be_visible()
    page.wait_for_load_state("networkidle")
    look(page, "tree")
    page.reload()
    expect(tree.get_by_text(OFF).first).to_be_visible()
    go_on = page.get_by_role("button", name="Go on")
    while go_on.count():
        go_on.click()
        expect(go_on.and_(page.locator(":disabled"))).to_have_count(0)
    tree.get_by_role("listitem").last.get_by_role("link").click()
    expect(page.get_by_label("Query and comparison")).to_be_visible()


def test_a_collection_tells_how_it_was_made(page: Page, api: httpx.Client, look: Look) -> None:
    page.goto("/?collection=chembl")
    page.get_by_role("link", name="About").click()
    manifest = api.get(COLLECTION).json()["manifest"]
    article = page.get_by_role("article")
    for told in (f"{manifest['counts']['rejected']:,}", f"{manifest['edges']:,}", manifest["generation"], "morgan"):
        expect(article).to_contain_text(told)
    hops = api.get(f"{COLLECTION}/hops").json()["hops"]
    rows = article.get_by_role("figure").filter(has_text="so many edges apart").locator("tbody tr")
    expect(rows).to_have_count(len(hops))
    expect(rows.first).to_contain_text(f"{hops[0]['mean']:.3f}")
    look(page, "collection")


def test_what_was_rejected_is_listed(page: Page, look: Look) -> None:
    page.goto("/?collection=nci&part=collection")
    rows = page.get_by_role("region", name="What was rejected").locator("tbody tr")
    expect(rows).to_have_count(20)
    expect(rows.first).to_contain_text("nci.smi:2,001")
    expect(rows.first).to_contain_text("c1ccc(")
    rows.first.scroll_into_view_if_needed()
    look(page, "rejections")
    page.get_by_role("button", name="Show more").click()
    expect(rows).to_have_count(25)


def test_positives_say_why_they_are(page: Page, api: httpx.Client, look: Look) -> None:
    item = api.get(f"{COLLECTION}/items", params={"smiles": QUERY}).json()["items"][0]
    page.goto(f"/?collection=chembl&q={QUERY}&view=positives")
    parameters = {"policy": "random_walk", "k": 10, "seed": 0}
    drawn = api.get(f"{COLLECTION}/items/{item['id']}/positives", params=parameters).json()["positives"]
    shown = page.get_by_label("Positives").get_by_role("listitem")
    distinct = {positive["item"]["id"]: positive for positive in reversed(drawn)}
    expect(shown).to_have_count(len(distinct))
    ids = list(dict.fromkeys(positive["item"]["id"] for positive in drawn))
    for place, positive in enumerate(distinct[id] for id in ids):
        expect(shown.nth(place)).to_contain_text(positive["item"]["smiles"])
        expect(shown.nth(place)).to_contain_text("An edge joins" if positive["direct"] else "No edge joins")
        expect(shown.nth(place)).to_contain_text(re.compile("visited it (once|[0-9]+ times)"))
    look(page, "positives")
    page.get_by_label("Drawn by").select_option("first_order")
    expect(shown.first).to_contain_text("An edge joins")
    expect(page.get_by_text("visited it")).to_have_count(0)
    page.go_back()
    expect(page.get_by_label("Drawn by")).to_have_value("random_walk")
    expect(shown).to_have_count(len(distinct))


def test_a_draw_can_be_sent_to_a_colleague(page: Page) -> None:
    page.goto(f"/?collection=chembl&q={QUERY}&view=positives&policy=second_order")
    shown = page.get_by_label("Positives").get_by_role("listitem")
    expect(shown.first).to_be_visible()
    page.get_by_role("button", name="Draw again").click()
    expect(page.get_by_text("Seed 1.")).to_be_visible()
    page.wait_for_load_state("networkidle")
    drawn = shown.all_inner_texts()
    page.goto(page.url)
    expect(shown).to_have_text(drawn, use_inner_text=True)
    expect(page.get_by_label("Drawn by")).to_have_value("second_order")
