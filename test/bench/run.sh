#!/usr/bin/env bash
# npm run bench -- [rounds] [seconds]: brings what the benchmark needs, builds and runs it. Without wrk it says so and goes on.
set -euo pipefail
bash test/install-servers.sh redis-server
bash test/install-servers.sh wrk || true
npm run --silent build
exec node build/test/bench/gateway.js "$@"
