# weft: make help
GO       ?= go
# Builds, tests and checks compile as go build ./... and go test do, and share their cache.
export CGO_ENABLED = 0
BUILD    := $(GO) build
# Plans carry the sums of agents, which must depend neither on the directory nor on the commit.
BUILDAGENT := $(BUILD) -trimpath -buildvcs=false
LDFLAGS  := -ldflags '-s -w'
HOST     := $(shell $(GO) env GOOS)-$(shell $(GO) env GOARCH)
PLATFORMS := $(sort linux-amd64 linux-arm64 windows-amd64 $(HOST))
AGENTS   := weft-target weft-initiator
BUNDLE   := internal/bundle/agents
# Windows hosts measure, and serve nothing.
PACKED   := $(foreach p,$(filter-out windows-amd64,$(PLATFORMS)),$(foreach a,$(AGENTS),$(BUNDLE)/$(p)/$(a).gz)) $(BUNDLE)/windows-amd64/weft-initiator.gz
SOURCES  := $(shell find cmd internal plan inventory modules switches examples -name '*.go' -not -name '*_test.go') go.mod go.sum
EXAMPLES := $(wildcard examples/*/*.weft.hcl examples/*/*.weftvars)
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
ACTIONLINT := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
# A package of npm that carries GitLab's own schema of .gitlab-ci.yml, and its SHA-256.
CI_LOCAL := gitlab-ci-local-4.65.1
CI_LOCAL_SUM := e6b1de5993ad55e68c59d3c1e4a35e99944f48e0712eddeab9b16abebf007f76

.PHONY: help build demo faults test fresh race kills lab nightly whole image bench peerbench labbench fuzz lint cross deps labdeps clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: bin/weft bin/weft-lab ## the agents, weft with the agents inside, and its simulated lab: bin/weft, bin/weft-lab

bin/weft: $(SOURCES) $(EXAMPLES) $(PACKED)
	$(BUILD) $(LDFLAGS) -o $@ ./cmd/weft

# weft starts it where it is beside weft. It carries no agents: weft sends them.
bin/weft-lab: $(SOURCES)
	$(BUILD) $(LDFLAGS) -o $@ ./cmd/weft-lab

# One agent for one platform, gzipped without a name or a time so that equal
# sources give equal bundles; and the SHA-256 of both, for which plans do not unpack
# it.
define agent
$(BUNDLE)/$(1)/$(2).gz: $(SOURCES)
	@mkdir -p $(BUNDLE)/$(1)
	GOOS=$(firstword $(subst -, ,$(1))) GOARCH=$(lastword $(subst -, ,$(1))) $(BUILDAGENT) $(LDFLAGS) -o $(BUNDLE)/$(1)/$(2) ./cmd/$(2)
	gzip -n -9 -c $(BUNDLE)/$(1)/$(2) >$$@.new
	for f in $(BUNDLE)/$(1)/$(2) $$@.new; do sha256sum $$$$f 2>/dev/null || shasum -a 256 $$$$f; done | cut -c 1-64 >$$@.sum
	rm $(BUNDLE)/$(1)/$(2) && mv $$@.new $$@
endef
$(foreach p,$(PLATFORMS),$(foreach a,$(AGENTS),$(eval $(call agent,$(p),$(a)))))

demo: build ## the whole job on the embedded, SIMULATED lab, in under a minute
	@examples/demo.sh bin/weft

# lint has vetted all, so go test need not.
test: build deps lint cross ## everything there is
	WEFT_LAB=later WEFT_LONG=1 $(GO) test -vet=off -p 3 -parallel 8 -timeout 30m ./...
	$(MAKE) race
	$(if $(or $(LAB_DEMANDED),$(if $(CI),,$(LAB_CAN))),$(MAKE) lab,@echo "guests with real kernels not run: make lab")

# Nothing is built before, and only what is committed is there.
fresh: ## the tests of a clone that nobody built, with Go alone
	@dir=$$(mktemp -d) && trap 'chmod -R u+w "$$dir"; rm -rf "$$dir"' EXIT && git clone -q . "$$dir/weft" && cd "$$dir/weft" && \
	  env -u WEFT_REQUIRE WEFT_LAB=later $(GO) test -p 3 -parallel 8 -timeout 30m ./...

faults: build ## plant PFC, policy, ECN and MTU faults at all places of a simulated fabric; WEFT_SEED repeats a run
	WEFT_FAULTS=all $(GO) test -count=1 -timeout 30m -v -run '^TestFaults$$' ./cmd/weft

