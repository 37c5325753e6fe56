# package.json pins Bun. You need only Node with npm (or any Bun), make and git.
BUN_VERSION := $(shell sed -n 's/.*"bun": "\(.*\)".*/\1/p' package.json)
BUN := node_modules/.bin/bun
BINARY := dist/bookreel
DATA ?= bookreel-data
HOST ?= 127.0.0.1
PORT ?= 8080
TEST_TIMEOUT_MS := 120000
# The option replaces the patterns in bunfig.toml.
TEST := $(BUN) test --timeout $(TEST_TIMEOUT_MS) --path-ignore-patterns
CAMPAIGNS := '**/*.campaign.test.ts'
LONG_AND_CAMPAIGNS := '**/*.{long,campaign}.test.ts'
# Each worker loads the modules once, and not again for each file, which takes a tenth of a run.
WORKERS := --parallel=4 --no-isolate
# Times of each file: a run begins with the slowest. Those in test/timings.json are for a first run.
TIMINGS := --timings dist/test-timings.json --timings test/timings.json --update-timings

# The time of the last commit, for builds that can be repeated: the executable refuses to serve at an earlier one.
export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null)

# --minify-identifiers would disable the router's own checks. The executable must not read .env or bunfig.toml of its directory.
# --splitting: modules of `await import()` are loaded when they are needed, not at every start.
BUILD_FLAGS := --compile --bytecode --splitting --format=esm --minify-whitespace --minify-syntax --no-compile-autoload-dotenv --no-compile-autoload-bunfig --define SOURCE_DATE_EPOCH=$(or $(SOURCE_DATE_EPOCH),0)

# src/package and the picture of the README are not in the executable.
SOURCES := LICENSE $(shell find src fixtures licenses -path src/package -prune -o -type f ! -name heat-map.svg -print 2>/dev/null)

.DEFAULT_GOAL := help
.PHONY: help install build run record sign-in pay token test long check format decisions picture fixtures examples sdk types notebook bench compare judge campaign recorder-campaign processes-campaign contract deb release operator fault soak pace backtest-pace paint screenshots crash cluster cluster-campaign clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 18

