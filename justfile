# Every command that people type; `just` lists them.

_default:
    @just --list

# the whole stack on http://127.0.0.1:3000
run *arguments:
    cargo run -- {{ arguments }}

# the engines alone, for hosts that come and go
engine *arguments:
    cargo run -- engine {{ arguments }}

# all tests
test:
    cargo test --workspace

# format, clippy, docs, licences, unused dependencies, the template
lint:
    scripts/lint

# the template alone, as it would be deployed; `just template --prove` breaks a copy
template *arguments:
    scripts/check-template {{ arguments }}

# what CI runs
ci:
    .ci/run

# POST to inbox, p50 and p99; `just latency --fill 100000` compares an empty stack with a full one
latency *arguments:
    cargo run --release -p tests --bin latency -- {{ arguments }}

# every function as a release binary
release:
    cargo build --release --workspace --bins
