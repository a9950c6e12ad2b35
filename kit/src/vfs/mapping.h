// SPDX-License-Identifier: MIT OR Apache-2.0
// The two halves of cf_mapping: mapping.c reads and writes bytes, mapping_tree.c keeps pages.
#ifndef KIT_SRC_VFS_MAPPING_H
#define KIT_SRC_VFS_MAPPING_H

#include <corefold/cf_mapping.h>

enum { CF_MAPPING_LEVELS = 9 };

// In a read section, or under the mapping's lock. Null: a hole.
struct cf_page *cf_mapping_page(const struct cf_mapping *mapping, int64_t index);
// What a page needs to come into the tree: itself, new roots above, and a path of nodes down to it.
struct cf_mapping_spare {
	struct cf_page *page;
	struct cf_mapping_node *nodes[2 * CF_MAPPING_LEVELS];
	int count;
};
// Below: under the lock. A zeroed page and nodes, charged; 0, -ENOSPC or -ENOMEM.
int cf_mapping_prepare(struct cf_mapping *mapping, int64_t index, struct cf_mapping_spare *spare);
void cf_mapping_insert(struct cf_mapping *mapping, int64_t index, struct cf_mapping_spare *spare);
// Takes out all pages from `first` on; returns how many.
int64_t cf_mapping_remove_from(struct cf_mapping *mapping, int64_t first);

void cf_page_lock(struct cf_page *page);
void cf_page_unlock(struct cf_page *page);

#endif
