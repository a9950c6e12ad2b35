# SPDX-License-Identifier: MIT OR Apache-2.0
# The file-system half of the kit (libcorefold_vfs.a), which needs liburcu; without it this is skipped.
#   make vfs         the library
#   make vfs-test    its tests: plain and two sanitised builds
#   make vfs-test-all    the same with every locking policy: part of make stress
#   make conflict-free COREFOLD=PATH [EVERY=N]     which commuting calls share no cache line, simulated, as a table
.PHONY: vfs vfs-test vfs-test-all conflict-free
LIBURCU := $(shell printf '\043include <urcu/urcu-memb.h>\nint main(void){urcu_memb_synchronize_rcu();return 0;}' | \
	$(CC) -x c - -o /dev/null -lurcu-memb 2>/dev/null && echo -lurcu-memb)
VFS_SOURCES = $(wildcard src/vfs/*.c)
VFS_MODEL = $(wildcard tests/vfs/model/*.c)
VFS_TESTS = $(patsubst tests/vfs/%.c,%,$(wildcard tests/vfs/*.c))

ifeq ($(LIBURCU),)
vfs:
	@echo "no liburcu (liburcu-dev): the file-system half of the kit is left out"
vfs-test vfs-test-all:
	$(call skip,kit: its file-system half: no liburcu (liburcu-dev))
else
VFS_CHECKED = $(VFS_HEADERS)

$(OUT)/vfs/%.o: src/vfs/%.c $(HEADERS) $(VFS_HEADERS) $(wildcard src/vfs/*.h)
	@mkdir -p $(@D)
	$(CC) $(COMPILE) $(CFLAGS) -c $< -o $@
$(OUT)/libcorefold_vfs.a: $(patsubst src/vfs/%.c,$(OUT)/vfs/%.o,$(VFS_SOURCES))
	$(AR) rcs $@ $^
vfs: $(OUT)/libcorefold_vfs.a

# Tests are built with test points, and short spins, so that rare paths are common.
VFS_WAYS = plain asan tsan bp policy0 policy1 policy2 policy3 policy4
vfs_plain_FLAGS = $(plain_FLAGS)
vfs_asan_FLAGS = $(asan_FLAGS)
vfs_tsan_FLAGS = $(tsan_FLAGS)
# The flavour of liburcu for threads that are not ours.
vfs_bp_FLAGS = -O1 -g1 -DCF_RCU_BP
vfs_bp_LIBURCU = -lurcu-bp
vfs_bp_TESTS = $(filter rcu rhash walk,$(VFS_TESTS))
$(foreach p,0 1 2 3 4,$(eval vfs_policy$p_FLAGS = -O1 -g1 -DCF_VFS_POLICY=$p))
# kernel_compare changes its root, where the leak checker finds no /proc; property compares with the same model.
vfs_asan_TESTS = $(filter-out kernel_compare,$(VFS_TESTS))
# The model needs no sanitiser that looks for races.
vfs_tsan_TESTS = $(filter-out kernel_compare property hostile,$(VFS_TESTS))
# What a policy has to show: that the caches work. The blocks they are built from do not ask for it.
$(foreach p,0 1 2 3 4,$(eval vfs_policy$p_TESTS = $(filter dcache dcache_ops dcache_windows icache rename walk property calls descriptors storms one_limit,$(VFS_TESTS))))

# Where the other half is built in the same way already; it knows nothing of flavours.
vfs_plain_KIT = plain/points
vfs_asan_KIT = asan/points
vfs_tsan_KIT = tsan/points
vfs_bp_KIT = plain/points

define vfs_way
$(OUT)/vfs_$(1)/%.o: src/%.c $(HEADERS) $(VFS_HEADERS) $(wildcard src/*.h src/vfs/*.h)
	@mkdir -p $$(@D)
	$(CC) $(COMPILE) $(vfs_$(1)_FLAGS) -DCF_TEST_POINTS -c $$< -o $$@
$(OUT)/vfs_$(1)/model/%.o: tests/vfs/model/%.c $(HEADERS) $(VFS_HEADERS) $(wildcard tests/vfs/model/*.h)
	@mkdir -p $$(@D)
	$(CC) $(COMPILE) $(vfs_$(1)_FLAGS) -c $$< -o $$@
$(OUT)/vfs_$(1)/libvfs.a: $(patsubst src/%.c,$(OUT)/$(or $(vfs_$(1)_KIT),vfs_$(1))/%.o,$(SOURCES)) $(patsubst \
		src/%.c,$(OUT)/vfs_$(1)/%.o,$(VFS_SOURCES)) $(patsubst \
		tests/vfs/model/%.c,$(OUT)/vfs_$(1)/model/%.o,$(VFS_MODEL))
	$(AR) rcs $$@ $$^
$(OUT)/vfs_$(1)/%: tests/vfs/%.c $(OUT)/vfs_$(1)/libvfs.a $(wildcard tests/*.h tests/vfs/*.h)
	$(CC) $(COMPILE) $(vfs_$(1)_FLAGS) -DCF_TEST_POINTS $$< $(OUT)/vfs_$(1)/libvfs.a $(or $(vfs_$(1)_LIBURCU),$(LIBURCU)) $$(link_$$(@F)) -o $$@
.PHONY: run-vfs-$(1)
run-vfs-$(1): $(addprefix $(OUT)/vfs_$(1)/,$(or $(vfs_$(1)_TESTS),$(VFS_TESTS)))
	@failed=; for t in $$^; do echo "# $$$$t"; timeout 600 $$$$t || failed=1; done; [ -z "$$$$failed" ]
endef
$(foreach w,$(VFS_WAYS),$(eval $(call vfs_way,$w)))
VFS_TESTED = plain asan tsan bp
VFS_PROGRAMS = $(foreach w,$(VFS_TESTED),$(addprefix $(OUT)/vfs_$w/,$(or $(vfs_$w_TESTS),$(VFS_TESTS))))
vfs-test: $(addprefix run-vfs-,$(VFS_TESTED))
vfs-test-all: $(addprefix run-vfs-,$(VFS_WAYS))
endif

EVERY ?= 1
conflict-free:
	tests/conflict_free/run $(or $(COREFOLD),$(error COREFOLD=path/to/corefold)) $(OUT)/conflict_free $(EVERY)
