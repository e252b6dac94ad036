# The two commands to know: `make demo` raises an opponent and `make test` checks the house.
# Both set everything up first: they need Python 3.11 or newer, make and a C compiler, nothing else.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
PEERS := .venv-peers
PEERS_READY := $(PEERS)/ready
MINUTES ?= 8
PROCESSES ?= 2

.PHONY: help setup demo test check bench clean

help:
	@echo "make demo    train a connect-four agent for $(MINUTES) minutes from the rules alone, then say how to play it"
	@echo "make test    format, lint and type checks, then the tests"
	@echo "make check   the checks without the tests"
	@echo "make bench   the speed of every stage, next to other programs where they install"
	@echo "make clean   remove the virtual environments and the tools' caches (runs/ stays)"

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; name one: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || \
		{ rm -rf $(VENV); echo "the venv module is missing; on Debian: apt-get install python3-venv"; exit 2; }
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[dev]"
	@touch $(READY)

demo: $(READY)
	@out=runs/demo; n=1; while [ -e $$out ]; do n=$$((n + 1)); out=runs/demo-$$n; done; \
	if [ $$n -gt 1 ]; then echo "runs/demo is there already; this run goes to $$out"; fi; \
	$(BIN)/zelkova train alphazero-connect-four --minutes $(MINUTES) --out $$out && \
	printf '\nThe run is in %s. Next:\n' $$out && \
	printf '  %s\n' \
		"$(BIN)/zelkova play $$out                               play against it" \
		"$(BIN)/zelkova report $$out                             its curves, as one HTML file" \
		"$(BIN)/zelkova arena $$out uct:1000 --games 200         measure it against a plain tree search" \
		"$(BIN)/zelkova train --resume $$out --minutes 22        go on where it stopped"

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

# A file of tests stays in one process, so that what its tests share is made once; tests/conftest.py puts
# the longest files first.
test: check
	$(BIN)/python -m pytest -n $(PROCESSES) --dist loadfile --no-loadscope-reorder

bench: $(READY) $(PEERS_READY)
	@for part in rules search selfplay network; do $(BIN)/zelkova bench $$part || exit $$?; done

# The peers live apart: what they need must never steer what we need. Only torch is held to our release,
# since others bring gigabytes of CUDA to a CPU machine.
$(PEERS_READY): $(READY)
	@test -x $(PEERS)/bin/python || $(PYTHON) -m venv $(PEERS)
	@grep '^torch==' constraints.txt > $(PEERS)/torch.txt
	@for peer in open_spiel "jax mctx" pgx gumbel-mcts "--no-deps LightZero" bitbully; do \
		$(PEERS)/bin/python -m pip install --quiet -c $(PEERS)/torch.txt $$peer || \
		echo "no $$peer here: its figures are left out"; \
	done
	@touch $(PEERS_READY)

clean:
	rm -rf $(VENV) $(PEERS) .mypy_cache .ruff_cache .pytest_cache .hypothesis
