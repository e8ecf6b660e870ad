#!/usr/bin/env bash
# The model test: a million steps a form, with runs long enough for deep levels
# and seeds that no run before has had; the first seed is printed. Then the same
# under AddressSanitizer for five minutes a form.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
seed=${1:-$((($(date +%s) - 1700000000) * 1000))}
[ -f build-model/build.ninja ] ||
	meson setup build-model -Dwerror=true -Dbuildtype=release >/dev/null
ninja -C build-model tests/model/model >/dev/null
for form in "" --classic --threads "--threads --classic"; do
	# shellcheck disable=SC2086 # none, one or two words
	build-model/tests/model/model --seed "$seed" --runs 1000 --steps 1000 $form
done
for form in "" --classic --threads; do
	build-asan/tests/model/model --seed "$seed" --runs 0 --steps 1000 \
		--seconds 300 ${form:+"$form"}
done
