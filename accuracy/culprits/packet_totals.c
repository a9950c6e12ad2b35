/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Arkime's capture: a total of packets lies beside settings that are read for every packet. Here one thread
 * writes it, by a plain store, after every fourth of its packets; all others lose the settings' line each time.
 * Twin: the totals are on a line of their own (the published fix). packet_totals THREADS PACKETS
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 4 };

struct capture {
	int mac1Field;
	int mac2Field;
	unsigned mProtocols;
	unsigned snapLen;
#ifdef TWIN
	_Alignas(64)
#endif
	long totalPackets;
	long totalBytes;
};

struct packet {
	unsigned length;
	unsigned hash;
	unsigned fields[8];
};

static struct capture *capture;
static long packets;
static int threads;

static void receive(struct packet *p, unsigned long number)
{
	for (int i = 0; i < 8; i++) {
		number = number * 6364136223846793005UL + 1442695040888963407UL;
		number ^= number >> 31;
	}
	p->hash = (unsigned)number;
	p->length = 64 + p->hash % 1400;
}

static __attribute__((noinline)) unsigned parse(const struct capture *c, struct packet *p)
{
	p->fields[c->mac1Field] = p->hash >> 16;
	p->fields[c->mac2Field] = p->hash & 0xffff;
	return p->length > c->snapLen ? 0 : p->hash & c->mProtocols;
}

static __attribute__((noinline)) void count_packets(struct capture *c, long count, long bytes)
{
	c->totalPackets += count;
	c->totalBytes += bytes;
}

static void *packet_thread(void *number)
{
	long mine = packets * ((long)number + 1) / threads - packets * (long)number / threads, known = 0, bytes = 0;
	struct packet p = { 0 };

	for (long i = 0; i < mine; i++) {
		receive(&p, (unsigned long)(i * threads + (long)number));
		known += parse(capture, &p) <= 7;
		bytes += p.length;
		if (number == NULL && (i % BATCH == BATCH - 1 || i == mine - 1)) {
			count_packets(capture, i % BATCH + 1, bytes);
			bytes = 0;
		}
	}
	return (void *)known;
}

int main(int argc, char **argv)
{
	pthread_t *thread;
	long known = 0;

	threads = argc > 1 ? atoi(argv[1]) : 2;
	packets = argc > 2 ? atol(argv[2]) : 100000;
	capture = aligned_alloc(64, sizeof *capture < 64 ? 64 : sizeof *capture);
	*capture = (struct capture){ .mac1Field = 2, .mac2Field = 5, .mProtocols = 7, .snapLen = 1464 };
	thread = malloc((size_t)threads * sizeof *thread);
	for (long i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, packet_thread, (void *)i);
	for (int i = 0; i < threads; i++) {
		void *one;

		pthread_join(thread[i], &one);
		known += (long)one;
	}
	printf("%ld packets, %ld counted by the first thread\n", known, capture->totalPackets);
	if (capture->totalPackets != packets / threads)
		known = -1;
	free(capture);
	free(thread);
	return known != packets;
}
