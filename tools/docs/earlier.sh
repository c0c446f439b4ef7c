#!/bin/sh
# Put the sites of the released versions into folders of a site: tools/docs/earlier.sh build/site
# (needs GitHub's gh; a release has its site as site.zip).
set -eu
site=$1
archive=$(mktemp -d)
gh release list --limit 100 --json tagName --jq '.[].tagName' | while read -r tag; do
  gh release download "$tag" --pattern site.zip --dir "$archive/$tag"
  unzip -q "$archive/$tag/site.zip" -d "$site/${tag#v}"
done
