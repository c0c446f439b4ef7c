#!/bin/sh
# Checks the JavaScript of the view: types with tsc, rules with eslint. Needs node and npm.
#
#     tools/frontend.sh          install the checkers (tools/frontend/package.json), and check
#     tools/frontend.sh install  install them alone: the browser tests use axe-core
set -e
cd "$(dirname "$0")/.."
if ! command -v npm > /dev/null; then
  [ -z "$CI" ] || { echo "npm is not installed; CI must have it" >&2; exit 1; }
  echo "npm is not installed: the JavaScript was not checked" >&2
  exit 0
fi
[ tools/frontend/node_modules/.package-lock.json -nt tools/frontend/package-lock.json ] ||
  (cd tools/frontend && npm ci --silent)
[ "$1" != install ] || exit 0
tools/frontend/node_modules/.bin/tsc --project tools/frontend
tools/frontend/node_modules/.bin/eslint --no-config-lookup --config tools/frontend/eslint.config.mjs \
  byoc_lab/lab/view/static tests/lab/view/js
