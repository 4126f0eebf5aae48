# make            builds bin/tape and bin/tape-host
# make help       lists the targets
#
# Needs Go, git and make, and a C compiler only for the race detector. Everything
# else comes through Go's module system.

GO      ?= go
BIN     := bin/tape
# tape starts tape-host for what keeps running. It looks for it in its own folder.
MAINS   := ./cmd/tape ./cmd/tape-host

# The linter runs as a program of its own, so its dependencies stay out of go.mod.
GOLANGCI_VERSION := v2.15.0
GOLANGCI := $(GO) run -ldflags='-s -w' github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT  := $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
LDFLAGS := -s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)
# LDFLAGS set the version. Go's own stamp fails in a checkout that belongs to another user.
BUILD   := CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)'

# Without the path of the checkout, compiled packages can be reused in another clone. Without
# data for debuggers, which no program gets, compiling takes less time.
export GOFLAGS := $(shell $(GO) env GOFLAGS) -trimpath -gcflags=all=-dwarf=false

# PLATFORMS are those of release. CROSS is the one that check vets and compiles: the
# one that differs most. It is only one, because each needs a build of everything.
PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
CROSS     ?= windows/amd64
# These programs are never run, so they need not be optimized.
QUICK     := '-gcflags=all=-N -l'

# The tag of the tests that test would only skip: they need a browser, coding agents or much time,
# and have targets of their own. Lint has the tag from .golangci.yml.
EXTRA := -tags extra

TEST_TIMEOUT ?= 30m
# The packages whose tests run with the race detector: those with a test file that
# has a line beginning with //tape:race.
RACING       = $(sort $(dir $(shell grep -rl --include='*_test.go' '^//tape:race' cmd hooks index internal merge repo)))
TESTFLAGS    ?=
FUZZTIME     ?= 30s
SOAKTIME     ?= 1m
CUTS         ?= 500

# These programs run for seconds only, so less garbage collection saves time and costs
# little memory. soak and bench run with the default.
test check race fmt-check vet lint cross fuzz-check test-web test-proxy test-team: export GOGC := 400

# Tests write and sync many small files, which takes a third of the time in memory. So they get a folder there, if it has
# room and programs can be started from it, unless TMPDIR names another one.
MEMORY := $(shell d=/dev/shm; [ -z "$$TMPDIR" ] && [ -w $$d ] && [ "$$(df -Pk $$d | awk 'NR == 2 {print $$4}')" -gt 4000000 ] \
	&& f=$$(mktemp $$d/tape-XXXXXX) && { chmod 700 $$f && $$f && echo $$d; rm -f $$f; } 2>/dev/null)
ifneq ($(MEMORY),)
test race fuzz-check test-web test-proxy test-team: export TMPDIR := $(MEMORY)
endif

# As build does, so that what they need is compiled once. The race detector needs cgo.
test vet lint fuzz-check docs docs-check test-web test-proxy test-team: export CGO_ENABLED := 0

# The race detector is off for these packages, where it would be slow and find nothing:
# SQLite, translated from C, has its data outside Go's heap, and the codecs share nothing.
UNWATCHED := $(foreach p,modernc.org/sqlite/lib modernc.org/libc modernc.org/libc/... \
	github.com/klauspost/compress/flate github.com/klauspost/compress/zlib \
	compress/flate compress/zlib hash/adler32 hash/crc32,-gcflags='$p=-race=false')

# Evaluated once, so that the printed seed is the one that the tests used.
ifndef SEED
SEED := $(shell date +%s)
endif

# -race, if Go uses cgo and the C compiler works.
RACE = $(shell [ "$$($(GO) env CGO_ENABLED)" = 1 ] && d=$$(mktemp -d) \
	&& { printf 'int main(void){return 0;}\n' >"$$d/a.c" \
	&& $$($(GO) env CC) -o "$$d/a" "$$d/a.c" >/dev/null 2>&1 && printf %s -race; rm -rf "$$d"; })

.DEFAULT_GOAL := build

.PHONY: build
build: ## build bin/tape and bin/tape-host (static, trimmed, version stamped)
	@mkdir -p bin
	$(BUILD) -o bin/ $(MAINS)

# test -------------------------------------------------------------------------

.PHONY: test
test: ## all tests: of the packages, of the programs as scripts
	$(GO) test -vet=off -timeout $(TEST_TIMEOUT) $(TESTFLAGS) ./...

