// SPDX-License-Identifier: MIT OR Apache-2.0
#include "bench.h"
#include "lock_events.h"

#include <stdio.h>
#include <stdlib.h>

static const char *scaled(double *value)
{
	static const char *const units[] = { "", " k", " M", " G" };
	int unit = 0;
	for (; unit < 3 && *value >= 1000; unit++)
		*value /= 1000;
	return units[unit];
}

static void print_share(FILE *to, double target, struct interval rate)
{
	double shown = target;
	const char *unit = scaled(&shown);
	fprintf(to, "%.2f %% of the target rate of %.4g%s/s", rate.mean / target * 100, shown, unit);
	if (rate.figures > 1)
		fprintf(to, ", 95 %% interval %.2f to %.2f %%", rate.low / target * 100, rate.high / target * 100);
	fprintf(to, "\n");
}

void report_text(FILE *to, const struct fs_calls *calls, const struct workload *workload, const struct settings *settings,
		 const struct outcome *outcome)
{
	struct interval rate = outcome->rate;
	double mean = rate.mean, related = interval_autocorrelation(outcome->rates, outcome->count);
	bool repeated = settings->repetitions > 1;
	const char *unit = scaled(&mean);
	fprintf(to, "%s, %s, %ld thread%s: %.4g%s operations/s", workload->name, calls->name, settings->threads,
		settings->threads == 1 ? "" : "s", mean, unit);
	if (rate.figures > 1)
		fprintf(to, " ± %.2g %% (95 %% interval, Student's t over %zu %s)",
			(rate.high - rate.low) / 2 / rate.mean * 100, rate.figures, repeated ? "repetitions" : "batches");
	fprintf(to, "\n");
	if (settings->target > 0)
		print_share(to, settings->target, rate);
	if (outcome->count > 4 && related > 0.3)
		fprintf(to, "the interval is too narrow: a batch resembles the one before (correlation %.2f); make them longer "
			    "(--operations), or repeat the run (--repetitions)\n", related);
	if (outcome->differs)
		fprintf(to, "%ld of %ld steps had another result than in the trace\n", outcome->differs, outcome->operations);
	trace_tell(&settings->trace, to);
}

static void print_number(FILE *to, const char *name, double value)
{
	if (isfinite(value))
		fprintf(to, ",\n  \"%s\": %.6f", name, value);
	else
		fprintf(to, ",\n  \"%s\": null", name);
}

static void print_trace(FILE *to, const struct trace *trace)
{
	fprintf(to, ",\n  \"trace\": {\"steps\": %zu, \"lines\": %zu, \"not_understood\": %zu, \"foreign\": %zu, "
		    "\"never_resumed\": %zu, \"unknown\": {", trace->count, trace->lines, trace->not_read, trace->foreign,
		trace->never_resumed);
	for (size_t i = 0; i < trace->unknowns; i++) /* names have letters, digits and underscores only */
		fprintf(to, "%s\"%s\": %zu", i ? ", " : "", trace->unknown[i].name, trace->unknown[i].count);
	fprintf(to, "}}");
}

void report_json(FILE *to, const struct fs_calls *calls, const struct workload *workload, const struct settings *settings,
		 const struct outcome *outcome)
{
	double target = settings->target;
	fprintf(to, "{\n  \"schema\": 1,\n  \"workload\": \"%s\",\n  \"file_system\": \"%s\",\n  \"threads\": %ld",
		workload->name, calls->name, settings->threads);
	fprintf(to, ",\n  \"operations\": %ld", outcome->operations);
	print_number(to, "throughput", outcome->rate.mean);
	print_number(to, "low", outcome->rate.low);
	print_number(to, "high", outcome->rate.high);
	if (target > 0) {
		print_number(to, "target_percent", outcome->rate.mean / target * 100);
		print_number(to, "target_percent_low", outcome->rate.low / target * 100);
		print_number(to, "target_percent_high", outcome->rate.high / target * 100);
	}
	fprintf(to, ",\n  \"%s\": [", settings->repetitions > 1 ? "repetitions" : "batches");
	for (size_t i = 0; i < outcome->count; i++)
		fprintf(to, "%s%.6f", i ? ", " : "", outcome->rates[i]);
	fprintf(to, "]");
	if (settings->trace.count) {
		fprintf(to, ",\n  \"differs\": %ld", outcome->differs);
		print_trace(to, &settings->trace);
	}
	lock_events_json(to);
	fprintf(to, "\n}\n");
}
