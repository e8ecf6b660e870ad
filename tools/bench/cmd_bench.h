/*
 * cellctl bench.
 */
#ifndef CELLFS_TOOLS_BENCH_CMD_BENCH_H
#define CELLFS_TOOLS_BENCH_CMD_BENCH_H

int cmd_bench(int argc, char **argv);

#endif
