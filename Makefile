# make run    builds, and does the main job on a real repository: offline, no key
# make test   everything that CI checks; installs what the tests need into .cache
SHELL := /bin/bash
BIN := bin/agent-lsp
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo 0.1.0)
export CGO_ENABLED := 0

.PHONY: lint build run test test-env vet test-go test-race test-neovim test-vscode test-crash test-random pictures gen bench bench-classify bench-edits bench-retrieval bench-index bench-overhead clean help

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

build: ## build bin/agent-lsp, one static file
	@mkdir -p bin
	go build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o $(BIN) ./cmd/agent-lsp

run: build ## the main job, on a copy of Go's net/http
	@./bench/demo/run.sh $(abspath $(BIN))

test: test-env vet test-go test-race test-neovim test-vscode ## everything that CI checks

test-env: ## install llama-server, Neovim, VS Code, Chromium and tmux for the tests, by package name
	@./internal/testenv/install-all.sh

vet:
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo "not gofmt-ed:"; gofmt -l $$(git ls-files '*.go'); exit 1; }
	go vet ./...

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
lint: vet ## what reviewers would say
	go run $(STATICCHECK) ./...

# The packages of edits run apart, so that their seeds and steps are printed. In make test the seed
# is the commit's: every commit looks elsewhere, and one commit has one verdict.
RANDOM_TESTED := ./cycle/review ./agent/edits
COMMIT_SEED := $(shell printf '%d' 0x$$(git rev-parse --short=12 HEAD 2>/dev/null || echo 1))
test test-go test-race: export RANDOM_SEED ?= $(COMMIT_SEED)
test-go: build ## all Go tests
	go test $$(go list ./... | grep -v -E '/(cycle/review|agent/edits)$$')
	@$(MAKE) --no-print-directory test-random

test-random: ## the tests of edits: over 100,000 random steps with a seed of their own, printed; what they find is a bug to mend
	@set -o pipefail; go test $(RANDOM_TESTED) -count 1 -v | grep -v -E '^=== |^ *--- (PASS|SKIP)|\[rapid\]'

# The race detector needs cgo; it runs where goroutines are.
RACE := ./agent/... ./rpc/... ./tools/... ./internal/workspace ./internal/store ./rag
test-race: ## the concurrent packages under the race detector
	CGO_ENABLED=1 go test -race -short $(RACE)

test-neovim: build ## the plugin in the real editor
	./editors/neovim/tests/run.sh $(abspath $(BIN))

test-vscode: build ## the extension in the real workbench
	./editors/vscode/tests/run.sh $(abspath $(BIN))

test-crash: ## kill -9 at 240 random moments of random runs, and what is left each time
	go test ./cmd/agent-lsp -count=1 -run 'TestCrash$$' -v -timeout 30m -args -crash.kills 240

pictures: build ## the docs' pictures, from the real editor on a real screen
	./editors/neovim/tests/run.sh $(abspath $(BIN)) pictures

gen: ## generate the protocol's faces anew
	go generate ./rpc/...

bench: bench-index bench-start ## speed, as ratios measured side by side
	go test -run '^$$' -bench . -benchtime 200ms ./cycle ./contextplan

bench-start: build
	go run ./bench/start -bin $(abspath $(BIN))

bench-overhead: build ## what the agent adds to the model and the tools, beside the goals
	go run ./bench/start -bin $(abspath $(BIN)) -only overhead

bench-index: build
	go run ./bench/index

bench-classify: ## how well inputs are classified, and in how many microseconds
	go test ./agent -run TestClassifyAccuracy -v -bench Classify -benchtime 200ms

bench-edits: ## whether edits land where they were meant to, on real commits; EDITS_REPOS names folders of git repositories
	go run ./bench/edits

bench-retrieval: ## how well the search finds, against baselines; see bench/retrieval
	./bench/retrieval/run.sh

clean: ## remove what was built; .cache stays
	rm -rf bin dist