# Every step runs, even if an earlier one failed. Lint runs at the same time as the others,
# because on a fresh machine it has to be built first. It includes vet.
.PHONY: check
check: ## what is not a test of its own: gofmt, lint (and vet), race detector, cross-compilation, docs, short fuzz
	@log=$$(mktemp); failed=; \
	trap 'kill $$lint 2>/dev/null; rm -f "$$log"' EXIT; trap 'exit 130' INT TERM; \
	$(MAKE) --no-print-directory lint >"$$log" 2>&1 & lint=$$!; \
	for step in fmt-check cross docs-check fuzz-check race; do \
		$(MAKE) --no-print-directory $$step || failed="$$failed $$step"; \
	done; \
	wait $$lint || failed="$$failed lint"; lint=; cat "$$log"; \
	if [ -n "$$failed" ]; then echo "make check: failed:$$failed" >&2; exit 1; fi

.PHONY: race
race: ## the tests of the packages that ask for the race detector
	@race='$(RACE)'; [ -n "$$race" ] || { echo '== race: left out, for there is no working C compiler'; exit 0; }; \
	echo '== race'; $(GO) test $$race $(UNWATCHED) -vet=off -timeout 40m $(TESTFLAGS) $(addprefix ./,$(RACING))

.PHONY: fmt-check
fmt-check: ## fail when gofmt -s would change a file
	@echo '== gofmt'; \
	bad=$$(find . -name '*.go' -not -path './.git/*' -not -path '*/testdata/*' -exec "$$($(GO) env GOROOT)/bin/gofmt" -s -l {} +); status=$$?; \
	[ -z "$$bad" ] || { echo "not formatted (gofmt -s -w):"; echo "$$bad"; exit 1; }; exit $$status

.PHONY: vet
vet: ## go vet
	@echo '== vet'; $(GO) vet $(EXTRA) ./...

.PHONY: lint
lint: ## golangci-lint, pinned, built by go run
	@echo '== lint'; $(GOLANGCI) run ./...

.PHONY: cross
cross: ## vet and compile for the platforms in CROSS
	@for p in $(CROSS); do \
		echo "== cross $$p"; export GOOS=$${p%/*} GOARCH=$${p#*/} CGO_ENABLED=0; \
		$(GO) vet $(QUICK) $(EXTRA) ./... && $(GO) build $(QUICK) -buildvcs=false -o /dev/null $(MAINS) || exit 1; \
	done

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (default 30s)
	@dirs=$$(grep -rl --include='*_test.go' '^func Fuzz' . | sed 's|/[^/]*$$||' | sort -u); \
	[ -n "$$dirs" ] || { echo '== fuzz: no targets'; exit 0; }; \
	list=$$($(GO) test -list '^Fuzz' $$dirs) || { echo "$$list"; exit 1; }; \
	targets=$$(echo "$$list" | awk '/^Fuzz/ {n[++k] = $$1} /^ok/ {for (i = 1; i <= k; i++) print $$2 ":" n[i]; k = 0}'); \
	status=0; for t in $$targets; do \
		echo "== fuzz $$t ($(FUZZTIME))"; \
		fuzz="$(GO) test -run ^$$ -fuzz ^$${t#*:}$$ -fuzztime $(FUZZTIME) $${t%:*}"; \
		$$fuzz || { echo "== once more: a busy machine may run out of time, an input that fails is kept and fails again"; $$fuzz; } || status=1; \
	done; exit $$status

# Built without coverage, which would need everything to be compiled again. It guides long
# runs, and is of no use in short ones.
.PHONY: fuzz-check
fuzz-check: ## run every fuzz target with a few inputs
	@echo '== fuzz, a few inputs'; tmp=$$(mktemp -d); trap 'rm -rf "$$tmp"' EXIT; status=0; \
	for dir in $$(grep -rl --include='*_test.go' '^func Fuzz' . | sed 's|/[^/]*$$||' | sort -u); do \
		$(GO) test -vet=off -c -o "$$tmp/fuzz.test" "$$dir" || { status=1; continue; }; \
		for t in $$(cd "$$dir" && "$$tmp/fuzz.test" -test.list '^Fuzz'); do \
			(cd "$$dir" && "$$tmp/fuzz.test" -test.run '^$$' -test.fuzz "^$$t$$" -test.fuzztime 200x \
				-test.fuzzcachedir "$$tmp/corpus") >"$$tmp/log" 2>&1 || { echo "$$dir $$t"; cat "$$tmp/log"; status=1; }; \
		done; \
	done; exit $$status

