SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules --no-print-directory

npm := npm run --silent

##@ General

.PHONY: help
help: ## Show this help
	@awk 'BEGIN { FS = ":.*## " } \
	  /^##@/ { printf "\n\033[1m%s\033[0m\n", substr($$0, 5) } \
	  /^[a-zA-Z0-9_-]+:.*## / { printf "  \033[36m%-18s\033[0m %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: prerequisites
prerequisites: # Reports the tools that this machine lacks: a first look needs less than everything else
	@$(if $(checked),,e2e/ground/check-prerequisites.sh $(if $(filter-out try mongod,$(MAKECMDGOALS)),,try))

# Marks that npm has installed the packages of this lockfile. Its warnings of an old Node.js are about that of the system: what is
# installed runs on the package node, which comes with it.
node_modules/.installed: package-lock.json | prerequisites
	npm ci --loglevel=error
	@node_modules/.bin/node --version >/dev/null || { echo 'npm did not run the install script of the package node'; exit 1; }
	@touch $@

.PHONY: clean
clean: ## Remove build output (not the cache of downloaded tools)
	rm -rf dist coverage e2e/.artifacts

##@ A first look

# On a new machine most of the time goes to downloads: both at once.
.PHONY: try
try: prerequisites ## Move a live replica set to another one, in this terminal: under 2 minutes, with downloads
	@$(MAKE) --jobs=2 checked=yes mongod node_modules/.installed
	@node_modules/.bin/node e2e/demo/try.ts $(if $(SCALE),--scale $(SCALE))

.PHONY: mongod
mongod: prerequisites # Downloads the default server of the tests, if this machine has none
	@e2e/ground/mongod/mongod-binary.sh --present >/dev/null 2>&1 || e2e/ground/mongod/mongod-binary.sh >/dev/null

##@ Development

.PHONY: build
build: prerequisites node_modules/.installed ## Compile to dist/
	@$(npm) build

.PHONY: lint
lint: prerequisites node_modules/.installed ## Check style, types and formatting
	@$(npm) lint
	@$(npm) typecheck
	@$(npm) format:check

.PHONY: record-crds
record-crds: ## Record the schemas of crds/ as the baseline for compatibility checks
	@for name in clustersyncs syncverifications; do grep -v '^#' crds/$$name.yaml >crds/recorded/$$name.yaml; done

.PHONY: docs
docs: prerequisites node_modules/.installed ## Build the documentation as a site, in dist/site
	@node_modules/.bin/node docs/site/main.ts

.PHONY: pictures
pictures: prerequisites ## Renew the recording and the screenshots of README.md, from a real run (needs Chromium, installs it as root)
	@$(MAKE) --jobs=2 checked=yes mongod node_modules/.installed
	@node_modules/.bin/node e2e/demo/pictures.ts

# With --omit=dev, npm would also omit packages that development tools need as well: ajv and yaml, for example.
.PHONY: sbom
sbom: prerequisites ## Write the bill of materials of the npm package, dist/sbom.json (CycloneDX)
	@mkdir -p dist
	@folder="$$(mktemp -d)"; trap 'rm -rf "$$folder"' EXIT; mkdir "$$folder/clustersync"; \
	  cp package.json package-lock.json "$$folder/clustersync"; cd "$$folder/clustersync"; \
	  npm pkg delete devDependencies scripts; \
	  npm install --package-lock-only --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null; \
	  npm sbom --package-lock-only --sbom-format=cyclonedx --loglevel=error >"$(CURDIR)/dist/sbom.json"

##@ Tests

.PHONY: test
test: prerequisites node_modules/.installed ## Run all checks: lint, types, unit, integration and end-to-end tests
	@$(npm) test

.PHONY: test-unit
test-unit: prerequisites node_modules/.installed ## Run the unit tests
	@$(npm) test:unit

.PHONY: test-integration
test-integration: prerequisites node_modules/.installed ## Run the tests against real MongoDB servers and a real API server
	@$(npm) test:integration

.PHONY: test-e2e
test-e2e: prerequisites node_modules/.installed ## Run the end-to-end tests: all programs in a real cluster
	@$(npm) test:e2e


##@ Benchmarks

.PHONY: bench
bench: bench-copy bench-changes bench-shards ## Measure the speed of copying and of applying changes; writes bench/results (SIZE=0.1 ROUNDS=3 SETS=indexed,small EVENTS=20000)

.PHONY: bench-copy
bench-copy: prerequisites node_modules/.installed tools
	@node_modules/.bin/node bench/copy/main.ts --size $(or $(SIZE),1) --rounds $(or $(ROUNDS),1) $(if $(SETS),--sets $(SETS)) $(if $(CONTENDERS),--contenders '$(CONTENDERS)')

