# Thin names for what the CMake presets do. `make run` is the shortest way to a first picture.
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
PREFIX ?= /usr/local
# waiting threads of OpenMP that spin ruin a shared machine
export GOMP_SPINCOUNT ?= 1000
DEMO := out/dam_break

# the program alone: tests are built by the targets that run them
define build_program
cmake --preset $(1)
cmake --build --preset $(1) -j $(JOBS) --target kelpie
endef

define build_preset
cmake --preset $(1)
cmake --build --preset $(1) -j $(JOBS)
endef

# all tests that prove claims, or those whose name matches one of ids="integrators sph_flow ..."
CLAIM_FILTER = $(if $(ids),-R "($(subst $() ,|,$(strip $(ids))))")

.PHONY: help build run test bench claims asan tsan cuda install format clean

help:
	@echo "make run      build, simulate a dam break, render it"
	@echo "make build    build/kelpie"
	@echo "make test     build in both precisions and run every test"
	@echo "make bench    measure speed"
	@echo "make claims   run the claims at full size: ids=\"test_integrators\" for some of them"
	@echo "make asan | tsan | cuda | install (PREFIX=$(PREFIX)) | format | clean"

build:
	tools/install-deps core
	$(call build_program,release)
	@if [ -x build/release/kelpie ]; then ln -sfn release/kelpie build/kelpie; fi

run: build
	rm -rf $(DEMO)
	build/kelpie run scenes/demo/dam_break.lua -o $(DEMO)
	build/kelpie render $(DEMO)
	@echo "pictures: $(CURDIR)/$(DEMO)/images"
	@find $(DEMO) -name '*.mp4' -printf 'video:    $(CURDIR)/%p\n'

test:
	tools/install-deps core test
	tools/check-layers
	tools/check-sampler
	tools/check-budgets
	$(call build_preset,release)
	@if [ -x build/release/kelpie ]; then ln -sfn release/kelpie build/kelpie; fi
	$(call build_preset,double)
	ctest --preset release -j $(JOBS)
	ctest --preset double -j $(JOBS)

bench: build
	build/kelpie bench

# each claim's result is one file; where both precisions prove it, the double build has the last word
claims:
	tools/install-deps core test
	@git diff --quiet HEAD -- . ':!claims' ':!docs' || \
	  { echo "claims: commit first, so that results can name what they were taken from" >&2; exit 1; }
	$(call build_preset,release)
	$(call build_preset,double)
	rm -rf build/claims
	for precision in release double; do \
	  mkdir -p build/claims/$$precision && \
	  KELPIE_CLAIMS_DIR=$(CURDIR)/build/claims/$$precision \
	  KELPIE_CLAIMS_MACHINE="$$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1), $$(nproc) cores" \
	  KELPIE_CLAIMS_COMMIT="$$(git rev-parse --short HEAD)" \
	  ctest --test-dir build/$$precision --output-on-failure -E '^coverage$$' $(CLAIM_FILTER) || exit 1; \
	  cp build/claims/$$precision/*.json claims/results || exit 1; \
	done
	tools/coverage

asan:
	tools/install-deps core test
	$(call build_preset,asan)
	ctest --preset asan -L fast -j $(JOBS)

tsan:
	tools/install-deps core test tsan
	$(call build_preset,tsan)
	ctest --preset tsan -L fast -j $(JOBS)

cuda:
	tools/install-deps core
	$(call build_preset,cuda)

install:
	tools/install-deps core
	$(call build_preset,release)
	cmake --install build/release --prefix $(PREFIX)

format:
	find include src cli cases tests bench examples -name '*.[ch]' -o -name '*.cu' | \
	  xargs clang-format -i

clean:
	rm -rf build