.PHONY: soak
soak: ## the long runs: faults, simulations, power cuts, fuzz for SOAKTIME; SEED=n repeats one
	@echo "== soak, SEED=$(SEED)"; status=0; export TAPE_SOAK=1 TAPE_SEED=$(SEED); \
	$(GO) test -vet=off -count=1 -run Soak -timeout 2h $(TESTFLAGS) ./... || status=1; \
	$(GO) test $(RACE) $(if $(RACE),$(UNWATCHED)) -vet=off -count=1 -run Soak -timeout 4h $(TESTFLAGS) $(addprefix ./,$(RACING)) || status=1; \
	$(MAKE) --no-print-directory fuzz FUZZTIME=$(SOAKTIME) || status=1; \
	echo "== soak done, SEED=$(SEED)"; exit $$status

# Not part of soak, because it mounts a file system, which needs root.
# TESTFLAGS='-run TestPower/0123' repeats one cut of a SEED.
.PHONY: soak-power
soak-power: ## CUTS power cuts (default 500) under all commands that write; needs Linux and root; SEED=n repeats them
	@echo "== soak-power, SEED=$(SEED)"; status=0; \
	TAPE_SOAK_POWER=$(CUTS) TAPE_SEED=$(SEED) $(GO) test $(EXTRA) -count=1 -v -run '^TestPower$$' -timeout 2h $(TESTFLAGS) ./internal/testkit/power || status=1; \
	echo "== soak-power done, SEED=$(SEED)"; exit $$status