node_modules/.installed: package.json bun.lock bunfig.toml $(wildcard .patches/*)
	@if [ -x $(BUN) ]; then $(BUN) install --frozen-lockfile; \
	elif command -v bun >/dev/null 2>&1; then bun install --frozen-lockfile; \
	else npx --yes bun@$(BUN_VERSION) install --frozen-lockfile; fi
	@touch $@

install: node_modules/.installed ## install the pinned dependencies, including Bun

$(BINARY): node_modules/.installed $(SOURCES) package.json tsconfig.json
	$(BUN) build $(BUILD_FLAGS) src/main.ts --outfile $@

JUDGE_PACKAGES := test/judges/node_modules/.installed

$(JUDGE_PACKAGES): node_modules/.installed test/judges/package.json test/judges/bun.lock
	cd test/judges && $(abspath $(BUN)) install --frozen-lockfile
	@touch $@

VENUE_CLIENT := test/venue-client/node_modules/.installed

$(VENUE_CLIENT): node_modules/.installed test/venue-client/package.json test/venue-client/bun.lock
	cd test/venue-client && $(abspath $(BUN)) install --frozen-lockfile
	@touch $@

TARDIS_CLIENT := test/tardis-client/node_modules/.installed

$(TARDIS_CLIENT): node_modules/.installed test/tardis-client/package.json test/tardis-client/bun.lock
	cd test/tardis-client && $(abspath $(BUN)) install --frozen-lockfile
	@touch $@

SDK_GENERATOR := test/sdk/generator/node_modules/.installed

$(SDK_GENERATOR): node_modules/.installed test/sdk/generator/package.json test/sdk/generator/bun.lock
	cd test/sdk/generator && $(abspath $(BUN)) install --frozen-lockfile
	@touch $@

INSPECTOR := test/inspector/node_modules/.installed

$(INSPECTOR): node_modules/.installed test/inspector/package.json test/inspector/bun.lock
	cd test/inspector && $(abspath $(BUN)) install --frozen-lockfile
	@touch $@

build: $(BINARY) ## compile the executable dist/bookreel

run: build ## build, import the simulated recordings, serve on 127.0.0.1:8080, and print a request
	@exec $(BINARY) serve --demo --data $(DATA) --host $(HOST) --port $(PORT)

record: build ## record from a venue of this machine that misbehaves, and show sockets, windows, gaps and lag each second
	@$(BUN) test/recorder/shown.ts

sign-in: build ## the same, with a mail server and an OpenID provider of this machine to try sign-in with
	@$(BUN) test/web/try-sign-in.ts $(DATA) $(PORT)

pay: build ## start a network of this machine, and buy a tier on it with @x402/fetch
	@$(BUN) test/billing/try-payments.ts

token: install ## compile the token of the tests again
	$(BUN) test/billing/token/compile.ts

# Most tests run their code for a moment: they need neither JavaScriptCore's last compiler nor memory that is given back at once. Without them
# slow files took 8 to 16 % less processor time (in turns, 2026-11-27). The executable runs without these variables, see test/support/child.ts.
test long: export BUN_JSC_useFTLJIT := 0
test long: export MIMALLOC_PURGE_DELAY := 3000
test long: build $(VENUE_CLIENT) $(TARDIS_CLIENT) $(SDK_GENERATOR)
test: ## run the tests, quick and slow; TESTS=cli/export runs those of that path, long ones too
	$(TEST) $(if $(TESTS),$(CAMPAIGNS),$(LONG_AND_CAMPAIGNS)) $(WORKERS) $(if $(TESTS),,$(TIMINGS)) $(TESTS)

long: ## run the tests that take longer: other programs, browsers, whole recordings, every command
	$(TEST) '' $(WORKERS) $(TIMINGS) long.test

campaign: build $(INSPECTOR) ## run the tests that take minutes: crashes, faults, proxies, bad requests; TESTS=… selects some, CAMPAIGN=full has the full sizes
	$(TEST) '' --parallel=3 $(if $(TESTS),,$(TIMINGS)) $(or $(TESTS),campaign.test)

check: install $(JUDGE_PACKAGES) ## check format, lint, imports, types, dead code, decisions, and the API documents with Redocly and Spectral
	$(BUN) run check
	$(BUN) test/decisions.ts --check
	$(BUN) test --only-failures test/imports.test.ts
	$(BUN) src/main.ts openapi >test/judges/node_modules/openapi.json
	$(BUN) src/main.ts openapi --replay >test/judges/node_modules/openapi-replay.json
	cd test/judges && REDOCLY_TELEMETRY=off $(abspath $(BUN)) node_modules/.bin/redocly lint --config redocly.yaml node_modules/openapi.json node_modules/openapi-replay.json
	cd test/judges && $(abspath $(BUN)) node_modules/.bin/spectral lint --ruleset spectral.yaml --fail-severity hint node_modules/openapi.json node_modules/openapi-replay.json

format: install ## format the files and apply safe fixes
	$(BUN) run format

decisions: install ## write test/contract/DECISIONS.md from the titles of the tests
	$(BUN) test/decisions.ts

PICTURED := simulated-btc-updown-5m-1767868200
picture: build ## draw the README's picture again
	rm -rf dist/picture
	$(BINARY) seed --data dist/picture
	$(BINARY) plot $(PICTURED) -o fixtures/heat-map.svg --force --data dist/picture
	chmod 644 fixtures/heat-map.svg

fixtures: install ## generate the simulated recordings again
	$(BUN) fixtures/simulate.ts

examples: install ## record the example responses of the API document again
	$(BUN) test/http/record-examples.ts
	$(BUN) node_modules/.bin/biome format --write src/http/openapi/examples.json

sdk: install ## write the packages of the clients into dist/sdk
	$(BUN) src/sdk/build.ts dist/sdk

types: install $(SDK_GENERATOR) ## generate the types of both clients, and the methods of the one for Python, again
	$(BUN) test/sdk/generated-types.ts
	$(BUN) test/sdk/write-python.ts

notebook: build ## run the notebook of the manual again; needs python3 with httpx, pandas and matplotlib
	$(BUN) test/sdk/notebook.ts

bench: build ## compare with nginx, Fastify with better-sqlite3 (and the build BEFORE=path), and write test/bench/RESULTS.md
	$(BUN) test/bench/run.ts $(if $(BEFORE),--before $(BEFORE))

compare: build ## measure the build BEFORE=path and this one alternately, and print the differences
	$(BUN) test/bench/compare.ts $(BEFORE)

judge: build $(JUDGE_PACKAGES) ## test the executable with Specmatic, Prism, Postfix, properties and REQUESTS=100000 bad requests; SEED=… repeats a run
	$(BUN) test/judges/run.ts

contract: export CONTRACT_URL := $(value URL)
contract: export CONTRACT_ADMIN := $(value ADMIN)
contract: build ## run the contract suite, on the service at URL=http… if given; see test/README.md
	$(TEST) $(if $(URL),'' test/contract/deployment.,$(CAMPAIGNS) test/contract)

fault: build ## run the executable without files, disk, database or correct time, and write test/fault/RESULTS.md
	$(BUN) test/fault/run.ts

recorder-campaign: export RECORDER_RESULTS := 1
recorder-campaign: export RECORDER_KILLS ?= 200
recorder-campaign: export RECORDER_HOURS ?= 12
recorder-campaign: export RECORDER_DAYS ?= 7
recorder-campaign: export RECORDER_LOAD_SECONDS ?= 600
recorder-campaign: export RECORDER_BURST_SECONDS ?= 20
recorder-campaign: export RECORDER_SERVING_SECONDS ?= 20
recorder-campaign: export RECORDER_SEEDS ?= 10
recorder-campaign: build ## kill, load and simulate the recorder for an hour, and write test/recorder/RESULTS.md
	$(TEST) '' --parallel=1 test/recorder/recorder- test/recorder/simulated-hours test/recorder/serving \
		test/recorder/capture test/recorder/stored-in-steps

MINUTES ?= 20
PROCESSES ?= 1
soak: build ## load the executable, with PROCESSES=1, for MINUTES=20, half of them with attackers, and write test/soak/RESULTS.md
	SOAK_MINUTES=$(MINUTES) SOAK_PROCESSES=$(PROCESSES) $(BUN) test/soak/run.ts

backtest-pace: build ## measure the speed of backtests, and write test/bench/backtest/RESULTS.md
	$(BUN) test/bench/backtest/run.ts

pace: build ## measure the speed and timing of a replay, and write test/bench/replay/RESULTS.md
	$(BUN) test/bench/replay/run.ts

paint: build $(JUDGE_PACKAGES) ## measure how fast Chromium shows the pages of usage and the viewer, and write test/browser/RESULTS.md
	$(BUN) test/browser/paint.ts

screenshots: build $(JUDGE_PACKAGES) ## take pictures of every page in Chromium into dist/screenshots, and those of the manual into src/manual
	$(BUN) test/browser/screenshots.ts

crash: build ## kill 1,000 imports (CRASH_KILLS) and 1,000 deletions (CRASH_DELETIONS) at random moments, and write test/crash/*.md
	$(BUN) test/crash/run.ts
	$(BUN) test/crash/run-deletions.ts

cluster: build ## start Ceph, Redis, home, three nodes and a proxy on this machine, and show what each does; needs Debian's packages
	@$(BUN) test/cluster/shown.ts

cluster-campaign: export CLUSTER_RESULTS := 1
cluster-campaign: export CAMPAIGN := full
cluster-campaign: export CLUSTER_QUESTIONS ?= 10000
cluster-campaign: export CLUSTER_REVOCATIONS ?= 200
cluster-campaign: export CLUSTER_MARKETS ?= 1000000
cluster-campaign: build ## kill, stop and compare three nodes and all that they need, and write test/cluster/RESULTS.md
	$(TEST) '' --parallel=1 test/cluster published-million

processes-campaign: export PROCESSES_RESULTS := 1
processes-campaign: export PROCESSES_RENEWALS ?= 20
processes-campaign: export PROCESSES_KILLS ?= 20
processes-campaign: export PROCESSES_STOPS ?= 20
processes-campaign: export PROCESSES_REVOCATIONS ?= 200
processes-campaign: export PROCESSES_KILLED_LIMITS ?= 3
processes-campaign: export PROCESSES_LOADED_MS ?= 20000
processes-campaign: build ## kill and stop servers of several processes, renew their certificates, and write test/cli/RESULTS.md
	$(TEST) '' --parallel=1 test/cli/processes.campaign

deb: build ## write the Debian package into dist
	src/package/deb.sh $(BINARY) $$(dpkg --print-architecture) dist

RUNTIMES := src/package/runtimes/node_modules/.installed

# For all processors, whatever this machine has.
$(RUNTIMES): node_modules/.installed src/package/runtimes/package.json src/package/runtimes/bun.lock
	cd src/package/runtimes && $(abspath $(BUN)) install --frozen-lockfile --cpu '*' --os linux
	@touch $@

release: install $(RUNTIMES) ## write all packages and their SHA-256 into dist/release
	src/package/release.sh dist/release $(BUILD_FLAGS)

operator: build ## a day of an operator: install, configure, serve, upgrade, back up, restore and remove the package; needs Debian and root
	$(BUN) test/package/operator.ts

clean: ## remove everything that was built or installed
	rm -rf dist node_modules test/bench/contenders/node_modules test/judges/node_modules test/venue-client/node_modules test/tardis-client/node_modules test/sdk/generator/node_modules src/package/runtimes/node_modules
