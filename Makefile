PYTHON ?= python3
ENGINE ?= auto
FENCED := etcd-postgres etcd-postgres-inclusive \
  etcd-postgres-select-for-update etcd-postgres-select-for-update-inclusive \
  etcd-postgres-upsert etcd-postgres-upsert-inclusive
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/installed
PINNED := $(VENV)/pinned
MUTANTS := .venv-mutants
MODULES ?=
WORKERS ?= 4
SLOW_WORKERS ?= 4
FUZZ_SECONDS ?= 600
CASES ?=

# Tests start the command hundreds of times: compile its modules once, also where bytecode is unwanted elsewhere.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: install run zoo cards test test-slow test-nightly test-all check lint types coverage docs bench fuzz mutants lock schemas clean golden known-bugs atlas bench-systems pictures

install: $(STAMP)

$(STAMP): $(PINNED) pyproject.toml
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --no-index --editable .
	@touch $@
	@echo "installed; next: $(BIN)/fencepost run etcd-postgres-unfenced"

$(PINNED): requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' \
	  || { echo "fencepost needs Python 3.11 to 3.14; name one: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@echo "installing Python packages into $(VENV): takes about a minute, longer on a slow network"
	@$(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r requirements.lock
	@touch $@

run: install  ## find a stale write, then show that fencing stops it
	$(BIN)/fencepost run --engine $(ENGINE) --set workload.duration=12s etcd-postgres-unfenced
	@echo
	$(BIN)/fencepost run --engine $(ENGINE) --set workload.duration=12s etcd-postgres

zoo: install  ## the planted bugs and their twins
	$(BIN)/fencepost zoo --engine $(ENGINE)

test: EXAMPLES = 0.02
test-slow: EXAMPLES = 0.05

test: lint  ## each feature once, while mypy checks the types; ends in pytest's summary, or in what mypy found
	@echo '$(BIN)/mypy & $(BIN)/pytest -n $(WORKERS) --dist loadgroup'; \
	$(BIN)/mypy >$(VENV)/types 2>&1 & types=$$!; trap "kill $$types 2>/dev/null" INT TERM; \
	FENCEPOST_EXAMPLES=$(EXAMPLES) $(BIN)/pytest -n $(WORKERS) --dist loadgroup; tests=$$?; \
	wait $$types || { cat $(VENV)/types; exit 1; }; exit $$tests

test-slow: install  ## what takes long, and more random cases of these tests (EXAMPLES=1: all)
	FENCEPOST_EXAMPLES=$(EXAMPLES) $(BIN)/pytest -n $(SLOW_WORKERS) --dist loadgroup --durations=40 -m "slow and not nightly"

test-nightly: install  ## all random cases, second engines and systems, adapters in other languages, Dask, the image, CI on a bare machine
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r requirements-dask.lock \
	  || echo "Dask does not install here: its tests are skipped"
	FENCEPOST_REQUIRE_ENGINES=1 $(BIN)/pytest -n 2 --dist loadgroup -m "nightly or hypothesis or random"

test-all: test test-slow test-nightly  ## everything

check: lint types

lint: install
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: install
	$(BIN)/mypy

coverage: install  ## branch coverage by the tests that need no engine; fails below the floor
	$(BIN)/pytest -n $(WORKERS) --dist loadgroup -m "not engine and not browser and not nightly" --cov --cov-report=term
	$(BIN)/coverage report --include='checkers/*' --fail-under=96 --format=total

docs: install  ## the documentation site, in site/; fails on a broken link
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

bench: install  ## the figures of docs/benchmarks.md, all of them in benchmarks/results; about two hours (Porcupine needs Go)
	$(BIN)/python -m benchmarks.checkers
	$(BIN)/python -m benchmarks.growth
	$(BIN)/python -m benchmarks.clients
	$(BIN)/python -m benchmarks.killed --engine $(ENGINE) --times 10
	$(BIN)/python -m benchmarks.runs --engine $(ENGINE) --times 20 etcd-postgres-unfenced $(FENCED)

fuzz: install  ## invalid input for everything that reads; FUZZ_SECONDS=60 shortens it, CASES=20000 counts cases, SURFACES='target history'
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r requirements-fuzz.lock \
	  || echo "Atheris does not install here: Hypothesis alone"
	$(BIN)/python -m fuzzing $(SURFACES) $(if $(CASES),--cases $(CASES),--seconds $$(($(FUZZ_SECONDS) * 3 / 4)) --atheris $$(($(FUZZ_SECONDS) / 4)))

mutants: $(MUTANTS)/installed  ## benchmarks/results/mutants.md; continues where it stopped; MODULES='checkers.rules.*' repeats what escaped there
	PATH=$(CURDIR)/$(MUTANTS)/bin:$$PATH nice -n 15 python -m tools.mutants $(MODULES)

$(MUTANTS)/installed: requirements-mutation.lock
	$(PYTHON) -m venv --clear $(MUTANTS)
	$(MUTANTS)/bin/pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r requirements-mutation.lock
	@touch $@

lock:  ## recompile the pinned requirements (needs uv)
	uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-strip-extras \
	  --extra local --group dev --no-header --no-emit-index-url --no-annotate --quiet -o requirements.lock
	uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-strip-extras --constraint requirements.lock \
	  --no-header --no-emit-index-url --no-annotate --quiet -o requirements-runtime.lock
	uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-strip-extras --constraint requirements.lock \
	  --group mutation --no-header --no-emit-index-url --no-annotate --quiet -o requirements-mutation.lock
	uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-strip-extras --constraint requirements.lock \
	  --extra dask --no-header --no-emit-index-url --no-annotate --quiet -o requirements-dask.lock
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-strip-extras \
	  --group fuzz --no-header --no-emit-index-url --no-annotate --quiet -o requirements-fuzz.lock

schemas: install  ## write the JSON Schemas that are committed
	$(BIN)/python -m tools.schemas

cards: install  ## docs/libraries.md: run the series of each lock library of examples/locks; NAMES=... makes some again, RUN=restart one run of each series
	$(BIN)/python -m tools.cards $(NAMES)

bench-systems: install  ## docs/bench.md: bench each lock service and storage, half an hour; NAMES=... some of the targets (needs Docker)
	$(BIN)/python -m tools.bench_systems $(NAMES)

atlas: install  ## docs/atlas.md: race for objects on each S3 server that runs here; NAMES=... some of them (needs Go, Java and Maven)
	$(BIN)/python -m tools.atlas $(NAMES)

known-bugs: install  ## find the known bugs again, and record the date and the commit: docs/known-bugs.json; NAMES=... some of them
	$(BIN)/python -m tools.known_bugs $(NAMES)

pictures: install  ## docs/pictures: what reports draw of recorded runs; needs chromium
	$(BIN)/python -m tools.pictures

golden: install  ## rewrite the golden verdicts and texts: read the diff
	$(BIN)/python -m tests.support.golden_verdicts
	$(BIN)/python -m tests.support.golden_pages $(NAMES)

clean:
	rm -rf $(VENV) $(MUTANTS) mutants site
