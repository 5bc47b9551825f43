# Each verb does its own set-up: python3 (3.11 or newer), make and git are enough.
# ARGS go to the program that a verb runs, as in: make demo ARGS=--plain

# Else each worker, and each program that a test starts, would compile every source again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: demo test quick lint ranges bench interop help servers servers-all foreign

bin := .venv/bin
pytest := $(bin)/python -m pytest -p tests.marks
# Most tests wait for something, so several go on at the same time, each on servers of its own.
beside := -n 3 --dist worksteal
quickly := $(addprefix tests/,recipes architecture api cli contract)

demo: .venv/ready-demo ## eight processes, one lock, two accidents; 20 seconds
	@$(bin)/python -m interlock demo $(ARGS)

test: .venv/ready servers ## every test, on real servers
	$(pytest) $(beside) --durations=15 $(ARGS)

quick: .venv/ready ## the tests that need no server, in a few seconds
	$(pytest) --quick -p no:hypothesispytest $(quickly) $(ARGS)

lint: .venv/ready ## style and types
	$(bin)/ruff check && $(bin)/ruff format --check && $(bin)/mypy && $(bin)/pyright

ranges: .venv/ready servers ## the oldest and the newest kazoo, redis-py and hiredis that we allow
	@tools/oldest-and-newest $(ARGS)

bench: .venv/ready servers ## how fast, beside others, in one run
	$(bin)/python -m bench $(ARGS)

interop: .venv/ready servers foreign ## beside Java, Go, Node and redis-py on the same locks
	$(bin)/python -m pytest interop -n 2 --dist worksteal --durations=5 $(ARGS)

servers-all: .venv/ready servers ## the Redis suites on each server that can be had; takes long
	@tools/servers-all $(ARGS)

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

.venv/ready-demo: pyproject.toml
	@test -e .venv/ready -a .venv/ready -nt pyproject.toml || tools/setup python cli $@

.venv/ready: pyproject.toml
	@tools/setup python dev,bench $@

servers:
	@tools/setup servers

foreign:
	@tools/setup interop