# The following are not part of test, because they need more than Go and git.
.PHONY: test-sdk
test-sdk: build ## what tape context writes against the providers' own types (needs node and npm)
	@sh cmd/internal/sdktest/test.sh $(BIN) $(wildcard ../shared/fixtures/*/*.jsonl)

.PHONY: test-mcp
test-mcp: build ## tape mcp called by the TypeScript client and the inspector (needs node and npm)
	@sh cmd/internal/mcptest/test.sh $(BIN)

.PHONY: test-host
test-host: build ## tape serve, played by a client that knows only its OpenAPI document (needs python3)
	@sh cmd/internal/hosttest/test.sh $(BIN)

# It needs Python's dulwich, or Node and a network, or better both.
.PHONY: test-judges
test-judges: build ## whether dulwich and isomorphic-git read in a workspace what git and tape do
	@sh cmd/internal/judgetest/test.sh $(BIN)

# It installs the agents that it records, and takes long.
.PHONY: test-agents
test-agents: build ## sessions of the real agents, recorded and compared (needs node, npm; TESTFLAGS=-test.run=Agents/codex)
	@sh cmd/internal/agentstest/test.sh $(BIN) $(TESTFLAGS)

# It needs Chromium. axe-core comes from npm; without npm, its checks are left out.
.PHONY: test-web
test-web: ## the web view in a real Chromium (TESTFLAGS='-run TestFollow -v')
	@GO='$(GO)' sh internal/serve/web/test.sh $(TESTFLAGS)

.PHONY: test-proxy
test-proxy: ## tape serve behind proxies, also a real nginx where it is installed
	$(GO) test -vet=off -count=1 -run TestBehindProxy $(TESTFLAGS) ./cmd/internal/hostcli

# It starts a PostgreSQL of its own, which has to be installed.
.PHONY: test-team
test-team: ## the team's server with PostgreSQL (TESTFLAGS='-run TestAgree -v')
	@sh internal/serve/team/postgres.sh sh -c '$(GO) test -vet=off -count=1 -timeout 20m $(TESTFLAGS) ./internal/serve/team/... && \
		$(GO) test -vet=off -count=1 -run TestTeam $(TESTFLAGS) ./cmd/internal/hostcli'

# At 2 million entries it takes about twenty minutes. ENTRIES='200000' is quicker.
.PHONY: bench-team
bench-team: ## the team's server beside ILIKE with trigrams and ts_rank (needs PostgreSQL; ENTRIES='200000 2000000')
	@PG_BUFFERS=1GB sh internal/serve/team/postgres.sh env TAPE_BENCH_TEAM='$(or $(ENTRIES),200000 2000000)' \
		$(GO) test $(EXTRA) -vet=off -count=1 -timeout 2h -v $(TESTFLAGS) ./internal/serve/team/bench

# The questions are about the transcripts that the project is tested with, which are not part of it.
.PHONY: bench-mcp
bench-mcp: build ## calls and tokens until an agent finds an entry by MCP (TRANSCRIPTS=DIR, transcripts of real sessions)
	TAPE_BENCH_MCP='$(CURDIR)/$(BIN)' TRANSCRIPTS='$(abspath $(TRANSCRIPTS))' \
		$(GO) test $(EXTRA) -vet=off -count=1 -v $(TESTFLAGS) ./internal/serve/mcpserver/bench

# The sessions and questions are in index/testdata/recall.txt. The test itself is a part of make test.
.PHONY: bench-recall
bench-recall: ## the place of the right session for each question of index/testdata/recall.txt
	@$(GO) test -vet=off -count=1 -v -run '^TestRecall$$' $(TESTFLAGS) ./index

.PHONY: pictures
pictures: build ## the pictures of docs/web.md, from the session of the demo (needs Chromium)
	@TAPE_PICTURES='$(CURDIR)/docs' TAPE_PICTURES_TAPE='$(CURDIR)/$(BIN)' TAPE_TEST_AXE=none GO='$(GO)' sh internal/serve/web/test.sh -vet=off -run TestPictures

# The script calls the program bench, so that is built into PATH. bench.sh explains the
# variables ENTRIES, TAPES, RUNS, ONLY and DIR.
.PHONY: bench bench-host
bench: build ## Go benchmarks, then whole processes beside what users would use instead
	$(GO) test -run '^$$' -bench . -benchmem $(TESTFLAGS) ./...
	$(GO) build -o bin/ ./cmd/internal/bench
	PATH="$(CURDIR)/bin:$$PATH" sh cmd/internal/bench/bench.sh $(BIN)

# Not part of bench, because it needs PostgreSQL.
bench-host: build ## tape serve beside PostgreSQL (needs postgresql)
	$(GO) build -o bin/ ./cmd/internal/bench
	PATH="$(CURDIR)/bin:$$PATH" GO='$(GO)' sh cmd/internal/bench/host.sh $(BIN)

# docs -------------------------------------------------------------------------

.PHONY: docs
docs: ## write docs/man, docs/completions and docs/cli.md from the commands
	@rm -rf docs/man docs/completions
	$(GO) run ./cmd/internal/generate docs

# MODELS_DEV is a checkout of github.com/anomalyco/models.dev, LITELLM one of a repository with LiteLLM's list of prices.
.PHONY: prices
prices: ## write the table of prices from public lists: make prices MODELS_DEV=DIR LITELLM=DIR
	@of() { git -C "$$1" log -1 --format='%h of %cs'; }; table=internal/store/prices/table.txt; \
	$(GO) run ./cmd/internal/generate prices -models-dev "$(MODELS_DEV)" -models-dev-source "$$(of "$(MODELS_DEV)")" \
	-litellm "$(LITELLM)/model_prices_and_context_window.json" -litellm-source "$$(of "$(LITELLM)")" >$$table.new && mv $$table.new $$table

.PHONY: docs-check
docs-check: ## fail when the generated docs are stale
	@echo '== docs'; tmp=$$(mktemp -d); trap 'rm -rf "$$tmp"' EXIT; \
	$(GO) run ./cmd/internal/generate docs "$$tmp" || exit 1; \
	for f in man completions cli.md; do \
		diff -r -u "docs/$$f" "$$tmp/$$f" || { echo "docs/$$f is stale: run make docs" >&2; exit 1; }; \
	done

# demo, install, release -------------------------------------------------------

# The folder is in bin, which git ignores.
DEMO := $(CURDIR)/bin/demo

# Less garbage collection saves seconds. Within the limit it needs no more memory than without:
# compiling SQLite takes 0.7 GB in any case.
.PHONY: demo demo-web demo-clean
demo: demo-clean ## import a session, search, hand off, fork, merge; FILE=… takes your own transcript
	@mkdir -p bin
	GOGC=400 GOMEMLIMIT=700MiB $(BUILD) -o bin/ ./cmd/tape
	@TAPE_DEMO_DIR='$(DEMO)' sh cmd/tape/testdata/demo/demo.sh $(BIN) $(if $(FILE),"$(FILE)")

demo-web: build ## the sessions of make demo in the browser
	@[ -e '$(DEMO)/home' ] || $(MAKE) --no-print-directory demo FILE='$(FILE)'
	cd '$(DEMO)/teashop' && TAPE_HOME='$(DEMO)/home' '$(CURDIR)/$(BIN)' serve --open

demo-clean: ## remove what make demo has made
	@rm -rf '$(DEMO)'

# With PREFIX, it installs programs, man pages and completions there (below DESTDIR, if set).
# Without, it installs the programs alone, where go install would.
.PHONY: install
install: build ## install to PREFIX, or without it where go install does
ifdef PREFIX
	install -d "$(DESTDIR)$(PREFIX)/bin" "$(DESTDIR)$(PREFIX)/share/man/man1" \
		"$(DESTDIR)$(PREFIX)/share/bash-completion/completions" \
		"$(DESTDIR)$(PREFIX)/share/zsh/site-functions" \
		"$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d"
	install -m 755 $(BIN) $(BIN)-host "$(DESTDIR)$(PREFIX)/bin/"
	install -m 644 docs/man/*.1 "$(DESTDIR)$(PREFIX)/share/man/man1/"
	install -m 644 docs/completions/tape.bash "$(DESTDIR)$(PREFIX)/share/bash-completion/completions/tape"
	install -m 644 docs/completions/_tape "$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_tape"
	install -m 644 docs/completions/tape.fish "$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/tape.fish"
else
	@dir=$$($(GO) env GOBIN); [ -n "$$dir" ] || dir=$$($(GO) env GOPATH | cut -d: -f1)/bin; \
	exe=$$($(GO) env GOEXE); \
	mkdir -p "$$dir" && cp $(BIN)$$exe $(BIN)-host$$exe "$$dir/" && echo "installed $$dir/tape and tape-host"
endif

# The same commit gives the same bytes: dates are the commit's, names are sorted, and nothing is
# stamped. It needs zip, and tar and touch of GNU. CGO_ENABLED=0 and -trimpath are in BUILD.
NFPM   := $(GO) run github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.2
EPOCH   = $(shell git log -1 --format=%ct)
DATE    = $(shell TZ=UTC git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd)
TARGZ   = tar --sort=name --owner=0 --group=0 --numeric-owner -c
ZIP     = LC_ALL=C sort | TZ=UTC zip -qX9@

.PHONY: release
release: ## dist/: archives, .deb and .rpm packages, what is in them (SPDX), and SHA256SUMS
	@echo '$(VERSION)' | grep -Eqx 'v[0-9]+\.[0-9]+\.[0-9]+' || \
		{ echo 'make release: $(VERSION) is not a release: tag a commit vX.Y.Z, with nothing changed; VERSION=v0.0.1 tries it' >&2; exit 1; }
	@rm -rf dist && mkdir -p dist && umask 022 && $(GO) build -o dist/generate ./cmd/internal/generate
	@for p in $(PLATFORMS); do \
		os=$${p%/*}; arch=$${p#*/}; name=tape-$(VERSION)-$$os-$$arch; dir=dist/$$name; echo "$$dir"; umask 022; \
		mkdir $$dir && cp LICENSE *.md $$dir/ && cp -R docs $$dir/ && mv $$dir/docs/man $$dir/docs/completions $$dir/ && \
		GOOS=$$os GOARCH=$$arch $(BUILD) -o $$dir/ $(MAINS) && \
		dist/generate sbom tape $(VERSION) $(DATE) $$dir/tape* >$$dir/sbom.spdx.json && \
		chmod -R u=rwX,go=rX $$dir && find $$dir -exec touch -d @$(EPOCH) {} + || exit 1; \
		if [ $$os = windows ]; then (cd dist && find $$name | $(ZIP) $$name.zip) || exit 1; \
		else $(TARGZ) -C dist $$name | gzip -9n >$$dir.tar.gz || exit 1; fi; \
		if [ $$os = linux ]; then \
			gzip -9n $$dir/man/*.1 || exit 1; \
			for kind in deb rpm; do \
				echo "$$dir.$$kind"; DIR=$$dir ARCH=$$arch VERSION=$(VERSION) SOURCE_DATE_EPOCH=$(EPOCH) \
					$(NFPM) package -f .nfpm/package.yaml -p $$kind -t $$dir.$$kind || exit 1; \
			done; \
		fi; rm -r $$dir; \
	done; rm dist/generate
	@cd dist && { command -v sha256sum >/dev/null && sha256sum tape-* || shasum -a 256 tape-*; } >SHA256SUMS && cat SHA256SUMS

.PHONY: clean
clean: ## remove what make wrote
	rm -rf bin dist

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' Makefile
