# From a fresh clone, with Python >= 3.10 and Java >= 17: `make demo`, `make test`. They set up .venv themselves.

PYTHON ?= python3
VENV ?= .venv
# More for pytest, e.g. `make test ARGS='-k session'`.
ARGS ?=
# How long `make soak` takes.
MINUTES ?= 60

# With ARGS='-k ...' there may be nothing to run, which pytest answers with 5.
NONE_IS_FINE = $(if $(ARGS),|| [ $$? -eq 5 ])

# Where `make flink` installs PyPI's apache-flink (0.9 GB), and whether it keeps Flink's answers.
FLINK_VENV ?= .venv-flink
RECORD ?=

# What `make random` draws its queries from (empty: a new one), and how many.
SEED ?=
COUNT ?= 2000

# Of large families of tests `make test` takes a draw, and `make night` all (tests/rings.py).
# Test modules as pytest rewrites them, and modules that have changed since the installation, are kept when they have been
# compiled once: where Python may not write bytecode, each of the many processes of a run would do it again.
RING_2 := MILLRACE_RING=2 PYTHONDONTWRITEBYTECODE=

# Processes that tests run in, and what each takes (tests/lanes.py): two with a Spark each, one in which a server of a
# kind runs once, and one for what needs neither: tests of servers and of several processes mostly wait. Where a group is
# done its lanes take the tests without Java. With more than four processors there are more lanes.
LANES := spark unit, spark unit, services unit, unit, unit*

BIN := $(VENV)/bin
CORE := $(VENV)/.millrace-core
STAMP := $(VENV)/.millrace-installed
DOCS := $(VENV)/.millrace-docs
ARCHIVE := $(VENV)/.millrace-prepared

