# All builds are without cgo and with the same flags, so that they share one cache.
export CGO_ENABLED := 0
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

TOOL := go tool -modfile=go.tools.mod
CLUSTER := ./test/cluster/musterup
NESTED := test/compat test/oracle

# What the targets below take: make demo DEMO_FLAGS=--keep, make up NODES=50.
DEMO_FLAGS ?=
NAME ?= muster
NODES ?= 20
GPUS ?= 8
OPERATORS ?= training
CONF ?=
COUNT ?= 6
BENCH ?= .
OLD ?=
BENCH_FLAGS ?=
FUZZTIME ?= 30s
TIMES ?= 20
PKG ?= ./...

# Packages that need a control plane, and those that need none.
INTEGRATION := ./test/cluster/... ./test/integration/...
unit = $$(go list ./... | grep -v -e /test/cluster -e /test/integration)

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  %-17s %s\n", $$1, $$2 }'

.PHONY: build
build: ## compile bin/muster
	go build -o bin/muster ./cmd/muster

.PHONY: generate
generate: ## write deepcopy code, CRDs, roles, chart templates and docs tables
	$(TOOL) controller-gen object crd:maxDescLen=0,generateEmbeddedObjectMeta=true 'paths={./apis/batch/...,./apis/flow/...}' output:crd:dir=config/crd
	$(TOOL) controller-gen object crd:generateEmbeddedObjectMeta=true 'paths={./apis/bus/...,./apis/nodeinfo/...,./apis/scheduling/...,./apis/topology/...}' output:crd:dir=config/crd
	go run ./cmd/muster manifests
	MUSTER_UPDATE=1 go test -count=1 -run TestTheImportTableIsInTheDocs ./pkg

.PHONY: verify
verify: fmt-check lint tidy-check ## fail when something is stale, unformatted, untidy or against a rule
	@before=$$({ git diff; git status --porcelain; } | git hash-object --stdin); \
	$(MAKE) --no-print-directory generate; \
	after=$$({ git diff; git status --porcelain; } | git hash-object --stdin); \
	if [ "$$before" != "$$after" ]; then git status --short; echo "generated files were stale; commit what make generate wrote"; exit 1; fi
	go test ./pkg ./pkg/muster

.PHONY: fmt
fmt: ## format all Go files and apply the modernizers
	go fix ./...
	$(TOOL) golangci-lint fmt ./...

.PHONY: fmt-check
fmt-check:
	@$(TOOL) golangci-lint fmt --diff ./...

.PHONY: lint
lint: ## run the linters of .golangci.yml
	$(TOOL) golangci-lint run --allow-parallel-runners ./...

.PHONY: tidy-check
tidy-check:
	@for dir in . $(NESTED); do (cd $$dir && go mod tidy -diff) || { echo "$$dir: run go mod tidy"; exit 1; }; done

.PHONY: test
test: test-unit test-integration ## run all tests; the first run builds a control plane, operators and Prometheus, in a quarter of an hour on two cores

.PHONY: test-unit
test-unit: ## run the tests that need no control plane, those of nested modules too
	@for dir in $(NESTED); do echo "# $$dir"; (cd $$dir && go test ./...); done
	go test $(unit)

.PHONY: test-integration
test-integration: ## run the tests against a real API server and real operators
	go run $(CLUSTER) build controlplane training-operator prometheus
	go test -p 1 -timeout 30m $(INTEGRATION)

.PHONY: packages
packages: ## install the Debian packages that test/wiring starts, as root; without them it skips
	DEBIAN_FRONTEND=noninteractive apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends openssh-server openssh-client openmpi-bin

.PHONY: bench
bench: ## run the benchmarks in memory, and benchstat: BENCH=regexp COUNT=6 OLD=file to compare with
	@mkdir -p bin
	go test -run '^$$' -bench '$(BENCH)' -benchmem -count $(COUNT) ./pkg/... | tee bin/bench.txt
	$(TOOL) benchstat $(OLD) bin/bench.txt

.PHONY: bench-e2e
bench-e2e: build ## measure against a real API server; needs a quiet machine and ten minutes: BENCH_FLAGS=--trials=6
	go run $(CLUSTER) build controlplane
	go build -o bin/bench ./test/bench
	bin/bench --muster bin/muster --out bin/bench-e2e.txt $(BENCH_FLAGS)
	$(TOOL) benchstat bin/bench-e2e.txt

.PHONY: bench-save
bench-save: ## keep what make bench and make bench-e2e measured, and write docs/performance.md and its plot from it
	@if [ -f bin/bench.txt ]; then grep -E '^(goos|goarch|pkg|cpu|Benchmark)' bin/bench.txt > docs/bench/engine.txt; fi
	@if [ -f bin/bench-e2e.txt ]; then cp bin/bench-e2e.txt docs/bench/cluster.txt; fi
	go run ./test/bench/report

.PHONY: bench-smoke
bench-smoke: build ## run each benchmark once, small, to see that it works
	go test -run '^$$' -bench . -benchtime 1x ./pkg/...
	go run ./test/bench --smoke --muster bin/muster

.PHONY: fuzz
fuzz: ## run each fuzz test for FUZZTIME=30s, and the properties on many more worlds
	@for pkg in $$(go list ./apis/... ./integrations/... ./pkg/...); do \
	for name in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) $$pkg; done; done
	go test -count 1 ./pkg/scheduler/engine -rapid.checks=10000

.PHONY: deflake
deflake: ## run tests many times in random order: PKG=./pkg/... TIMES=20
	go test -count $(TIMES) -shuffle on -failfast $(PKG)

.PHONY: demo
demo: build ## watch a PyTorchJob be scheduled on a real control plane; DEMO_FLAGS=--keep leaves it up
	go run ./test/demo --muster bin/muster $(DEMO_FLAGS)

.PHONY: up
up: build ## bring a cluster with Muster up and leave it: NAME=muster NODES=20 GPUS=8 OPERATORS=training,mpi CONF=volcano-scheduler.conf
	go run $(CLUSTER) up --name $(NAME) --muster bin/muster --nodes $(NODES) --gpus $(GPUS) --operators $(OPERATORS) --scheduler-conf '$(CONF)'

.PHONY: down
down: ## take that cluster down: NAME=muster
	go run $(CLUSTER) down --name $(NAME)

.PHONY: clean
clean: ## remove what was built in this tree; control planes stay in the user's cache
	rm -rf bin
