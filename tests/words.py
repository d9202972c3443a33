"""The rules of writing that a program can check, over the texts that a user reads.

`python -m tests.words [REVISION...]` counts the violations of each revision (the default is the working tree) by rule
and by kind of text. `python -m tests.words --list [PATH...]` prints every violation of the working tree.
"""

import ast
import json
import re
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]

KINDS = ("docs", "help", "docstrings", "page")

_OPENING = re.compile(r"(what|who|whoever|whom|those|of|that|as)\b(?!['’]s\b.*\?)", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[A-Z`\"(])")

TERMS = {
    "beside": r"\bbeside\b",
    "anew": r"\banew\b",
    "likewise": r"\blikewise\b",
    "nobody, somebody": r"\b(no|some)body\b",
    "is told": r"\b(is|are|was|were|been|being|be) told\b|\btold (so|apart|alone)\b",
    "is asked for": r"\basked for\b",
    "said": r"\b(is|are|was|were|been) said\b|\bsaid so\b",
    "whoever": r"\bwhoever\b",
    "hierarchy": r"\bhierarch(y|ies)\b",
    "damaged copy": r"\bdamaged cop(y|ies)\b",
    "cap": r"\b(uncapped|capped|caps?)\b",
    "draw": r"\b(draws?|drew|drawn) (a |the |its |their |some )?(positives?|negatives?|walks?|samples?|anchors?)\b",
    "nursery, shelf": r"\b(nursery|nurseries|shelf|shelves)\b",
    "of like size": r"\bof like size\b",
}
"""Words that stand for a missing noun, or for another term of the vocabulary, by name of the rule."""

_BRITISH_STEMS = (
    *("analys", "canonicalis", "categoris", "characteris", "customis", "emphasis(?=e|ing)", "factoris", "finalis"),
    *("generalis", "initialis", "ionis", "kekulis", "materialis", "maximis", "memoris", "minimis", "neutralis"),
    *(
        "normalis",
        "optimis",
        "organis(?!m)",
        "parallelis",
        "parametris",
        "prioritis",
        "randomis",
        "realis(?=e|ing|ation)",
    ),
    *("recognis", "regularis", "sanitis", "serialis", "specialis", "standardis", "summaris", "symmetris", "synchronis"),
    *("tokenis", "utilis", "vectoris", "visualis"),
)
SPELLINGS = re.compile(
    r"\b(?:"
    rf"\w*(?:{'|'.join(_BRITISH_STEMS)})(?:e|ed|er|ers|ing|ation|ations|able)"
    r"|(?:behaviour|colour|favour|flavour|harbour|honour|labour|neighbour|rumour|vapour)\w*"
    r"|(?:centre|fibre|litre|metre|theatre)(?:s|d)?"
    r"|(?:cancel|label|model|travel|tunnel|channel|level|signal)l(?:ed|ing)"
    r"|catalogues?|licences?|grey\w*|artefacts?|whilst|amongst|judgements?|programmes?|defence|ageing|learnt|spelt"
    r")\b",
    re.IGNORECASE,
)
"""British spellings."""

_NOT_BRITISH = re.compile(r"\banalyses\b|\b(?:analys|emphas)is\b", re.IGNORECASE)

ALLOWED = {
    ("docs/concepts/glossary.md", "hierarchy"),
    ("docs/concepts/method.md", "hierarchy"),
    ("docs/about/comparison.md", "hierarchy"),
}
"""Pages that may name the paper's term for the similarity graph."""

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_FENCE = re.compile(r"^( *)(```+|~~~+).*?^\1\2 *$", re.MULTILINE | re.DOTALL)
_DIRECTIVE = re.compile(r"^(:::.*(\n    .*)*|--8<--.*)$", re.MULTILINE)
_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)
_LINK = re.compile(r"!?\[([^\]]*)\](\([^)]*\)|\[[^\]]*\])(\{[^}]*\})?")
_ATTRIBUTES = re.compile(r" *\{:? *[#.][^}]*\}")
_TAG = re.compile(r"</?[a-zA-Z][^>]*>")
_BLOCK = re.compile(r"^\s*(?:[-*+] |\d+\. |#+ |> |!!! \w+ ?|\?\?\?\+? \w+ ?|=== |: )")


def passages(markdown: str) -> Iterator[str]:
    """The paragraphs, list items, headings and table cells of a page, without code."""
    for pattern, replacement in ((_COMMENT, ""), (_FENCE, "\n"), (_DIRECTIVE, "\n"), (_CODE, "`code`")):
        markdown = pattern.sub(replacement, markdown)
    text = _ATTRIBUTES.sub("", _TAG.sub("", _LINK.sub(r"\1", markdown)))
    lines: list[str] = []

    def passage() -> Iterator[str]:
        if lines:
            yield " ".join(line.strip() for line in lines)
            lines.clear()

    for line in text.splitlines():
        if line.lstrip().startswith("|"):
            yield from passage()
            yield from (cell.strip() for cell in re.split(r"(?<!\\)\|", line) if cell.strip(" -:"))
        elif not line.strip():
            yield from passage()
        elif match := _BLOCK.match(line):
            yield from passage()
            lines.append(line[match.end() :])
        else:
            lines.append(line)
    yield from passage()


