/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * zstd's own multithreaded compression, then decompression and comparison:
 *
 *   driver WORKERS [MODE [MEGABYTES [LEVEL]]]
 *
 * MODE says what each job of 512 KiB has to do beside compressing:
 *   plain     nothing
 *   checksum  the frame's checksum goes over the jobs in their order
 *   long      long-distance matching does too
 *
 * The text is made of words drawn by a fixed rule. What is printed depends on it, MODE and LEVEL, not on
 * how many workers there are.
 */
#include <corefold.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define WORDS 4096
#define WORD_BYTES 8
#define JOB_BYTES (512 << 10)
#define PIECE_BYTES (64 << 10)

static struct {
	int workers;
	const char *mode;
	size_t bytes;
	int level;
} options;

static uint64_t mixed(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

static size_t must_(size_t code, const char *what, int line)
{
	if (ZSTD_isError(code)) {
		fprintf(stderr, "driver.c:%d: %s: %s\n", line, what, ZSTD_getErrorName(code));
		exit(1);
	}
	return code;
}
#define must(call) must_(call, #call, __LINE__)

static char *allocate(size_t bytes)
{
	char *memory = malloc(bytes);

	if (!memory) {
		perror("malloc");
		exit(1);
	}
	return memory;
}

/* Low numbers are drawn more often, as the frequent words of a language are. */
static void write_text(char *text, size_t bytes)
{
	static char words[WORDS][WORD_BYTES];
	uint64_t random = 0;

	for (int word = 0; word < WORDS; word++) {
		uint64_t letters = mixed((uint64_t)word + 1);
		for (int i = 0; i < WORD_BYTES - 1; i++, letters >>= 8)
			words[word][i] = (char)('a' + letters % 26);
		words[word][WORD_BYTES - 1] = ' ';
	}
	for (size_t at = 0; at < bytes; at += WORD_BYTES) {
		uint64_t drawn = mixed(random += 0x9e3779b97f4a7c15);
		size_t word = (drawn & 0xffff) * (drawn >> 16 & 0xffff) >> 20;
		memcpy(text + at, words[word], WORD_BYTES);
	}
}

static ZSTD_CCtx *context(void)
{
	ZSTD_CCtx *cctx = ZSTD_createCCtx();

	must(ZSTD_CCtx_setParameter(cctx, ZSTD_c_compressionLevel, options.level));
	must(ZSTD_CCtx_setParameter(cctx, ZSTD_c_nbWorkers, options.workers));
	must(ZSTD_CCtx_setParameter(cctx, ZSTD_c_jobSize, JOB_BYTES));
	must(ZSTD_CCtx_setParameter(cctx, ZSTD_c_windowLog, 19));
	must(ZSTD_CCtx_setParameter(cctx, ZSTD_c_checksumFlag, !strcmp(options.mode, "checksum")));
	must(ZSTD_CCtx_setParameter(cctx, ZSTD_c_enableLongDistanceMatching, !strcmp(options.mode, "long")));
	return cctx;
}

/* The main thread feeds the pool piece by piece, as a program that reads a file does. */
static size_t compress(ZSTD_CCtx *cctx, const char *text, char *packed, size_t room)
{
	ZSTD_outBuffer out = { packed, room, 0 };

	for (size_t at = 0; at < options.bytes; at += PIECE_BYTES) {
		ZSTD_inBuffer in = { text + at, PIECE_BYTES, 0 };
		while (in.pos < in.size)
			must(ZSTD_compressStream2(cctx, &out, &in, ZSTD_e_continue));
		COREFOLD_PROGRESS("piece");
	}
	ZSTD_inBuffer none = { NULL, 0, 0 };
	while (must(ZSTD_compressStream2(cctx, &out, &none, ZSTD_e_end)))
		;
	return out.pos;
}

static void compare(const char *text, const char *packed, size_t packed_bytes)
{
	char *again = allocate(options.bytes);
	uint64_t sum = 0;

	if (must(ZSTD_decompress(again, options.bytes, packed, packed_bytes)) != options.bytes ||
	    memcmp(again, text, options.bytes)) {
		fputs("wrong: what was decompressed is not what was compressed\n", stderr);
		exit(1);
	}
	for (size_t i = 0; i < packed_bytes; i++)
		sum = (sum ^ (unsigned char)packed[i]) * 0x100000001b3;
	printf("%s, level %d: %zu bytes to %zu and back, checksum %016llx\n", options.mode, options.level,
	       options.bytes, packed_bytes, (unsigned long long)sum);
	free(again);
}

static int parse(int argc, char **argv)
{
	int megabytes = argc > 3 ? atoi(argv[3]) : 40;

	options.workers = argc > 1 ? atoi(argv[1]) : 0;
	options.mode = argc > 2 ? argv[2] : "plain";
	options.bytes = (size_t)megabytes << 20;
	options.level = argc > 4 ? atoi(argv[4]) : 1;
	return options.workers >= 1 && megabytes >= 1 &&
	       (!strcmp(options.mode, "plain") || !strcmp(options.mode, "checksum") || !strcmp(options.mode, "long"));
}

int main(int argc, char **argv)
{
	if (!parse(argc, argv)) {
		fputs("usage: driver WORKERS [plain|checksum|long [MEGABYTES [LEVEL]]]\n", stderr);
		return 2;
	}
	size_t room = ZSTD_compressBound(options.bytes);
	char *text = allocate(options.bytes), *packed = allocate(room);
	ZSTD_CCtx *cctx = context();

	write_text(text, options.bytes);
	COREFOLD_BEGIN();
	size_t packed_bytes = compress(cctx, text, packed, room);
	COREFOLD_END();
	compare(text, packed, packed_bytes);
	ZSTD_freeCCtx(cctx);
	free(packed);
	free(text);
	return 0;
}
