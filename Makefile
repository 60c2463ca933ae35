# Two commands: `make demo` and `make test`. Both set up what is missing first.
CARGO ?= cargo
export LLVM_SYS_221_PREFIX ?= /usr/lib/llvm-22

.PHONY: demo test setup build lint

demo: build
	./demo/run

test: setup
	./scripts/test

build: setup
	$(CARGO) build --release --locked --package racewarden

setup:
	./scripts/setup

lint: setup
	./scripts/lint
