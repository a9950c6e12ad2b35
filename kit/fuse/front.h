// SPDX-License-Identifier: MIT OR Apache-2.0
// Between the files of corefold-fs.
//   corefold-fs.c   the program: from its arguments to its end
//   options.c       arguments
//   clients.c       one task of cf_vfs for each set of credentials
//   nodes.c         the files that the kernel knows
//   names.c, files.c    requests: on names and attributes; on open files
#ifndef KIT_FUSE_FRONT_H
#define KIT_FUSE_FRONT_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#ifndef FUSE_USE_VERSION
#define FUSE_USE_VERSION 312
#endif
#include <corefold/cf_handle.h>
#include <fuse_lowlevel.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct options {
	const char *mountpoint;
	const char *passthrough; // null: memory
	const char *extra;       // of -o, for libfuse
	int64_t size, inodes;
	uint32_t mode;
	double cache;            // seconds
	int threads;
	int foreground;
};
// Exits after --help, or when something is wrong with them.
void options_parse(struct options *options, int argc, char **argv);

// --- Clients.
struct client {
	struct client *next;
	struct cf_task *task;
	uint32_t uid, gid, *groups, group_count;
	long users; // requests and open files; under the list's lock
};

enum { NODE_BUCKETS = 1024, CLIENTS_KEPT = 64 };

struct front {
	struct cf_vfs *vfs;
	struct client *own; // privileged: for what the kernel asks for itself
	double cache;
	struct node *root;
	struct bucket {
		pthread_mutex_t lock;
		struct node *first;
	} buckets[NODE_BUCKETS];
	pthread_mutex_t client_lock;
	struct client *clients;
	int client_count;
};

// The client of a request; null: no memory. client_put ends its use.
struct client *client_of(struct front *front, fuse_req_t request);
struct client *client_own(struct front *front);
void client_put(struct front *front, struct client *client);
int clients_init(struct front *front);
void clients_free(struct front *front);

// --- Nodes: a file that the kernel knows, until it forgets it.
struct node {
	struct cf_handle handle;
	uint64_t lookups; // under the bucket's lock
	struct node *next;
};

int nodes_init(struct front *front);
void nodes_free(struct front *front);
struct node *node_of(struct front *front, fuse_ino_t number);
fuse_ino_t node_number(const struct front *front, const struct node *node);
// Takes over the handle. One lookup more; null: no memory.
struct node *node_get(struct front *front, const struct cf_handle *handle);
void node_forget(struct front *front, fuse_ino_t number, uint64_t lookups);

// --- Requests.
struct file { // an open file, or a directory that is read
	struct client *client;
	int fd;
	pthread_mutex_t reading; // directories: position and entries belong together
};

static inline struct front *front_of(fuse_req_t request)
{
	return fuse_req_userdata(request);
}

void stat_of(const struct cf_handle *handle, struct stat *to);
// What the kernel gets to know: one lookup. 0 or -errno. Takes over the handle.
int entry_from(struct front *front, const struct cf_handle *handle, struct fuse_entry_param *entry);
int entry_of(struct front *front, struct client *client, const struct cf_handle *directory, const char *name,
	     struct fuse_entry_param *entry);
void names_requests(struct fuse_lowlevel_ops *ops);
void files_requests(struct fuse_lowlevel_ops *ops);

#endif
