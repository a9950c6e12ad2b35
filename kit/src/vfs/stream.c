// SPDX-License-Identifier: MIT OR Apache-2.0
// A stream of bytes from writers to readers, as a pipe has it: a ring, and whoever must wait sleeps.
#include "vfs.h"

struct cf_stream {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int readers, writers;
	unsigned reader_opens, writer_opens; // ever, so that an open which waits sees one that came and went
	size_t head, used;
	uint8_t bytes[CF_PIPE_SIZE];
};

int cf_stream_new(struct cf_vfs *vfs, struct cf_stream **made)
{
	int error = cf_vfs_take(vfs, CF_CHARGE_STREAM, 0);
	struct cf_stream *s = error ? NULL : malloc(sizeof *s);
	if (error)
		return error;
	if (!s) {
		cf_vfs_give(vfs, CF_CHARGE_STREAM, 0);
		return -ENOMEM;
	}
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	s->readers = s->writers = 0;
	s->reader_opens = s->writer_opens = 0;
	s->head = s->used = 0;
	*made = s;
	return 0;
}

void cf_stream_free(struct cf_vfs *vfs, struct cf_stream *s)
{
	if (!s)
		return;
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->changed);
	free(s);
	cf_vfs_give(vfs, CF_CHARGE_STREAM, 0);
}

int cf_stream_open(struct cf_stream *s, int ends, bool wait_for_other, bool nonblocking)
{
	int error = 0;
	pthread_mutex_lock(&s->lock);
	if (ends == CF_STREAM_WRITER && nonblocking && !s->readers)
		error = -ENXIO;
	if (!error) {
		unsigned readers = s->reader_opens, writers = s->writer_opens;
		s->readers += (ends & CF_STREAM_READER) != 0;
		s->writers += (ends & CF_STREAM_WRITER) != 0;
		s->reader_opens += (ends & CF_STREAM_READER) != 0;
		s->writer_opens += (ends & CF_STREAM_WRITER) != 0;
		pthread_cond_broadcast(&s->changed);
		while (wait_for_other && ((ends == CF_STREAM_READER && !s->writers && s->writer_opens == writers) ||
					  (ends == CF_STREAM_WRITER && !s->readers && s->reader_opens == readers)))
			pthread_cond_wait(&s->changed, &s->lock);
	}
	pthread_mutex_unlock(&s->lock);
	return error;
}

void cf_stream_close(struct cf_stream *s, int ends)
{
	pthread_mutex_lock(&s->lock);
	s->readers -= (ends & CF_STREAM_READER) != 0;
	s->writers -= (ends & CF_STREAM_WRITER) != 0;
	if (!s->readers && !s->writers)
		s->used = 0;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

static void copy_out(struct cf_stream *s, uint8_t *to, size_t size)
{
	size_t first = CF_PIPE_SIZE - s->head < size ? CF_PIPE_SIZE - s->head : size;
	memcpy(to, s->bytes + s->head, first);
	memcpy(to + first, s->bytes, size - first);
	s->head = (s->head + size) % CF_PIPE_SIZE;
	s->used -= size;
	if (!s->used)
		s->head = 0; // so that short messages use the first page alone
}

static void copy_in(struct cf_stream *s, const uint8_t *from, size_t size)
{
	size_t tail = (s->head + s->used) % CF_PIPE_SIZE;
	size_t first = CF_PIPE_SIZE - tail < size ? CF_PIPE_SIZE - tail : size;
	memcpy(s->bytes + tail, from, first);
	memcpy(s->bytes, from + first, size - first);
	s->used += size;
}

int64_t cf_stream_read(struct cf_stream *s, void *to, size_t size, bool nonblocking)
{
	int64_t done = 0;
	if (!size)
		return 0;
	pthread_mutex_lock(&s->lock);
	while (!s->used && s->writers && !nonblocking)
		pthread_cond_wait(&s->changed, &s->lock);
	if (s->used) {
		done = (int64_t)(size < s->used ? size : s->used);
		copy_out(s, to, (size_t)done);
		pthread_cond_broadcast(&s->changed);
	} else if (s->writers) {
		done = -EAGAIN;
	}
	pthread_mutex_unlock(&s->lock);
	return done;
}

// Whether a part of what is left may be written now: up to a page goes in whole.
static bool has_room(const struct cf_stream *s, size_t size, size_t left)
{
	size_t room = CF_PIPE_SIZE - s->used;
	return size <= CF_PAGE ? room >= left : room > 0;
}

int64_t cf_stream_write(struct cf_stream *s, const void *from, size_t size, bool nonblocking)
{
	size_t done = 0;
	int64_t error = 0;
	pthread_mutex_lock(&s->lock);
	while (!error && done < size) {
		size_t left = size - done, room = CF_PIPE_SIZE - s->used;
		if (!s->readers)
			error = -EPIPE;
		else if (has_room(s, size, left)) {
			copy_in(s, (const uint8_t *)from + done, left < room ? left : room);
			done += left < room ? left : room;
			pthread_cond_broadcast(&s->changed);
		} else if (nonblocking)
			error = -EAGAIN;
		else
			pthread_cond_wait(&s->changed, &s->lock);
	}
	pthread_mutex_unlock(&s->lock);
	return done ? (int64_t)done : error;
}
