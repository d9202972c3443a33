"""The report of a comparison of two sets, as one HTML page that needs no other file and no network."""

from collections.abc import Sequence
from html import escape
from importlib.metadata import version
from typing import Any, TypeAlias

from graphkin.library.table import depict

Rows: TypeAlias = Sequence[dict[str, Any]]

_MAX_CHARACTERS = 200  # of a name or a structure
_WIDTH, _HEIGHT, _BOTTOM, _TOP = 400, 200, 170, 20  # of the histogram, in units of its view box

_STYLE = """
:root { color-scheme: light dark; --text: #171a1d; --soft: #56606a; --back: #fff; --card: #f5f7f8; --line: #dde2e6;
  --near: #0a6a8f; --novel: #a0aab4; }
@media (prefers-color-scheme: dark) { :root { --text: #e6e9ec; --soft: #a0aab4; --back: #14171a; --card: #1c2024;
  --line: #353c43; --near: #74c7e8; --novel: #6b757f; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 60rem; background: var(--back); color: var(--text);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; min-width: 50%; } th { font-weight: 600; text-align: left; }
th, td { padding: .3rem .5rem; border-bottom: 1px solid var(--line); } td { text-align: right; }
.counts, .pairs { display: grid; gap: .75rem; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); }
.pairs { grid-template-columns: repeat(auto-fill, minmax(min(21rem, 100%), 1fr)); }
.counts div, .pair { padding: .75rem; border: 1px solid var(--line); border-radius: .5rem; background: var(--card); }
.counts b { display: block; font-size: 1.5rem; } .counts span, footer, figcaption { color: var(--soft); }
.pair { margin: 0; } .ends { display: grid; gap: .5rem; grid-template-columns: 1fr 1fr; font-size: .8rem; }
img { display: block; max-width: 100%; height: auto; border-radius: .25rem; background: #fff; }
svg { width: 100%; max-width: 40rem; height: auto; } svg text { fill: var(--soft); font-size: 13px; }
.near { fill: var(--near); } .novel { fill: var(--novel); } .axis { stroke: var(--line); }
footer { margin-top: 2rem; font-size: .85rem; }
"""


def render(summary: dict[str, Any], closest: Rows, most_novel: Rows, a: str, b: str) -> str:
    """Return the page.

    Args:
        summary: The counts, as in `Comparison.summary`.
        closest: Rows of `Comparison.nearest` to show as the closest pairs.
        most_novel: Rows of `Comparison.nearest` to show as the most novel items.
        a: Name of the first set, which is escaped.
        b: Name of the second set, which is escaped.
    """
    a, b, threshold = _text(a), _text(b), f"{summary['threshold']:g}"
    title, fingerprint = f"{b} compared with {a}", _text(summary["fingerprint"] or "unknown")
    sections = [
        f"<h1>{title}</h1>",
        f"<p>Each item of {b} is compared with every item of {a} by Tanimoto similarity. The comparison is exact.</p>",
        _counts(summary, threshold),
        _sets(summary, a, b),
        f"<h2>Similarity of the nearest item of {a}</h2>",
        _histogram(summary["histogram"], summary["threshold"], b),
        _examples("Closest pairs that are not identical", closest, a, b),
        _examples(f"Most novel items of {b}", most_novel, a, b),
        f"<footer>graphkin {escape(version('graphkin'))}, fingerprint: {fingerprint}</footer>",
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(sections)
        + "\n</body>\n</html>\n"
    )


def _counts(summary: dict[str, Any], threshold: str) -> str:
    items = summary["b"]["items"]
    explained = {
        "identical": ("identical", "the same structure"),
        "near_duplicates": ("near duplicates", f"nearest similarity ≥ {threshold}"),
        "novel": ("novel", f"nearest similarity &lt; {threshold}"),
    }
    cells = [
        f"<div><b>{summary[name]:,}</b>{label}, {summary[name] / max(items, 1):.1%}<br><span>{meaning}</span></div>"
        for name, (label, meaning) in explained.items()
    ]
    pairs = f"<div><b>{summary['pairs']:,}</b>pairs<br><span>similarity ≥ {threshold}, across both sets</span></div>"
    return f'<div class="counts">{"".join([*cells, pairs])}</div>'


def _sets(summary: dict[str, Any], a: str, b: str) -> str:
    titles = {"records": "records", "rejected": "rejected", "items": "items", "distinct": "distinct items"}
    rows = "".join(
        f"<tr><th>{title}</th><td>{summary['a'][name]:,}</td><td>{summary['b'][name]:,}</td></tr>"
        for name, title in titles.items()
    )
    return f"<h2>Sets</h2><table><tr><th></th><td>{a}</td><td>{b}</td></tr>{rows}</table>"


def _histogram(bins: Sequence[dict[str, Any]], threshold: float, b: str) -> str:
    """Return the histogram as an SVG. Bars that lie below the threshold have another color."""
    highest, width = max(max(each["items"] for each in bins), 1), _WIDTH / len(bins)
    bars = []
    for number, each in enumerate(bins):
        height = (_BOTTOM - _TOP) * each["items"] / highest
        kind = "novel" if each["max"] <= threshold else "near"
        label = f"{each['min']:g} to {each['max']:g}: {each['items']:,}"
        bars.append(
            f'<rect class="{kind}" x="{number * width + 1:.1f}" y="{_BOTTOM - height:.1f}" width="{width - 2:.1f}" '
            f'height="{height:.1f}"><title>{label}</title></rect>'
        )
    ticks = [
        f'<text x="{_WIDTH * tick / 5:.0f}" y="{_BOTTOM + 18}" text-anchor="{anchor}">{tick / 5:g}</text>'
        for tick, anchor in enumerate(["start", *["middle"] * 4, "end"])
    ]
    return (
        f'<figure style="margin:0"><svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="Histogram of the similarity of the nearest item">{"".join(bars)}'
        f'<line class="axis" x1="0" x2="{_WIDTH}" y1="{_BOTTOM}" y2="{_BOTTOM}"/>{"".join(ticks)}'
        f'<text x="0" y="13">{highest:,} items</text></svg>'
        f"<figcaption>Items of {b} by the similarity of their nearest item</figcaption></figure>"
    )


def _examples(title: str, rows: Rows, a: str, b: str) -> str:
    cards = [
        f'<figure class="pair"><figcaption>{_similarity(row["similarity"])}</figcaption><div class="ends">'
        f"{_end(row, 'right', b)}{_end(row, 'left', a)}</div></figure>"
        for row in rows
    ]
    return f'<h2>{title}</h2><div class="pairs">{"".join(cards)}</div>' if cards else ""


def _similarity(similarity: float | None) -> str:
    return "no common bit" if similarity is None else f"similarity {similarity:.4f}"


def _end(row: dict[str, Any], end: str, set_name: str) -> str:
    """Return one item of a pair: its depiction, position, name and structure."""
    position, name, smiles = (row.get(column) for column in (end, f"{end}_name", f"{end}_smiles"))
    if position is None:
        return "<div></div>"
    texts = [f"{set_name} {position:,}", *(_text(text) for text in (name, smiles) if text)]
    return f"<div>{depict(smiles)}{'<br>'.join(texts)}</div>"


def _text(text: str) -> str:
    return escape(text if len(text) <= _MAX_CHARACTERS else f"{text[:_MAX_CHARACTERS]}…")
