"""The labels of the Dockerfile. `tests/long/test_image.py` builds and runs images."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_labels_match_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    text = (ROOT / "Dockerfile").read_text()
    labels = re.findall(r'org\.opencontainers\.image\.(\w+)=(?:"([^"]+)"|(\S+))', text)
    assert {name: quoted or bare for name, quoted, bare in labels} == {
        "title": project["name"],
        "description": project["description"],
        "licenses": project["license"],
        "version": project["version"],
    }