.PHONY: bench-changes
bench-changes: prerequisites node_modules/.installed tools
	@node_modules/.bin/node bench/changes/main.ts --events $(or $(EVENTS),200000) --rounds $(or $(ROUNDS),1)

.PHONY: bench-collections
bench-collections: prerequisites node_modules/.installed tools ## Measure the speed of creating and copying many small collections; writes bench/results (COLLECTIONS=10000 ROUNDS=1)
	@node_modules/.bin/node bench/collections/main.ts --collections $(or $(COLLECTIONS),10000) --rounds $(or $(ROUNDS),1) $(if $(CONTENDERS),--contenders '$(CONTENDERS)')

.PHONY: bench-operator
bench-operator: prerequisites node_modules/.installed tools ## Measure the operator with many ClusterSyncs and stubs in place of syncers; writes bench/results (SYNCS=1000 SECONDS_EACH=120)
	@node_modules/.bin/node bench/operator/main.ts --syncs $(or $(SYNCS),1000) --seconds $(or $(SECONDS_EACH),120)

.PHONY: bench-fairness
bench-fairness: prerequisites node_modules/.installed tools ## Measure the operator's latency next to broken and hostile tenants; writes bench/results (ROUNDS=4)
	@node_modules/.bin/node bench/fairness/main.ts --rounds $(or $(ROUNDS),4)

.PHONY: bench-shards
bench-shards: prerequisites node_modules/.installed tools ## Measure the speed of copying two shards with one instance and with two; writes bench/results (SHARDS_SIZE=0.3 ROUNDS=3)
	@node_modules/.bin/node bench/shards/main.ts --size $(or $(SHARDS_SIZE),0.3) --rounds $(or $(ROUNDS),3)

.PHONY: bench-far
bench-far: prerequisites node_modules/.installed tools ## Measure copies and changes over links with delays, and in many collections; writes bench/results (SIZE=0.5 SETS=large,small EVENTS=200000 COLLECTIONS=1,100,1000 ROUND_TRIPS=0,10,50,100 SIDES=source,destination ROUNDS=1 MEMBERS=1)
	@node_modules/.bin/node bench/far/main.ts --size $(or $(SIZE),0.5) --events $(or $(EVENTS),200000) --rounds $(or $(ROUNDS),1) --members $(or $(MEMBERS),1) $(if $(SETS),--sets $(SETS)) $(if $(COLLECTIONS),--collections $(COLLECTIONS)) $(if $(ROUND_TRIPS),--roundTrips $(ROUND_TRIPS)) $(if $(SIDES),--sides $(SIDES))

.PHONY: bench-ceiling
bench-ceiling: prerequisites node_modules/.installed tools ## Measure what the syncer moves when servers are no limit, and what takes its time; writes bench/results (FIND=128 EVENTS=100000 AGAIN=10 INSTANCES=1,2,4)
	@node_modules/.bin/node bench/ceiling/main.ts --find $(or $(FIND),128) --events $(or $(EVENTS),100000) --again $(or $(AGAIN),10) --instances $(or $(INSTANCES),1,2,4)

.PHONY: bench-repair
bench-repair: prerequisites node_modules/.installed tools ## Measure a repair against the first copy of the same data; writes bench/results (SIZE=0.1 ROUNDS=3 SETS=indexed,large)
	@node_modules/.bin/node bench/repair/main.ts --size $(or $(SIZE),1) --rounds $(or $(ROUNDS),1) $(if $(SETS),--sets $(SETS))

.PHONY: bench-verify
bench-verify: prerequisites node_modules/.installed tools ## Measure the speed of the verifier and of a plain comparison; writes bench/results (SIZE=0.1 ROUNDS=3 SETS=indexed,large)
	@node_modules/.bin/node bench/verify/main.ts --size $(or $(SIZE),1) --rounds $(or $(ROUNDS),1) $(if $(SETS),--sets $(SETS))

##@ Cluster (E2E_CLUSTER=local: in Linux namespaces, as root; kind: in Docker; default: kind if Docker responds, otherwise local)

.PHONY: tools
tools: prerequisites ## Get the tools for the tests: mongod, Kubernetes, helm (kept outside the checkout)
	@e2e/ground/tools.sh

