"""Molblocks that are damaged in every way that a field, a line or a cut can be."""

from collections.abc import Iterator
from random import Random

from rdkit import Chem

_V2000 = Chem.MolToMolBlock(Chem.MolFromSmiles("C[N+](C)(C)C[C@H](O)Cl"))
_V3000 = Chem.MolToV3KMolBlock(Chem.MolFromSmiles("C[N+](C)(C)C[C@H](O)Cl"))

_FIELDS = ("999", "-1", "  0", "1e9", "nan", "NaN", "***", "\0\0\0", "  \t", "２", "99999999999999999999")
_PROPERTIES = (
    "M  CHG  1   1 999",
    "M  CHG  1 999   1",
    "M  CHG 99   1   1",
    "M  CHG  1   1",
    "M  CHG",
    "M  ISO  1   1 -99",
    "M  ISO  1   1 99999",
    "M  RAD  1   1   9",
    "M  RAD  1   0   1",
    "M  RGP  1   1  99",
    "M  ALS   1  2 F C   N",
    "M  ALS   1 99 F C   N",
    "M  ALS   1  2 X C   N",
    "M  LIN  1   1  99   2   3",
    "M  STY  1   1 DAT\nM  SDT   1 NAME\nM  SDD   1     0.0    0.0    DA    ALL  1       5\nM  SED   1 value",
    "M  STY  1   1 XXX",
    "M  SAL   1  1 999",
    "M  SBL   1  1 999",
    "M  SPA   9  1   1",
    "M  SMT   1 n",
    "M  SDI   1  4    1.0    1.0    1.0    1.0",
    "M  APO  1   1   9",
    "M  SUB  1   1  99",
    "M  UNS  1   1   9",
    "M  ZBO  1   1   0",
    "M  ZCH  1   1  99",
    "M  HYD  1   1 999",
    "M  MRV SMA   1 [C&H1]",
    "M  MRV SMA   1 [",
    "M  $3D  9",
    "M  REG 99999999999",
    "M  XXX",
    "A  999\nlabel",
    "V    1 value",
    "G    1  2\nabbreviation",
    "S  SKP 99",
)
_LINES = (
    "M  V30 COUNTS 99999 0 0 0 0",
    "M  V30 COUNTS -1 -1 -1 -1 -1",
    "M  V30 COUNTS 1",
    "M  V30 1 C nan inf 0 0",
    "M  V30 1 C 0 0",
    "M  V30 1 Xx 0 0 0 0",
    "M  V30 1 NOT[C,N] 0 0 0 0",
    "M  V30 1 [C,N,] 0 0 0 0",
    "M  V30 1 [ 0 0 0 0",
    "M  V30 1 C 0 0 0 0 CHG=999",
    "M  V30 1 C 0 0 0 0 CHG=",
    "M  V30 1 C 0 0 0 0 MASS=-1 VAL=99 RAD=9 CFG=7",
    "M  V30 1 C 0 0 0 0 HCOUNT=99 SUBST=-9 RBCNT=99 UNSAT=9",
    "M  V30 1 C 0 0 0 0 ATTCHPT=9 ATTCHORD=(99 1)",
    "M  V30 99999999999 C 0 0 0 0",
    'M  V30 1 "C 0 0 0 0',
    "M  V30 1 C 0 0 0 0 -",
    "M  V30 1 9 1 2",
    "M  V30 1 1 0 999",
    "M  V30 1 1 1 1",
    "M  V30 1 1 1 2 CFG=9 TOPO=9",
    "M  V30 1 1 1 2 ENDPTS=(99 1 2) ATTACH=ANY",
    "M  V30 1 1 1 2 ENDPTS=(",
    "M  V30 BEGIN SGROUP\nM  V30 1 DAT 0 ATOMS=(1 999) FIELDNAME=x FIELDDATA=y\nM  V30 END SGROUP",
    "M  V30 BEGIN SGROUP\nM  V30 1 SUP 0 ATOMS=(9 1)\nM  V30 END SGROUP",
    "M  V30 BEGIN COLLECTION\nM  V30 MDLV30/STERAC1 ATOMS=(1 999)\nM  V30 END COLLECTION",
    "M  V30 BEGIN COLLECTION\nM  V30 MDLV30/STEREL99999999999 ATOMS=(1 1)\nM  V30 END COLLECTION",
    "M  V30 BEGIN CTAB",
    "M  V30 END CTAB",
    "M  V30 LINKNODE 1 999 2 1 2 1 3",
    "M  V30 BEGIN OBJ3D",
    "M  V30 BEGIN TEMPLATE",
)
_CUTS = 40
_FLIPS = 60


def molblocks() -> Iterator[tuple[str, str]]:
    """Every one with its name."""
    for version, block in (("v2000", _V2000), ("v3000", _V3000)):
        yield version, block
        for place in range(0, len(block), len(block) // _CUTS):
            yield f"{version}-cut-{place}", block[:place]
        for number in range(_FLIPS):
            yield f"{version}-flipped-{number}", _flipped(block, Random(f"{version} {number}"))
        yield f"{version}-windows", block.replace("\n", "\r\n")
        yield f"{version}-macintosh", block.replace("\n", "\r")
        yield f"{version}-one-line", block.replace("\n", " ")
        yield f"{version}-twice", block + block
        yield f"{version}-title-9000", "x" * 9000 + block
        yield f"{version}-byte-order-mark", "\ufeff" + block
        yield f"{version}-title-hostile", "\x07\u202e<script>&" + block
        yield f"{version}-title-surrogate", "\ud800" + block
    for number, properties in enumerate(_PROPERTIES):
        yield f"v2000-property-{number}", _V2000.replace("M  END", f"{properties}\nM  END")
    for place, field in ((place, field) for place in (0, 3) for field in _FIELDS):
        yield f"v2000-counts-{place}-{_FIELDS.index(field)}", _counted(place, field)
    for number, line in enumerate(_LINES):
        yield f"v3000-line-{number}", _instead_of_its_like(line)
        yield f"v3000-added-{number}", _V3000.replace("M  V30 END ATOM", f"{line}\nM  V30 END ATOM")


def _flipped(block: str, random: Random) -> str:
    """One to four characters become others that occur in molblocks."""
    characters = list(block)
    for _ in range(random.randint(1, 4)):
        characters[random.randrange(len(block))] = random.choice("0123456789 -.MVCNEDH\n\t()=*é")
    return "".join(characters)


def _counted(place: int, field: str) -> str:
    counts = _V2000.split("\n")[3]
    return _V2000.replace(counts, counts[:place] + field + counts[place + 3 :])


def _instead_of_its_like(line: str) -> str:
    """The V3000 block where a line stands for the first one of its kind."""
    (kind,) = line.split()[2:3]
    old = next((each for each in _V3000.split("\n") if each.split()[2:3] == [kind]), "M  END")
    return _V3000.replace(old, line, 1)
