# SPDX-License-Identifier: MIT OR Apache-2.0
# The file-system workloads: over the kernel's file system, and where liburcu is there over the kit's.
#   make vfs-bench    build/vfs-bench --help; build/tmpfs: what a path walk costs beside tmpfs's
#   make bench-test   their tests, in two sanitised builds, and build/tmpfs
.PHONY: vfs-bench bench-test
BENCH_VFS = $(filter-out bench/vfs/main.c $(if $(LIBURCU),,bench/vfs/fs_kit.c),$(wildcard bench/vfs/*.c))
BENCH_TESTS = $(patsubst tests/bench/%.c,%,$(wildcard tests/bench/*.c))
COMPILE_BENCH = $(COMPILE) -D_GNU_SOURCE -Ibench/vfs $(if $(LIBURCU),-DBENCH_VFS_KIT)
BENCH_HEADERS = $(wildcard bench/vfs/*.h) $(HEADERS) $(if $(LIBURCU),$(VFS_HEADERS))

BENCH_LIBRARIES = $(if $(LIBURCU),$(OUT)/libcorefold_vfs.a) $(OUT)/libcorefold_kit.a
$(OUT)/vfs-bench: $(BENCH_VFS) bench/vfs/main.c $(BENCH_HEADERS) $(BENCH_LIBRARIES)
	$(CC) $(COMPILE_BENCH) $(CFLAGS) $(BENCH_VFS) bench/vfs/main.c $(BENCH_LIBRARIES) $(LIBURCU) -o $@ -lm
$(OUT)/tmpfs: bench/tmpfs.c $(BENCH_HEADERS) $(BENCH_LIBRARIES)
	$(CC) $(COMPILE_BENCH) $(CFLAGS) $< $(BENCH_LIBRARIES) $(LIBURCU) -o $@
BESIDE_TMPFS = $(if $(LIBURCU),$(OUT)/tmpfs)
vfs-bench: $(OUT)/vfs-bench $(BESIDE_TMPFS)

# With the objects of the kit's tests, which have test points.
define bench_way
$(OUT)/bench-$(1)/%.o: bench/vfs/%.c $(BENCH_HEADERS)
	@mkdir -p $$(@D)
	$(CC) $$(COMPILE_BENCH) $($(1)_FLAGS) -c $$< -o $$@
$(OUT)/bench-$(1)/%: tests/bench/%.c tests/harness.h $(patsubst bench/vfs/%.c,$(OUT)/bench-$(1)/%.o,$(BENCH_VFS)) \
		$(if $(LIBURCU),$(OUT)/vfs_$(1)/libvfs.a)
	$(CC) $$(COMPILE_BENCH) $($(1)_FLAGS) -DCF_TEST_POINTS $$(filter %.c %.o %.a,$$^) $(if $(LIBURCU),,$(SOURCES)) \
		$(LIBURCU) -o $$@ -lm
endef
$(foreach w,asan tsan,$(eval $(call bench_way,$(w))))
.SECONDARY: $(foreach w,asan tsan,$(patsubst bench/vfs/%.c,$(OUT)/bench-$(w)/%.o,$(BENCH_VFS)))
bench-test: $(addprefix $(OUT)/bench-asan/,$(BENCH_TESTS)) $(OUT)/bench-tsan/workloads $(BESIDE_TMPFS)
	@for t in $^; do timeout 600 $$t || exit 1; done
