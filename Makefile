# Bun comes pinned from package.json: nothing but Node with npm (or any Bun), make and git is needed.
BUN_VERSION := $(shell sed -n 's/.*"bun": "\(.*\)".*/\1/p' package.json)
BUN := node_modules/.bin/bun
BINARY := dist/bookreel
DATA ?= bookreel-data
HOST ?= 127.0.0.1
PORT ?= 8080
TEST_TIMEOUT_MS := 120000

# --minify-identifiers would switch the router's own checks off; .env and bunfig.toml of a working directory are not ours.
BUILD_FLAGS := --compile --bytecode --format=esm --minify-whitespace --minify-syntax --no-compile-autoload-dotenv --no-compile-autoload-bunfig

SOURCES := $(shell find src fixtures -type f 2>/dev/null)

.DEFAULT_GOAL := help
.PHONY: help install build run test check format fixtures bench crash clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 18

node_modules/.installed: package.json bun.lock bunfig.toml $(wildcard .patches/*)
	@if [ -x $(BUN) ]; then $(BUN) install --frozen-lockfile; \
	elif command -v bun >/dev/null 2>&1; then bun install --frozen-lockfile; \
	else npx --yes bun@$(BUN_VERSION) install --frozen-lockfile; fi
	@touch $@

install: node_modules/.installed ## install the pinned dependencies, Bun among them

$(BINARY): node_modules/.installed $(SOURCES) package.json tsconfig.json
	$(BUN) build $(BUILD_FLAGS) src/main.ts --outfile $@

JUDGES := test/judges/node_modules/.installed

$(JUDGES): node_modules/.installed test/judges/package.json test/judges/bun.lock
	cd test/judges && $(abspath $(BUN)) install --frozen-lockfile
	@touch $@

build: $(BINARY) ## compile the executable to dist/bookreel

run: build ## seed the fixtures, serve on 127.0.0.1:8080, print a curl line that works
	@exec $(BINARY) serve --demo --data $(DATA) --host $(HOST) --port $(PORT)

test: build ## run every test, in process and against the executable
	$(BUN) test --timeout $(TEST_TIMEOUT_MS)

check: install ## check format, lint, layers, types and dead code
	$(BUN) run check

format: install ## format and fix what can be fixed
	$(BUN) run format

fixtures: install ## make the simulated recordings again
	$(BUN) fixtures/simulate.ts

bench: build ## measure beside nginx, Fastify, PostgreSQL and DuckDB, and write test/bench/RESULTS.md
	$(BUN) test/bench/run.ts

crash: build ## kill 1,000 imports at random moments (CRASH_KILLS), and write test/crash/RESULTS.md
	$(BUN) test/crash/run.ts

clean: ## remove what was built and installed
	rm -rf dist node_modules test/bench/contenders/node_modules test/judges/node_modules
