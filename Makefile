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

# build_preset NAME [targets]
define build_preset
cmake --preset $(1)
cmake --build --preset $(1) -j $(JOBS) $(if $(2),--target $(2))
endef

# run_tests PRESET [further words of ctest]; what was skipped is listed by tools/list-skips afterwards
define run_tests
ctest --preset $(1) -j $(JOBS) $(2)
endef

# claims about time want a core of their own: one test at a time
CLAIM_JOBS ?= 1
# all tests that prove claims, or those whose name matches one of ids="integrators sph_flow ..."
CLAIM_FILTER = $(if $(ids),-R "($(subst $() ,|,$(strip $(ids))))")

.PHONY: help build run test nightly bench claims validation mutate interop asan tsan cuda install format clean

help:
	@echo "make run      build, simulate a dam break, render it"
	@echo "make build    build/kelpie"
	@echo "make test     build in both precisions and run the tests of every landing"
	@echo "make nightly  everything: both precisions whole, long tests, claims, sanitizers, interop, mutation"
	@echo "make bench    measure speed"
	@echo "make claims   run the claims at full size: ids=\"test_integrators\" for some of them"
	@echo "make validation  scenes beside theory and experiments, and the page docs/validation.md: cases=\"couette cradle\", cases=--long"
	@echo "make interop  files for other programs, read by those programs"
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
	$(call build_preset,double,kelpie tests_real)
	$(call run_tests,release)
	$(call run_tests,double,-L real)
	@tools/list-skips build/release build/double

# All of both precisions, the sanitizers, programs that read our files, new mutants, and every claim: fails
# where a status differs from the one on file.
nightly:
	$(MAKE) test
	$(call build_preset,double)
	$(call run_tests,double,-LE real)
	$(MAKE) asan ASAN_LABEL=fast
	$(MAKE) tsan
	$(MAKE) interop
	tools/mutate --count 40 --seed $$(date +%Y%j)
	$(MAKE) claims
	$(MAKE) validation cases=--long
	tools/coverage --compare HEAD

bench: build
	build/kelpie bench

# each claim's result is one file; in double only tests run whose expectations depend on the precision,
# and they have the last word
claims:
	tools/install-deps core test
	@git diff --quiet HEAD -- . ':!claims' ':!docs' || \
	  { echo "claims: commit first, so that results can name what they were taken from" >&2; exit 1; }
	$(call build_preset,release,kelpie tests_claims)
	$(call build_preset,double,kelpie tests_claims)
	rm -rf build/claims
	failed=; for precision in release double; do \
	  if test $$precision = double; then only="-L real"; fi; \
	  mkdir -p build/claims/$$precision && \
	  KELPIE_CLAIMS_DIR=$(CURDIR)/build/claims/$$precision \
	  KELPIE_CLAIMS_MACHINE="$$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1), $$(nproc) cores" \
	  KELPIE_CLAIMS_COMMIT="$$(git rev-parse --short HEAD)" \
	  ctest --test-dir build/$$precision -j $(CLAIM_JOBS) --output-on-failure -L claims $$only $(CLAIM_FILTER) || \
	    failed=yes; \
	  find build/claims/$$precision -name '*.json' -exec cp -t claims/results {} +; \
	done; test -z "$$failed"
	$(if $(ids),,tools/claim-times --program build/release/kelpie)
	tools/coverage

# Curves of scenes/validation beside their references, and the page that shows them.
validation: build
	tools/validation $(cases)

# before landings what handles memory and files; `make asan ASAN_LABEL=fast` runs all fast tests
ASAN_LABEL := memory
asan:
	tools/install-deps core test
	$(call build_preset,asan,$(if $(filter memory,$(ASAN_LABEL)),tests_memory,all))
	$(call run_tests,asan,-L $(ASAN_LABEL))

tsan:
	tools/install-deps core test tsan
	$(call build_preset,tsan)
	$(call run_tests,tsan,-L fast)

# reads with real programs what is written for them: here a case that is skipped has failed
INTEROP_TESTS := test_exports test_films test_cli test_export test_hdf test_io_files test_mesh_files test_plot \
  test_render_frames test_volumes
interop:
	tools/install-deps core test interop
	$(call build_preset,release,kelpie $(filter-out test_exports test_films test_cli,$(INTEROP_TESTS)))
	KELPIE_NO_SKIPS=1 ctest --preset release --no-tests=error \
	  -R '^($(subst $() ,|,$(strip $(INTEROP_TESTS))))$$'

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
