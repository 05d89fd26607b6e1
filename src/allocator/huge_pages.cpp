// SPDX-License-Identifier: Apache-2.0
// jemalloc's settings, which it reads before main(): memory comes in huge pages. A large cluster's state is spread over
// hundreds of MiB, and each cell-hop touches some dozens of places in it: with 4 KiB pages the host's own TLB misses
// were a third of its time.
extern "C" const char* const malloc_conf;
const char* const malloc_conf = "thp:always,metadata_thp:always";
