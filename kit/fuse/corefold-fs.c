// SPDX-License-Identifier: MIT OR Apache-2.0
// corefold-fs: mounts the file system of cf_vfs.h by FUSE.
#include "front.h"

#include <corefold/cf_backend.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>

static int fail(const char *what, int error)
{
	fprintf(stderr, "corefold-fs: %s: %s\n", what, strerror(error));
	return 1;
}

// What the kernel may do by itself. Everything comes through it, so it may keep pages until it is told otherwise; but then
// it must not throw them away because a time has changed.
static void init(void *front, struct fuse_conn_info *connection)
{
	(void)front;
	connection->want &= ~(unsigned)FUSE_CAP_AUTO_INVAL_DATA;
}

static int start(struct front *front, const struct options *o)
{
	struct cf_vfs_options options = { .bytes = o->size, .inodes = o->inodes, .uid = getuid(), .gid = getgid(),
					  .mode = o->mode };
	int error;
	if (o->passthrough) {
		options.backend = &cf_backend_directory;
		options.backend_argument = (void *)(uintptr_t)o->passthrough;
	}
	front->cache = o->cache;
	error = cf_vfs_new(&front->vfs, &options);
	if (!error)
		error = clients_init(front);
	return error ? error : nodes_init(front);
}

static void stop(struct front *front)
{
	nodes_free(front);
	clients_free(front);
	cf_vfs_free(front->vfs);
}

static struct fuse_session *session_of(struct front *front, const struct options *o)
{
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	struct fuse_lowlevel_ops ops = { .init = init };
	struct fuse_session *session;
	names_requests(&ops);
	files_requests(&ops);
	fuse_opt_add_arg(&args, "corefold-fs");
	fuse_opt_add_arg(&args, "-odefault_permissions,fsname=corefold,subtype=corefold");
	if (geteuid() == 0)
		fuse_opt_add_arg(&args, "-oallow_other");
	if (o->extra) {
		fuse_opt_add_arg(&args, "-o");
		fuse_opt_add_arg(&args, o->extra);
	}
	session = fuse_session_new(&args, &ops, sizeof ops, front);
	fuse_opt_free_args(&args);
	return session;
}

static int serve(struct fuse_session *session, const struct options *o)
{
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	int error;
	fuse_loop_cfg_set_max_threads(config, (unsigned)o->threads);
	fuse_loop_cfg_set_idle_threads(config, (unsigned)o->threads);
	error = fuse_session_loop_mt(session, config);
	fuse_loop_cfg_destroy(config);
	return error < 0 ? fail("the session has ended", -error) : 0; // above 0: a signal ended it
}

// The parent waits for one byte through `ready`: the mount is there.
static void go_to_background(int ready)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (ready < 0)
		return;
	setsid();
	for (int fd = 0; fd < 3 && null >= 0; fd++)
		dup2(null, fd);
	close(null);
	if (chdir("/") || write(ready, "", 1) != 1)
		_exit(1);
	close(ready);
}

static int run(const struct options *o, int ready)
{
	static struct front front;
	struct fuse_session *session;
	int error = start(&front, o), status = 1;
	if (error)
		return fail(o->passthrough ? o->passthrough : "cannot make the file system", -error);
	session = session_of(&front, o);
	if (session && !fuse_set_signal_handlers(session)) {
		if (!fuse_session_mount(session, o->mountpoint)) { // libfuse prints what is wrong
			go_to_background(ready);
			status = serve(session, o);
			fuse_session_unmount(session);
		}
		fuse_remove_signal_handlers(session);
	}
	if (session)
		fuse_session_destroy(session);
	stop(&front);
	return status;
}

// Threads do not survive a fork, so all is started in the child, which says when the mount is there.
static int run_in_child(const struct options *o)
{
	int ends[2], status;
	char byte;
	pid_t child;
	if (pipe2(ends, O_CLOEXEC))
		return fail("pipe", errno);
	child = fork();
	if (child < 0)
		return fail("fork", errno);
	if (!child) {
		close(ends[0]);
		return run(o, ends[1]);
	}
	close(ends[1]);
	if (read(ends[0], &byte, 1) == 1)
		return 0;
	return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

// Of the directory passed through to, each cached inode is a descriptor: as many as the system lets one process have, or
// those that we were given.
static void raise_limit(void)
{
	FILE *most = fopen("/proc/sys/fs/nr_open", "re");
	struct rlimit files;
	unsigned long long count;
	bool may = false;
	if (most && fscanf(most, "%llu", &count) == 1)
		may = !setrlimit(RLIMIT_NOFILE, &(struct rlimit){ count, count });
	if (most)
		fclose(most);
	if (!may && !getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
}

int main(int argc, char **argv)
{
	struct options options;
	options_parse(&options, argc, argv);
	if (options.passthrough)
		raise_limit();
	mallopt(M_MMAP_THRESHOLD, 4 << 20); // requests' buffers come from the heap
	return options.foreground ? run(&options, -1) : run_in_child(&options);
}
