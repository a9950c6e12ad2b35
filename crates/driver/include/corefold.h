/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * corefold.h: what a program can tell the simulator.
 *
 * Under `corefold run` each macro is a call; otherwise it costs one test of a weak symbol's address,
 * and nothing has to be linked. `corefold cc` finds this file by itself and defines __COREFOLD__;
 * for other compilers, copy the file. Programs that mark progress by coz's COZ_PROGRESS do not need
 * it: these points count, too.
 *
 *   COREFOLD_PROGRESS("request")       one unit of work is done: throughput = visits / virtual time
 *   COREFOLD_BEGIN(), COREFOLD_END()   the region of interest; without one it is the whole program
 *   COREFOLD_LABEL(p, n, "table lock") names n bytes at p in reports, until they are freed
 *   COREFOLD_OBJECTS(p, n, stride, "inode")
 *                                      names the objects of your own allocator in the n bytes at p,
 *                                      one every stride; if a structure has that name, reports show
 *                                      its fields
 *   COREFOLD_ACCESS_READ(p, n), _WRITE(p, n), _RMW(p, n)
 *                                      declares the memory access of the inline assembly beside it,
 *                                      where the report says that it is not seen
 *   COREFOLD_TRACE_BEGIN(p, n), n = COREFOLD_TRACE_END()
 *                                      writes each access of the calling thread between the two to an
 *                                      array of n struct corefold_traced; END returns their number
 *
 * Any macro may overlap any other, on all threads. BEGIN and END are not nested: the region lasts
 * from the first BEGIN to the END that no later BEGIN follows.
 *
 * One thread is traced at a time: TRACE_BEGIN ends another thread's trace. Traced are the accesses
 * that the simulator sees, also those of libc's functions; a copy is one access for each cache line
 * and direction. Accesses beyond n are counted but not written. Without the simulator there are none.
 *
 * Arguments: a name is a string that lives as long as the program; equal names are one point.
 * Addresses are evaluated once. An access must not cross a cache line.
 *
 * Cost when simulated: no virtual time for PROGRESS, BEGIN, END, LABEL, OBJECTS and traces. An ACCESS
 * costs what the access costs; the assembly costs its instructions in addition.
 *
 * Five lines:
 *   COREFOLD_BEGIN();
 *   for (i = 0; i < n; i++) { serve(i); COREFOLD_PROGRESS("request"); }
 *   COREFOLD_END();
 *
 * Limit: the functions are weak symbols. In a program that is linked without the runtime and is not
 * position-independent, the linker sets their addresses to null, and the macros do nothing.
 */
#ifndef COREFOLD_H
#define COREFOLD_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The runtime defines these; elsewhere they are null. Call them through the macros. */
__attribute__((weak)) void corefold_progress(const char *name);
__attribute__((weak)) void corefold_region_begin(void);
__attribute__((weak)) void corefold_region_end(void);
__attribute__((weak)) void corefold_label(const void *address, size_t bytes, const char *name);
__attribute__((weak)) void corefold_objects(const void *address, size_t bytes, size_t stride, const char *name);
__attribute__((weak)) void corefold_access(const void *address, size_t bytes, int kind);

/* One access: `pc` is the return address of its hook, `kind` one of those of corefold_access. */
struct corefold_traced {
	const void *address, *pc;
	unsigned bytes, kind;
};
__attribute__((weak)) void corefold_trace_begin(struct corefold_traced *into, size_t most);
__attribute__((weak)) size_t corefold_trace_end(void);

#ifdef __cplusplus
}
#endif

/* The kinds of corefold_access. */
#define COREFOLD_READ 0
#define COREFOLD_WRITE 1
#define COREFOLD_RMW 2

#define COREFOLD_CALL_(function, arguments) \
	do { \
		if (function) \
			function arguments; \
	} while (0)

#define COREFOLD_PROGRESS(name) COREFOLD_CALL_(corefold_progress, (name))
#define COREFOLD_BEGIN() COREFOLD_CALL_(corefold_region_begin, ())
#define COREFOLD_END() COREFOLD_CALL_(corefold_region_end, ())
#define COREFOLD_LABEL(address, bytes, name) COREFOLD_CALL_(corefold_label, ((address), (bytes), (name)))
#define COREFOLD_OBJECTS(address, bytes, stride, name) \
	COREFOLD_CALL_(corefold_objects, ((address), (bytes), (stride), (name)))
#define COREFOLD_TRACE_BEGIN(into, most) COREFOLD_CALL_(corefold_trace_begin, ((into), (most)))
#define COREFOLD_TRACE_END() (corefold_trace_end ? corefold_trace_end() : 0)
#define COREFOLD_ACCESS_READ(address, bytes) COREFOLD_CALL_(corefold_access, ((address), (bytes), COREFOLD_READ))
#define COREFOLD_ACCESS_WRITE(address, bytes) COREFOLD_CALL_(corefold_access, ((address), (bytes), COREFOLD_WRITE))
#define COREFOLD_ACCESS_RMW(address, bytes) COREFOLD_CALL_(corefold_access, ((address), (bytes), COREFOLD_RMW))

#endif
