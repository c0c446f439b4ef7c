#!/bin/sh
# Checks the JavaScript of the view and of the laboratory in one file: types with tsc, rules with
# eslint. Needs node and npm.
#
#     tools/frontend.sh          install the checkers (tools/frontend/package.json), and check
#     tools/frontend.sh install  install them, and what the laboratory in one file is made of
set -e
cd "$(dirname "$0")/.."
if ! command -v npm > /dev/null; then
  [ -z "$CI" ] || { echo "npm is not installed; CI must have it" >&2; exit 1; }
  echo "npm is not installed: the JavaScript was not checked" >&2
  exit 0
fi
for folder in tools/frontend tools/lite/web; do
  [ $folder/node_modules/.package-lock.json -nt $folder/package-lock.json ] ||
    (cd $folder && npm ci --silent)
done
[ "$1" != install ] || exit 0
for folder in tools/frontend tools/lite/web; do
  tools/frontend/node_modules/.bin/tsc --project $folder
done
tools/frontend/node_modules/.bin/eslint --no-config-lookup --config tools/frontend/eslint.config.mjs \
  byoc_lab/lab/view/static tests/lab/view/js tools/lite/web/*.js tools/lite/web/*.mjs