# Guests want the machine for themselves, so they come last ("later" for the
# tests before) and one package at a time: Soft-iWARP does not stand more beside
# it. make test includes them where this machine can run them already; in CI only
# where WEFT_REQUIRE demands them.
LAB_DEMANDED = $(findstring lab,$(WEFT_REQUIRE))
LAB_CAN = $(shell test "$$(id -u)" = 0 && command -v qemu-system-x86_64 >/dev/null && command -v debootstrap >/dev/null && echo yes)
lab: labdeps ## weft against real kernels in guests: root, QEMU, Debian mirror
	$(MAKE) -j2 build image
	WEFT_LAB=1 $(GO) test -count=1 -p 1 -timeout 90m -v -run '^TestGuests$$|^TestReal$$' ./internal/lab/guest ./cmd/weft

# What is too long for each change. lab and fuzz take an hour or more, and a pipeline
# may give each a machine: make nightly NIGHTLY=lab.
NIGHTLY ?= lab whole fuzz
nightly: ## every script with real kernels, long tests whole, then every fuzz target
	$(MAKE) -j1 $(NIGHTLY)

whole: build ## the tests that make test shortens, or leaves out, because they take minutes
	WEFT_WHOLE=1 $(GO) test -count=1 -timeout 30m -run '^TestHostsLeaveInSilence$$' ./internal/nvme/target
	WEFT_WHOLE=1 $(GO) test -count=1 -timeout 60m -run '^TestScript$$/^(esxi_guard|discover_examples)$$' ./cmd/weft

# What guests boot from, which waits for a mirror while others compile.
image:
	WEFT_LAB=1 $(GO) test -count=1 -timeout 40m -v -run '^TestImage$$' ./internal/lab/guest

# Races are between goroutines. Packages that start none, nor do their tests, are not run
# again: internal/arch holds the list to that. What others run of them side by side is raced
# where it is: plan, internal/run, modules/leaf, modules/host, the scripts below.
NOT_RACED := cmd/weft-lab examples internal/agent internal/approve internal/arch internal/doctor internal/graph \
  internal/hint internal/latency internal/nvme/crc32c internal/nvme/names internal/nvme/psk \
  internal/nvme/wire internal/owned internal/report internal/require internal/review internal/selector internal/slice internal/sshsig internal/tally internal/text \
  internal/traffic internal/wait inventory inventory/problem inventory/rules modules/claim modules/esxi modules/linux modules/linux/nic \
  modules/linux/put modules/linux/see modules/linux/storage modules/linux/system modules/vcenter modules/windows/powershell \
  plan/rollout switches/systems
RACED = $(filter-out weft/cmd/weft $(addprefix weft/,$(NOT_RACED)),$(shell $(GO) list ./...))

# Scripts take many times as long with the race detector: those with the most
# that runs side by side. What bombs blow up, each hostile value, each odd line of a
# switch, and thousands of anything are computed by one goroutine; shells that take leases,
# Ansible, netmiko and OpenSSH are other people's processes; a transaction that is cut after
# each of its lines is the same one each time. Packages wait for most of their time: three at
# once keep two processors busy.
RACE_SCRIPTS := ^Test[^FSOR]|^TestScript$$/^(exec|facts|killed|prune|switch_killed|watch)$$
RACE_SKIPPED := ^(Test(Bombs|Alphabets|MutatedRecordings|Thousands|Depth|ManyInstances|ManyPairs|Ansible.*|Netmiko.*|Conformance(OpenSSH|Become|BusyBox)|LeaseHasOneHolder|LeaseIsWholeOrNone|(Switch|Length)CutAfterEachLine.*)|FuzzLine.*)$$

race: ## the tests again with the race detector (wants a C compiler)
	@if command -v gcc >/dev/null; then \
	  echo "go test -race"; export WEFT_LAB=later WEFT_LONG=1 CGO_ENABLED=1; \
	  $(GO) test -race -vet=off -parallel 8 -skip '$(RACE_SKIPPED)' -timeout 30m -p 3 $(RACED) && \
	  $(GO) test -race -vet=off -parallel 4 -timeout 30m -run '$(RACE_SCRIPTS)' ./cmd/weft; \
	else echo "race detector not run: there is no gcc"; test -z "$$CI"; fi

WEFT_KILLS ?= 200
kills: build ## kill WEFT_KILLS (200) wefts at random moments; each time everything converges
	WEFT_KILLS=$(WEFT_KILLS) $(GO) test -count=1 -timeout 60m -v -run '^TestKilled' ./cmd/weft

