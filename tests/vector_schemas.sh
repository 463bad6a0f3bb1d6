#!/usr/bin/env bash
# vector_schemas.sh ROOT: every file of vectors is one of its JSON Schema, which forbids unknown
# fields; and the schemas catch what is planted. Needs Python's jsonschema (Debian:
# python3-jsonschema); 77 without it.
set -euo pipefail
root=$1
for python in python3 /usr/bin/python3; do
  if "$python" -c 'import jsonschema' 2>/dev/null; then
    exec "$python" "$root/tests/vector_schemas.py" "$root/oracle/vectors"
  fi
done
# In the form that run.sh lists skips by.
echo "$0: Skipped"
echo "no Python here has jsonschema (Debian: python3-jsonschema)"
exit 77
