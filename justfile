# Every command that people type; `just` lists them.

_default:
    @just --list

# the whole stack on http://127.0.0.1:3000
run *arguments:
    cargo run -- {{ arguments }}

# the engines alone, for hosts that come and go
engine *arguments:
    cargo run -- engine {{ arguments }}

# what must hold, checked on live tables; `just verify --host http://127.0.0.1:3000`, `just verify --stack belfry-production`
verify *arguments:
    cargo run -- verify {{ arguments }}

# all tests that take nothing but Rust
test *arguments:
    cargo test {{ arguments }}

# what takes more: deployed binaries, other engines, SAM, Docker, a browser; `just check binaries template`
check *parts:
    scripts/check {{ parts }}

# the functions as they are deployed, as processes
binaries *arguments:
    scripts/binaries {{ arguments }}

# the console in a browser; pictures of every page are in target/screenshots
browser-tests *arguments:
    scripts/browser-tests {{ arguments }}

# format, clippy, docs, licences, unused dependencies, the template
lint:
    scripts/lint

# the template alone, as it would be deployed; `just template --prove` breaks a copy
template *arguments:
    scripts/check-template {{ arguments }}

# what CI runs
ci:
    .ci/run

# the whole way: POST to inbox and provider, events per second of each stage, and with ten times the data
flow *arguments:
    cargo run --profile measured --bin flow -- {{ arguments }}

# every call of every use case broken in five ways, on the release binaries
breakage *arguments:
    cargo run --bin breakage -- {{ arguments }}

# the black-box tests on another implementation of DynamoDB and SQS
second-engine *arguments:
    scripts/second-engine {{ arguments }}

# random commands, faults and kills, then an audit; `just soak --seconds 1800 --seed 7`
soak *arguments:
    cargo run --bin soak -- {{ arguments }}

# size, start and memory of each function's release binary
cold-start *arguments:
    cargo run --bin cold-start -- {{ arguments }}

# Belfry's command against a bare handler and Powertools for AWS Lambda; `just peers --quick` to see that it works
peers *arguments:
    scripts/peers {{ arguments }}

# what each use case costs, in units and dollars per million
cost *arguments:
    cargo run --bin cost -- {{ arguments }}

# lines of Rust by folder: product, local infrastructure, tests, tools
lines *arguments:
    scripts/lines {{ arguments }}

# every function as it is deployed
release:
    bash -c '. scripts/tools && sam build'