# $(error) instead of a failing command: the user sees one line and not make's own on top of it. JAVA_HOME is handed
# over because `make demo JAVA_HOME=...` does not reach $(shell) in older versions of make.
JAVA_PROBLEM = $(shell JAVA_HOME='$(JAVA_HOME)' sh scripts/check_java.sh 2>&1)
PYTHON_PROBLEM = $(shell \
	if ! $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' >/dev/null 2>&1; then \
		echo 'Millrace needs Python 3.10 or newer, and $(PYTHON) is not: install one or run make PYTHON=/path/to/python3'; \
	elif ! $(PYTHON) -c 'import ensurepip, venv' >/dev/null 2>&1; then \
		echo '$(PYTHON) cannot create virtual environments: install its venv module (Debian/Ubuntu: `apt-get install python3-venv`)'; \
	fi)

.DEFAULT_GOAL := help
# `java` is to answer before `venv` starts a long installation, also under -j.
.NOTPARALLEL:
.PHONY: durations night docs docs-run gallery help java venv demo demo-kafka demo-search demo-cdc test check lint unit services kafka conformance connectors crash crash-cluster crash-kafka cluster flink random versions soak bench compatibility configuration tables errors pictures clean flink-rest rest crash-cdc dist tpc

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1	\2/p' Makefile

# The class archive, with which Spark starts in half the time, is made after the last line of the demo.
demo: java $(CORE) ## run examples/demo.py on a local Spark
	@$(BIN)/python examples/demo.py
	@test -e $(ARCHIVE) || { nohup $(BIN)/millrace prepare >/dev/null 2>&1 && touch $(ARCHIVE); } &

demo-kafka: java venv $(ARCHIVE) ## a job from topic to topic, exactly once, on a Kafka broker that is started for it
	@$(BIN)/python examples/kafka_exactly_once.py

demo-search: java venv $(ARCHIVE) ## from Kafka, with a database's names, into OpenSearch, and charts of it on a web page
	@$(BIN)/python examples/user_behavior_search.py $(ARGS)

demo-cdc: java venv $(ARCHIVE) ## orders of PostgreSQL with products of MariaDB, kept in OpenSearch as both change
	@$(BIN)/python examples/order_capture.py

test: java venv $(ARCHIVE) ## the tests of CI, with Spark and real servers; of large families a draw
	$(RING_2) $(BIN)/python -m pytest -m "not slow" --lanes="$(LANES)" $(ARGS)

night: java venv $(ARCHIVE) ## everything in groups, with new seeds: hours. ARGS=--continue goes on, ARGS=--list says what and how long
	$(BIN)/python -m scripts.rings.night $(ARGS)

check: lint ## what a change needs: lint, types, and the tests without Java of what has changed, within two minutes
	@$(BIN)/python -m scripts.rings $(ARGS)

durations: java venv $(ARCHIVE) ## measure how long the tests of each file take, for `make check` and `make test`
	$(RING_2) $(BIN)/python -m pytest -q -m "not slow" --lanes="$(LANES)" --lanes-report=build/tests.json
	$(BIN)/python -m scripts.rings.record build/tests.json

gallery: java venv $(ARCHIVE) ## the programs of examples/gallery by their commands, on a local Spark
	$(BIN)/python -m pytest -m slow tests/examples/test_gallery.py $(ARGS)

docs: venv $(DOCS) ## the documentation site, in site/: open site/index.html
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet && echo "site/index.html"

docs-run: java venv $(ARCHIVE) ## run every block of the docs and every example of the reference
	$(BIN)/python -m pytest tests/test_docs.py tests/reference $$(find tests -name 'test_guide*.py' -o -name 'test_tutorial*.py') $(ARGS)

$(DOCS): pyproject.toml | venv
	@echo "Installing what the documentation site is built with"
	@$(BIN)/pip install --quiet --disable-pip-version-check -e '.[docs]'
	@touch $@

lint: venv ## ruff, the rules of the house (layers, sizes, names on pages, commits), no dead code and mypy --strict
	$(BIN)/ruff check --no-cache .
	$(BIN)/ruff format --no-cache --check --quiet .
	@# Types take as long as the rest, on one processor.
	@$(BIN)/mypy --strict & types=$$!; \
	$(BIN)/python -m scripts.house && $(BIN)/python -m scripts.house.dead_code; rules=$$?; \
	wait $$types && exit $$rules

unit: venv ## the tests that need no Java
	$(BIN)/python -m pytest -m "not spark and not services and not slow" --lanes="unit*" $(ARGS)

services: java venv ## install the servers of tests that Debian packages (as root) and fetch the others
	@sh scripts/services.sh
	@$(BIN)/python -m millrace.testing.services fetch

kafka: java venv ## start an Apache Kafka of your own and say where it is; Ctrl-C stops it
	@$(BIN)/python -m millrace.testing.services kafka

conformance: java venv ## the kit for connectors, on each of ours: on real servers, every check
	$(BIN)/python -m pytest -m services -k conformance --lanes=services,services tests/connectors $(ARGS)

connectors: java venv ## heavy servers and the longer tests of connectors, one after the other: a quarter of an hour
	$(BIN)/python -m pytest -m "connectors or (services and slow)" tests $(ARGS) $(NONE_IS_FINE)

crash: java venv $(ARCHIVE) ## kill -9 of every process of a job at every point: half an hour
	$(BIN)/python -m pytest tests/crash $(ARGS)

crash-cluster: java venv $(ARCHIVE) ## kill -9 of every process of a cluster during every operation of its REST API: half an hour
	$(BIN)/python -m pytest tests/cluster/killing -s $(ARGS)

crash-kafka: java venv $(ARCHIVE) ## break jobs on three Kafka brokers, 25 rounds of 8 kinds: two hours
	$(BIN)/python tests/crash/kafka/rounds.py $(ARGS)

crash-cdc: java venv $(ARCHIVE) ## capture a table of 1,000,000 rows that is changed 2,000 times a second, with 30 kills: ten minutes. ARGS='--database mariadb' another one
	$(BIN)/python tests/crash/cdc/rounds.py $(ARGS)

cluster: java venv $(ARCHIVE) ## kill and stop processes of a job on a standalone cluster of three workers: an hour
	$(BIN)/python -m pytest tests/cluster/test_cluster.py tests/cluster/test_readme.py $(ARGS)

flink: java venv $(ARCHIVE) $(FLINK_VENV)/.installed ## ask Flink itself the corpus of tests/flink and compare; RECORD=1 keeps its answers
	$(FLINK_VENV)/bin/python tests/flink/ask_flink.py $(if $(RECORD),--record)
	$(if $(RECORD),$(FLINK_VENV)/bin/python scripts/dump_pyflink_signatures.py)
	MILLRACE_DROPIN_JARS="$$($(BIN)/python -m tests.dropin.jars)" \
		$(FLINK_VENV)/bin/python -m tests.dropin.on_pyflink $(if $(RECORD),--record)
	$(BIN)/python scripts/run_pyflink_examples.py --pyflink-python $(FLINK_VENV)/bin/python --compare
	FLINK_VENV='$(FLINK_VENV)' $(BIN)/python -m tests.flink.cep.record $(if $(RECORD),--keep)
	$(BIN)/python -m tests.flink.suites.record $(if $(RECORD),--keep)
	$(BIN)/python -m tests.flink.fields.record $(if $(RECORD),--keep)
	$(if $(RECORD),$(FLINK_VENV)/bin/python -m tests.flink.rest.record --keep)
	$(if $(RECORD),$(FLINK_VENV)/bin/python -m tests.flink.rest.record --widen)
	$(if $(RECORD),$(FLINK_VENV)/bin/python -m tests.flink.rest.flink.record_cli --keep)
	FLINK_VENV='$(abspath $(FLINK_VENV))' $(BIN)/python -m pytest tests/flink tests/dropin $(ARGS)

flink-rest: java $(FLINK_VENV)/.installed ## start a Flink and see whether its REST API and its command still answer as kept
	$(FLINK_VENV)/bin/python -m tests.flink.rest.record
	$(FLINK_VENV)/bin/python -m tests.flink.rest.flink.record_cli

rest: java venv $(ARCHIVE) ## ask a cluster of ours what Flink was asked, about real jobs; RECORD=1 writes docs/rest-differences.md
	$(BIN)/python -m tests.flink.rest.ours.ask $(if $(RECORD),--keep)

random: java venv $(ARCHIVE) ## COUNT random queries (2,000) in both modes, from a SEED: they give the same
	MILLRACE_RANDOM_SEED='$(SEED)' MILLRACE_RANDOM_COUNT='$(COUNT)' $(BIN)/python -m pytest -m spark tests/random $(ARGS)

versions: java venv $(ARCHIVE) ## try every minor version of PySpark that is allowed, from PyPI
	$(BIN)/python -m pytest tests/versions $(ARGS)

dist: venv ## build a wheel in dist/
	$(BIN)/python -m pip wheel -q --disable-pip-version-check --no-deps -w dist .

soak: java venv $(ARCHIVE) ## a job that is killed for an hour (MINUTES=..): nothing is lost, nothing grows
	$(BIN)/python tests/crash/soak.py --minutes $(MINUTES)

bench: ## list the benchmarks
	@set -- benchmarks/*.py; \
	if [ ! -e "$$1" ]; then echo 'There are no benchmarks yet.'; exit 0; fi; \
	for file in "$$@"; do \
		case $${file##*/} in _*) continue ;; esac; \
		printf '%s %s\n    %s\n' '$(BIN)/python' "$$file" "$$(sed -n '/^"""/{s/"""//g;p;q;}' "$$file")"; \
	done

tpc: java venv $(ARCHIVE) ## TPC-H and TPC-DS in batch mode: answers beside DuckDB's; ARGS='--against-spark --flink-python ..' for times
	$(BIN)/python -m benchmarks.tpc $(ARGS)

compatibility: venv ## write docs/pyflink-compatibility.md, docs/sql-functions.md and docs/sql/ again
	$(BIN)/python scripts/pyflink_compatibility.py
	$(BIN)/python -m scripts.sql_functions
	$(BIN)/python -m scripts.sql_reference

configuration: venv ## write docs/configuration.md again
	$(BIN)/python scripts/configuration.py

tables: venv ## write the modules under PyFlink's paths, and the generated parts of docs/guide and docs/architecture.md
	$(BIN)/python -m scripts.doors
	$(BIN)/python scripts/what_fires_when.py
	$(BIN)/python scripts/lint_rules.py
	$(BIN)/python -m scripts.house.map

errors: venv ## write docs/error-index.md again
	$(BIN)/python scripts/error_index.py

pictures: venv ## draw docs/pictures again
	$(BIN)/python scripts/draw_pictures.py

venv: $(STAMP) ## create .venv and install Millrace into it

java:
	@$(if $(JAVA_PROBLEM),$(error $(JAVA_PROBLEM)))true

# What users install: Millrace and the packages that it always needs. Nothing to do where `venv` has been made. Stamps
# are touched last, so an interrupted installation is done again.
$(CORE): pyproject.toml
	@$(if $(PYTHON_PROBLEM),$(error $(PYTHON_PROBLEM)))echo 'Setting up $(VENV) (a minute or two: PySpark is large)'
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv $(VENV)
	@# The distribution was called millrace before: what is left of that would own our command, too.
	@$(BIN)/python -m pip uninstall -qq -y millrace
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -e .
	@# Where Python may not write bytecode (PYTHONDONTWRITEBYTECODE) each process would compile Millrace again.
	@$(BIN)/python -m compileall -q -j 0 src
	@touch $@

# What developers install: the packages of all extras, of the tests and of lint.
$(STAMP): $(CORE)
	@echo 'Adding what tests need to $(VENV) (a few minutes)'
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -e '.[dev]'
	@touch $@

# Spark starts in half the time with it; without it everything works too.
$(ARCHIVE): $(STAMP)
	@$(BIN)/millrace prepare || echo 'Going on without: Spark will start slower.'
	@touch $@

# The reference that answers are compared with.
$(FLINK_VENV)/.installed:
	@echo 'Setting up $(FLINK_VENV) with apache-flink (0.9 GB)'
	@$(PYTHON) -m venv $(FLINK_VENV)
	@$(FLINK_VENV)/bin/python -m pip install -qq --disable-pip-version-check 'apache-flink==2.3.0'
	@touch $@

clean: ## remove what tests and tools leave behind; rm -rf .venv for the environment
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis spark-warehouse metastore_db derby.log
	find src tests examples benchmarks scripts -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
