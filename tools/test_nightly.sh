#!/usr/bin/env bash
# The tests with the nightly builds of NumPy, SciPy, scikit-learn and pandas, from the index in NIGHTLY_INDEX.
# Without it, with pre-releases. numba follows NumPy with a delay: where it refuses, the tests say so.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder="${NIGHTLY_VENV:-.venv-nightly}"
"${PYTHON:-python3}" -m venv "$folder"
"$folder/bin/python" -m pip install --quiet -e ".[test]"
newest=(--upgrade --pre)
if [[ -n "${NIGHTLY_INDEX:-}" ]]; then
    newest+=(--extra-index-url "$NIGHTLY_INDEX")
fi
"$folder/bin/python" -m pip install --quiet "${newest[@]}" scipy scikit-learn pandas
"$folder/bin/python" -m pytest -m "not slow" -n "${WORKERS:-2}" --dist worksteal "$@"
