#!/bin/sh
# Puts the compiled kernels where they can be written, and becomes zipfel, so that signals reach it.
set -eu
kernels=${NUMBA_CACHE_DIR:=/tmp/kernels}
export NUMBA_CACHE_DIR
if [ -d /opt/zipfel/kernels ] && [ ! -e "$kernels" ]; then
  cp -r /opt/zipfel/kernels "$kernels"
fi
exec zipfel "$@"
