#!/bin/sh
# Installs Debian's chromium for the browser tests where that is possible. Never fails: without
# a browser those tests skip and say so.
if command -v chromium >/dev/null 2>&1 || command -v chromium-browser >/dev/null 2>&1; then
    exit 0
fi
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "no chromium, and no way to install it: the browser tests will be skipped" >&2
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
apt_get() { timeout 300 apt-get -qq "$@" >/dev/null 2>&1; }
apt_get install --yes --no-install-recommends chromium \
    || { apt_get update && apt_get install --yes --no-install-recommends chromium; } \
    || echo "chromium could not be installed: the browser tests will be skipped" >&2
exit 0
