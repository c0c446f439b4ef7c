# byoc_lab. `make lab` and `make test` are all that a new machine needs.

VENV   := .venv
BIN    := $(VENV)/bin
ORACLE := .oracle-venv
# Property tests draw the same examples in CI and `make test`, new ones or those of a seed here.
EXPLORE = $(if $(SEED),--hypothesis-seed=$(SEED),$(if $(CI),,--hypothesis-profile=explore))

# One process a core; tests of one file stay in one process, since files share what they prepare.
# Threads of kernels that wait leave their core to the other processes; NumPy's, which wait in loops,
# are not started.
# Bytecode is kept: without it, each process compiles 1,400 files.
PYTEST = PYTHONDONTWRITEBYTECODE= OMP_WAIT_POLICY=PASSIVE OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses=auto --dist=loadfile
# LLVM does not optimize the host part here, nor in a part of the sweeps: half of each build.
# `make machines` and `make slow` optimize.
# pytest's capture of the log costs a hundredth of the time, and nothing is logged.
QUICK  = --plain-llvm -p no:logging -m "not slow and not browser and not notebook"
SMOKE  = tests/test_imports.py tests/lab/tracing/test_trace.py tests/lab/diffing/test_diff.py \
         tests/lab/linting/rules tests/lab/explaining/test_decode.py tests/lab/view/states/test_state.py \
         tests/lessons/test_structure.py tests/lessons/test_verdict.py \
         tests/lessons/cases/test_nested_partition.py \
         tests/lessons/exercises/test_other_right_answers.py tests/passes/byoc tests/run/test_build.py
# What holds without the DNNL extension, apache-tvm and a compiler: the README's second column.
# Containers of graded notebooks are the same everywhere; tests/cli grades a course.
PURE   = tests/relay/text tests/relay/typing tests/relay/patterns tests/passes/byoc tests/passes/fold \
         tests/passes/layout tests/passes/normal_form tests/passes/simplify tests/lab/linting \
         tests/lab/diffing tests/lab/explaining tests/lab/tracing tests/lab/view tests/lessons \
         tests/run/test_reference.py tests/run/hosts tests/backends/test_python_region.py \
         tests/notebooks tests/cli --ignore=tests/lessons/grading

.DEFAULT_GOAL := help
.PHONY: help setup lab test smoke demo check coverage browser browsers notebooks slow mutants fuzz sanitize bench oracle \
        golden wheel clean alarms docs generate lite elsewhere machines pictures

help:  ## show this list
	@echo "byoc_lab: learn and debug BYOC graph partitioning"
	@echo
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 20

setup: install-dev  ## create .venv and install what all targets need (each also installs what it lacks)

install-%:
	@tools/setup.sh $(VENV) $*

lab: install-lab  ## open JupyterLab at the first notebook
	$(BIN)/jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root) notebooks/00_start_here.ipynb

test: install-test  ## run the tests, without those in a browser and the notebooks
	$(PYTEST) --ignore=tests/browser $(QUICK)

smoke: install-test  ## the quickest tests of each part
	$(PYTEST) $(QUICK) $(SMOKE)

coverage: setup  ## run the tests and print the coverage of each folder
	$(PYTEST) -m "not slow" --cov=byoc_lab --cov-report=
	$(BIN)/python tools/coverage_table.py

demo: install-lab  ## the main job without a screen: MobileNet through the DNNL pipeline, checked and timed
	$(BIN)/byoc-lab demo

check: install-check  ## ruff and the type checker; of the JavaScript too, where node is
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	@tools/frontend.sh

browser: install-browser  ## the tests in a browser (needs Chromium); screenshots and a recording in build/browser
	$(PYTEST) --no-loadscope-reorder -m "browser and not slow" tests/browser

browsers: install-browser  ## the laboratory in one file: all tests in two browsers, from disk and HTTP, or WHERE=firefox-file
	@set -e; for where in $(or $(WHERE),chromium-file chromium-http firefox-file firefox-http); do \
		echo "== $$where"; $(PYTEST) -m browser --where=$$where tests/browser/lite; done

pictures: install-browser  ## draw the pictures of the README again (needs Chromium)
	$(BIN)/python tools/pictures.py

notebooks: install-test install-docs  ## run the notebooks
	$(PYTEST) --dist=load -m "notebook and not slow" --ignore=tests/notebooks/test_elsewhere.py tests/notebooks tests/docs

slow: setup  ## the sweeps that `make test` leaves out; ONE_IN=8 for a part of them, SEED=n to draw again
	ALL_EXAMPLES=1 $(PYTEST) --dist=worksteal -m "slow$(if $(ONE_IN),, or hypothesis)" $(EXPLORE) $(if $(ONE_IN),--plain-llvm)

mutants: install-test  ## delete, double, rename and move every annotation: does the linter find what breaks?
	$(BIN)/python -m tests.lab.linting.sweep $(if $(SEED),--seed $(SEED))

alarms: install-test  ## 2,000 random modules on DNNL and on LLVM: is a correct result reported as wrong?
	$(BIN)/python -m tests.lab.checking.sweep $(if $(SEED),--seeds $(SEED) $$(($(SEED) + 1)))

fuzz: install-test  ## hostile input of ten kinds, for SECONDS=600, JOBS=1 at a time, or one: KIND=files SEED=n
	$(BIN)/python -m tests.fuzz $(if $(KIND),--kind $(KIND)) \
		$(if $(SEED),--seed $(SEED),--seconds $(or $(SECONDS),600) --jobs $(or $(JOBS),1))

sanitize: install-test  ## the tests of native/ under address and undefined-behaviour sanitizers
	@tools/sanitize.sh $(VENV)

generate: install-test  ## write what is generated: rules, operators, exercises, and the outputs of examples in docs/
	$(BIN)/python tools/rule_pages.py
	$(BIN)/python tools/operator_table.py
	$(BIN)/python tools/message_types.py
	$(BIN)/python -m byoc_lab.lessons.grading.handout
	$(BIN)/python -m tools.docs.operators
	$(BIN)/python -m tools.docs.examples

docs: install-docs  ## run the notebooks and write the documentation, build/site/index.html (3 minutes)
	$(BIN)/python -m tools.docs.build

lite: install-docs  ## the laboratory in one file for any browser, build/lite/byoc_lab.html (needs npm)
	$(BIN)/python -m tools.lite.build

elsewhere: install-test  ## with DNNL, apache-tvm and compilers hidden: the tests that need none, exercises, notebooks
	$(PYTEST) -p tests.elsewhere -m "not slow and not browser and not notebook and not native and not oracle" $(PURE)
	$(PYTEST) --dist=load -m notebook tests/notebooks/test_elsewhere.py

machines: install-test  ## the tests of DNNL at each instruction set below this machine's own
	@tools/machines.sh $(PYTEST)

bench: setup  ## measure the claims about speed, kept in benchmarks/results (an hour, alone on the machine)
	$(BIN)/python benchmarks/all_speed.py

oracle: install-test  ## install a real TVM 0.16 beside the package and compare with it (needs Python 3.10)
	@tools/oracle.sh $(ORACLE)
	$(BIN)/python -m pytest -m oracle

golden: install-test  ## write the golden files again from the real TVM 0.16
	@tools/oracle.sh $(ORACLE)
	$(BIN)/python -m tests.parity.write_golden

wheel: install-lab  ## build the manylinux wheel and the pure one into dist/
	@tools/wheel.sh $(BIN)/python dist

clean:  ## remove what make created
	rm -rf $(VENV) $(ORACLE) build dist