lint: ## gofmt, vet, staticcheck, actionlint of the recipes, go mod tidy
	@test -z "$$(gofmt -l cmd internal plan inventory modules switches examples)" || { gofmt -l cmd internal plan inventory modules switches examples; echo "not gofmt'ed"; exit 1; }
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...
	$(GO) run $(ACTIONLINT) -shellcheck= -pyflakes= -ignore 'label "fabric" is unknown' examples/ci/github/*.yml
	$(GO) mod tidy -diff

cross: ## weft for the laptops people have, and its tests as far as vet compiles them
	GOOS=darwin GOARCH=arm64 $(GO) build ./...
	GOOS=darwin GOARCH=arm64 $(GO) vet ./cmd/weft
	GOOS=windows GOARCH=amd64 $(GO) build -o /dev/null ./cmd/weft
	GOOS=windows GOARCH=amd64 $(GO) vet ./cmd/weft ./cmd/weft-initiator

bench: ## benchmarks; last, as tables, both agents against a ping-pong, and a host beside a busy one
	$(GO) test -run '^$$' -bench . -skip '^Benchmark(Agents|Neighbours|Peer)$$' -benchmem -timeout 60m ./...
	$(GO) test -run '^$$' -bench '^Benchmark(Agents|Neighbours)$$' -timeout 60m ./cmd/weft-initiator

peerbench: ## both agents beside an SPDK that was built on this machine: SPDK=DIR
	SPDK='$(abspath $(SPDK))' $(GO) test -run '^$$' -bench '^BenchmarkPeer$$' -timeout 120m -v ./cmd/weft-initiator

labbench: build ## weft's RDMA beside the kernel's and perftest, and a host beside a busy one, in guests, as tables
	WEFT_LAB=1 $(GO) test -run '^$$' -bench '^BenchmarkRDMA(Neighbours)?$$' -timeout 120m -v ./internal/lab/guest

FUZZTIME ?= 1m
fuzz: ## every fuzz target for FUZZTIME (1m) each
	@set -e; for p in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$p | grep ^Fuzz || true); do \
	    echo "$$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x $$p; done; done

# What the tests need beside Go: gcc for the race detector; OpenSSH and other
# shells as peers; a browser that opens the report; clients that drive switches
# (290 MB, most of it Ansible's collections). Without them tests skip, and name
# what is missing; where WEFT_REQUIRE demands it they fail: clients, openssh, openssl,
# chromium, opensm, gitlab and tools (what scripts call), as .ci/run does.
DEBS := gcc libc6-dev openssh-server sudo openssh-client openssl curl jq graphviz busybox-static dash chromium \
        python3-netmiko python3-paramiko ansible
# npm brings GitLab's schema of its pipelines.
DEBS += $(if $(shell command -v npm 2>/dev/null),,npm)
# A subnet manager and a subnet for it (2 MB); not where there may be a real one,
# which it would start to manage.
DEBS += $(if $(wildcard /sys/class/infiniband),,ibsim-utils opensm infiniband-diags)
deps:
	$(call install,$(DEBS),not root on Debian: tests that need gcc (race detector) or sshd (real OpenSSH as a peer) say so)
	@command -v npm >/dev/null && $(MAKE) -s bin/gitlab-ci.schema.json || echo "npm did not bring GitLab's schema: the test that needs it says so"

# The package is not installed: what is taken from it is one object.
bin/gitlab-ci.schema.json:
	@mkdir -p bin && dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && \
	  npm pack --silent --prefer-offline --pack-destination "$$dir" $(subst local-,local@,$(CI_LOCAL)) >/dev/null && \
	  sum=$$({ sha256sum || shasum -a 256; } <"$$dir/$(CI_LOCAL).tgz" 2>/dev/null | cut -c 1-64) && \
	  { test "$$sum" = $(CI_LOCAL_SUM) || { echo "$(CI_LOCAL) has the SHA-256 $$sum, not $(CI_LOCAL_SUM)"; exit 1; }; } && \
	  tar -xzf "$$dir/$(CI_LOCAL).tgz" -C "$$dir" && \
	  node --input-type=module -e 'import { schema } from "'"$$dir"'/package/src/schema/schema.js"; console.log(JSON.stringify(schema))' >$@.new && mv $@.new $@

# What guests with real kernels need on this machine.
LABDEBS := debootstrap wget e2fsprogs qemu-system-x86 seabios openssh-client
labdeps:
	$(call install,$(LABDEBS),not root on Debian: guests with real kernels say what they miss)

# install some packages, or say why not and which would help
define install
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  missing=""; for p in $(1); do dpkg -s $$p >/dev/null 2>&1 || missing="$$missing $$p"; done; \
	  if [ -n "$$missing" ]; then echo "installing$$missing"; \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null; fi; \
	else echo "$(2); install: $(1)"; fi
endef

clean: ## what make made
	rm -rf bin $(foreach p,$(PLATFORMS),$(BUNDLE)/$(p))