def violations(passage: str, path: str = "") -> Iterator[tuple[str, str]]:
    """The rules that a passage breaks, each with the sentence."""
    for sentence in _SENTENCE.split(passage):
        plain = sentence.strip(" *_\"'(")
        if (opening := _OPENING.match(plain)) and not sentence.rstrip(" *_\"')").endswith("?"):
            yield opening[1].capitalize(), plain
        for rule, pattern in TERMS.items():
            if (path, rule) not in ALLOWED and re.search(pattern, plain, re.IGNORECASE):
                yield rule, plain
        yield from (("spelling", f"{word}: {plain}") for word in SPELLINGS.findall(_NOT_BRITISH.sub("", plain)))


def pages(root: Path) -> Iterator[tuple[str, list[str]]]:
    """The path and the passages of each page of documentation."""
    for path in sorted([*root.glob("*.md"), *(root / "docs").rglob("*.md")]):
        name = str(path.relative_to(root))
        text = path.read_text(encoding="utf-8")
        if name == "docs/cli.md":  # the page that held the help of all commands until version 0.2
            text = text.partition("<!-- From here on")[0]
        yield name, list(passages(text))
    for path in sorted((root / "docs" / "notebooks").glob("*.ipynb")):
        cells = [
            cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "markdown"
        ]
        yield str(path.relative_to(root)), [each for cell in cells for each in passages("".join(cell["source"]))]


def help_texts(root: Path) -> Iterator[tuple[str, list[str]]]:
    """The path of each module of commands, and the texts of help in it: docstrings of commands, help of options."""
    for path in sorted((root / "graphkin" / "cli").rglob("*.py")):
        texts = []
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                texts += [
                    keyword.value
                    for keyword in node.keywords
                    if keyword.arg in ("help", "short_help", "epilog") and isinstance(keyword.value, ast.Constant)
                ]
            elif isinstance(node, ast.FunctionDef) and node.decorator_list and ast.get_docstring(node):
                texts += [ast.Constant(ast.get_docstring(node))]
        yield (
            str(path.relative_to(root)),
            [passage for text in texts if isinstance(text.value, str) for passage in passages(text.value)],
        )


def docstrings(root: Path) -> Iterator[tuple[str, list[str]]]:
    """The path of each installed module, and its docstrings."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for package in ("graphkin", "api", "ingest", "trainer"):
        for path in sorted((root / package).rglob("*.py")):
            if "node_modules" in path.parts or path.is_relative_to(root / "graphkin" / "cli" / "commands"):
                continue
            nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            texts = [ast.get_docstring(node) for node in nodes if isinstance(node, documented)]
            yield str(path.relative_to(root)), [each for text in texts if text for each in passages(text)]


_SCRIPT = re.compile(r"<(script|style)\b.*?</\1>", re.DOTALL)
_EXPRESSION = re.compile(r"\{[^{}]*\}")
_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`')


def page_texts(root: Path) -> Iterator[tuple[str, list[str]]]:
    """The path of each module of the page in the browser, and the texts in it."""
    for path in sorted((root / "api" / "ui" / "src").rglob("*")):
        if path.suffix not in (".svelte", ".ts") or ".test." in path.name or path.name.endswith(".d.ts"):
            continue
        code = re.sub(
            r"/\*.*?\*/|^\s*//.*$|<!--.*?-->", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
        )
        strings = [first or second for first, second in _STRING.findall(code)]
        texts = [re.sub(r"\$\{[^}]*\}", "N", text) for text in strings if " " in text.strip()]
        if path.suffix == ".svelte":
            markup = _SCRIPT.sub("", code)
            while _EXPRESSION.search(markup):
                markup = _EXPRESSION.sub(" N ", markup)
            texts += [text for text in re.split(r"<[^>]*>", markup) if re.search(r"[a-zA-Z]{2}", text)]
        yield str(path.relative_to(root)), [" ".join(text.split()) for text in texts]


TEXTS = dict(zip(KINDS, (pages, help_texts, docstrings, page_texts), strict=True))


def check(kind: str, root: Path = ROOT) -> dict[str, list[tuple[str, str]]]:
    """The violations in the texts of a kind, by path."""
    found = {
        path: [violation for passage in texts for violation in violations(passage, path)]
        for path, texts in TEXTS[kind](root)
    }
    return {path: hits for path, hits in found.items() if hits}


def count(root: Path) -> dict[str, Counter[str]]:
    """The number of violations of each rule, by kind of text."""
    return {kind: Counter(rule for hits in check(kind, root).values() for rule, _ in hits) for kind in KINDS}


def _count_revision(revision: str) -> dict[str, Counter[str]]:
    archive = subprocess.run(["git", "archive", revision], cwd=ROOT, check=True, capture_output=True).stdout
    with TemporaryDirectory() as folder, tarfile.open(fileobj=BytesIO(archive)) as files:
        files.extractall(folder, filter="tar")
        return count(Path(folder))


def main(arguments: list[str]) -> None:
    """Print counts, or the violations themselves."""
    if arguments[:1] == ["--list"]:
        for kind in KINDS:
            for path, hits in check(kind).items():
                for rule, sentence in hits if not arguments[1:] or path in arguments[1:] else ():
                    print(f"{path}: {rule}: {sentence[:160]}")
        return
    for revision in arguments or ["working tree"]:
        counts = count(ROOT) if revision == "working tree" else _count_revision(revision)
        print(f"{revision}\n{'':20}" + "".join(f"{kind:>12}" for kind in KINDS))
        for rule in sorted({rule for each in counts.values() for rule in each}):
            print(f"{rule:20}" + "".join(f"{counts[kind][rule]:12}" for kind in KINDS))
        print(f"{'all':20}" + "".join(f"{counts[kind].total():12}" for kind in KINDS))


if __name__ == "__main__":
    main(sys.argv[1:])
