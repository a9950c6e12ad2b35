// SPDX-License-Identifier: MIT OR Apache-2.0
// One task of cf_vfs for each set of credentials (user, group, supplementary groups), kept for later requests. A file stays
// with the task that opened it.
#include "front.h"

enum { MOST_GROUPS = 1024 };

static bool is(const struct client *c, uint32_t uid, uint32_t gid, const uint32_t *groups, uint32_t count)
{
	return c->uid == uid && c->gid == gid && c->group_count == count &&
	       (!count || !memcmp(c->groups, groups, count * sizeof *groups));
}

static void free_client(struct client *client)
{
	cf_task_free(client->task);
	free(client->groups);
	free(client);
}

static struct client *make(struct front *front, uint32_t uid, uint32_t gid, const uint32_t *groups, uint32_t count)
{
	struct client *client = calloc(1, sizeof *client);
	struct cf_cred cred = { .uid = uid, .gid = gid, .groups = groups, .group_count = count };
	if (!client)
		return NULL;
	client->groups = malloc((count + 1) * sizeof *groups);
	if (!client->groups || cf_task_new(&client->task, front->vfs, &cred)) {
		free(client->groups);
		free(client);
		return NULL;
	}
	if (count)
		memcpy(client->groups, groups, count * sizeof *groups);
	client->uid = uid;
	client->gid = gid;
	client->group_count = count;
	cf_vfs_umask(client->task, 0); // the kernel has applied the caller's
	(void)cf_task_limit(client->task, CF_TASK_FDS);
	return client;
}

// Out of the list: the last in it that nobody uses. The list's order is that of creation, the newest first.
static struct client *take_unused(struct front *front)
{
	struct client **last = NULL, *unused = NULL;
	for (struct client **at = &front->clients; *at; at = &(*at)->next)
		if (!(*at)->users)
			last = at;
	if (last) {
		unused = *last;
		*last = unused->next;
		front->client_count--;
	}
	return unused;
}

static struct client *find(struct front *front, uint32_t uid, uint32_t gid, const uint32_t *groups, uint32_t count)
{
	struct client *client, *unused = NULL;
	pthread_mutex_lock(&front->client_lock);
	for (client = front->clients; client && !is(client, uid, gid, groups, count); client = client->next)
		;
	if (!client && (client = make(front, uid, gid, groups, count))) {
		if (front->client_count >= CLIENTS_KEPT)
			unused = take_unused(front);
		client->next = front->clients;
		front->clients = client;
		front->client_count++;
	}
	if (client)
		client->users++;
	pthread_mutex_unlock(&front->client_lock);
	if (unused)
		free_client(unused);
	return client;
}

struct client *client_of(struct front *front, fuse_req_t request)
{
	const struct fuse_ctx *context = fuse_req_ctx(request);
	gid_t groups[MOST_GROUPS];
	int count = 0;
	// libfuse reads them from /proc at each request. Root is permitted all that groups could permit.
	if (context->uid) {
		count = fuse_req_getgroups(request, MOST_GROUPS, groups);
		count = count < 0 ? 0 : count > MOST_GROUPS ? MOST_GROUPS : count;
	}
	return find(front, context->uid, context->gid, groups, (uint32_t)count);
}

struct client *client_own(struct front *front)
{
	return find(front, 0, 0, NULL, 0);
}

void client_put(struct front *front, struct client *client)
{
	pthread_mutex_lock(&front->client_lock);
	client->users--;
	pthread_mutex_unlock(&front->client_lock);
}

int clients_init(struct front *front)
{
	pthread_mutex_init(&front->client_lock, NULL);
	front->own = client_own(front);
	return front->own ? 0 : -ENOMEM;
}

void clients_free(struct front *front)
{
	while (front->clients) {
		struct client *next = front->clients->next;
		free_client(front->clients);
		front->clients = next;
	}
}
