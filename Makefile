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
prerequisites: # Says what is missing on this machine
	@e2e/ground/check-prerequisites.sh

# What npm has installed, and from which lockfile.
node_modules/.installed: package-lock.json | prerequisites
	npm ci
	@node_modules/.bin/node --version >/dev/null || { echo 'npm did not run the install script of the package node'; exit 1; }
	@touch $@

.PHONY: clean
clean: ## Remove what was built (not the cache of downloaded tools)
	rm -rf dist coverage e2e/.artifacts

##@ Development

.PHONY: build
build: prerequisites node_modules/.installed ## Compile to dist/
	@$(npm) build

.PHONY: lint
lint: prerequisites node_modules/.installed ## Check style, types and formatting
	@$(npm) lint
	@$(npm) typecheck
	@$(npm) format:check

##@ Tests

.PHONY: test
test: prerequisites node_modules/.installed ## Run everything: lint, types, unit, integration and end-to-end tests
	@$(npm) test

.PHONY: test-unit
test-unit: prerequisites node_modules/.installed ## Run the unit tests
	@$(npm) test:unit

.PHONY: test-integration
test-integration: prerequisites node_modules/.installed ## Run the tests against real MongoDB servers and a real API server
	@$(npm) test:integration

.PHONY: test-e2e
test-e2e: prerequisites node_modules/.installed ## Run the end-to-end tests: everything in a real cluster
	@$(npm) test:e2e

