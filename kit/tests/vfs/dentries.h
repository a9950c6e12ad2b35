// SPDX-License-Identifier: MIT OR Apache-2.0
/* Short ways to the dentries of memfs.h's file system. */
#ifndef KIT_TESTS_VFS_DENTRIES_H
#define KIT_TESTS_VFS_DENTRIES_H

#include "threads.h"
#include "memfs.h"

static inline struct cf_dentry *root(void)
{
	return fs.super.root;
}

static inline struct cf_name name_of(const char *text)
{
	return cf_name_of(text, strlen(text));
}

static inline struct cf_dentry *find(const char *text)
{
	struct cf_name name = name_of(text);
	struct cf_dentry *d = NULL;
	CHECK_EQUAL(cf_dentry_find(root(), &name, false, &d), 0);
	return d;
}

#endif
