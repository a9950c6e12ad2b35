# SPDX-License-Identifier: MIT OR Apache-2.0
# corefold-fs, which needs libfuse3 3.12 or later and liburcu; without them it is skipped.
#   make corefold-fs    the program
#   make fuse-test      ordinary programs on a mount of it: needs /dev/fuse
# libfuse's threads are not ours: they register with RCU by themselves (CF_RCU_BP), so all is compiled again.
.PHONY: corefold-fs fuse-test
FUSE_FLAGS := $(shell pkg-config --atleast-version=3.12 fuse3 2>/dev/null && pkg-config --cflags fuse3)
FUSE_LIBS := $(shell pkg-config --atleast-version=3.12 fuse3 2>/dev/null && pkg-config --libs fuse3)
FUSE_OBJECTS = $(patsubst fuse/%.c,$(OUT)/fuse/front/%.o,$(wildcard fuse/*.c)) \
	$(patsubst src/%.c,$(OUT)/fuse/%.o,$(SOURCES) $(VFS_SOURCES))

ifeq ($(and $(FUSE_LIBS),$(LIBURCU)),)
corefold-fs fuse-test:
	$(call skip,corefold-fs: no $(if $(FUSE_LIBS),liburcu (liburcu-dev),libfuse3 of 3.12 or later (libfuse3-dev and pkg-config)))
else
$(OUT)/fuse/front/%.o: fuse/%.c fuse/front.h $(HEADERS) $(VFS_HEADERS)
	@mkdir -p $(@D)
	$(CC) $(COMPILE) $(CFLAGS) -DCF_RCU_BP $(FUSE_FLAGS) -c $< -o $@
$(OUT)/fuse/%.o: src/%.c $(HEADERS) $(VFS_HEADERS) $(wildcard src/*.h src/vfs/*.h)
	@mkdir -p $(@D)
	$(CC) $(COMPILE) $(CFLAGS) -DCF_RCU_BP -c $< -o $@
$(OUT)/corefold-fs: $(FUSE_OBJECTS)
	$(CC) $(CFLAGS) -pthread $^ $(FUSE_LIBS) -lurcu-bp -lm -o $@
corefold-fs: $(OUT)/corefold-fs
fuse-test: corefold-fs
	tests/fuse/run $(OUT)/corefold-fs
endif
