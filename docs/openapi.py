"""Print the API's OpenAPI document as JSON. `make docs` generates the page's types from it."""

import json

from graphkin.api.app import create_app
from graphkin.api.settings import Settings

if __name__ == "__main__":
    print(json.dumps(create_app(Settings(store="unused")).openapi()))