.PHONY: chaos
chaos: prerequisites node_modules/.installed ## Sync and verify under faults of up to a minute: make chaos SEEDS=500, or SEED=17 for one
	@LENGTH=$(or $(LENGTH),long) SEEDS=$(or $(SEEDS),30) $(if $(SEED),SEED=$(SEED)) ALL_CASES=1 \
	  $(npm) mocha:integration -- --spec e2e/integration/syncer/chaos.integration.ts \
	    --spec e2e/integration/syncer/silent-commands.integration.ts \
	    --spec e2e/integration/syncer/reset.integration.ts \
	    --spec e2e/integration/syncer/repair-after-crash.integration.ts
	@VERIFIER_KILLS=$(or $(SEEDS),30) VERIFIER_RUNS=$(or $(SEEDS),30) \
	  $(npm) mocha:integration -- --spec e2e/integration/verifier/killed.integration.ts \
	    --spec e2e/integration/verifier/concurrent-writes.integration.ts

.PHONY: random
random: prerequisites node_modules/.installed ## Sync random workloads, more than `make test` has time for: make random SEEDS=100, or SEED=17 for one
	@SEEDS=$(or $(SEEDS),20) $(if $(SEED),SEED=$(SEED)) \
	  $(npm) mocha:integration -- --spec 'e2e/integration/syncer/random-*.integration.ts'

.PHONY: attack
attack: prerequisites node_modules/.installed ## Run the attacks of the threat model, in their long form (SEEDS=5 REQUESTS=3000, or SEED=17)
	@ATTACK=long $(if $(SEEDS),SEEDS=$(SEEDS)) $(if $(REQUESTS),REQUESTS=$(REQUESTS)) $(if $(SEED),SEED=$(SEED)) \
	  $(npm) mocha:integration -- --spec 'e2e/attack/**/*.test.ts' --spec 'e2e/attack/**/*.integration.ts'

.PHONY: test-servers
test-servers: prerequisites node_modules/.installed tools ## Run the integration tests on pairs of servers: make test-servers SERVERS='6.0-7.0 7.0-7.0' (CORE=1)
	@SERVERS='$(SERVERS)' CORE='$(CORE)' node_modules/.bin/node e2e/test-servers.ts

.PHONY: mutate
mutate: prerequisites node_modules/.installed ## Change places of the product, and list the changes that no test notices (COUNT=20 ROOMS=syncer,verifier SEED=17 UNIT_ONLY=1, or AT=path:line:column:kind)
	@node_modules/.bin/node e2e/mutate/main.ts --count $(or $(COUNT),20) $(if $(ROOMS),--rooms $(ROOMS)) $(if $(SEED),--seed $(SEED)) \
	  $(if $(AT),--at $(AT)) $(if $(UNIT_ONLY),--unit-only) $(if $(MINUTES),--minutes $(MINUTES))

.PHONY: mutate-map
mutate-map: prerequisites node_modules/.installed ## Record which modules integration specs reach, for `make mutate` (SPECS='e2e/integration/verifier/*.ts'; default: those without a record)
	@node_modules/.bin/node e2e/mutate/record-reach.ts $(SPECS)

test test-integration test-e2e chaos attack mutate mutate-map: tools

.PHONY: soak
soak: prerequisites node_modules/.installed tools ## Create and delete resources, Secrets and pods for a long time, and check the operator for leaks (SOAK_MINUTES=240)
	@node_modules/.bin/node bench/soak/main.ts --minutes $(or $(SOAK_MINUTES),240)

.PHONY: cluster-up
cluster-up: prerequisites ## Start this checkout's cluster; prints the path of a file with instructions
	@e2e/ground/kubernetes/up.sh

.PHONY: cluster-down
cluster-down: ## Stop this checkout's cluster and clean up after it
	@e2e/ground/kubernetes/down.sh

.PHONY: image
image: prerequisites node_modules/.installed ## Build the container image; prints its name
	@e2e/ground/kubernetes/image.sh

.PHONY: load-image
load-image: node_modules/.installed cluster-up ## Build the container image and load it into the cluster; prints its name
	@e2e/ground/kubernetes/load-image.sh

.PHONY: kubectl
kubectl: ## Run kubectl on the cluster: make kubectl ARGS='get pods --all-namespaces'
	@e2e/ground/kubernetes/kubectl.sh $(ARGS)


##@ Demo

.PHONY: demo
demo: prerequisites node_modules/.installed tools ## Migrate a live deployment to another one, on real servers on this machine
	@node_modules/.bin/node e2e/demo/main.ts

.PHONY: demo-sharded
demo-sharded: prerequisites node_modules/.installed tools ## Migrate a live sharded cluster of two shards to one of three
	@node_modules/.bin/node e2e/demo/main.ts --sharded
