#ifndef ICODEC_LIBRARIES_H
#define ICODEC_LIBRARIES_H

#include "internal.h"

// The image libraries are opened when the first image of their format is met, so that a process that meets none does not pay
// for loading them. Each `icodec_open_…` is to be called before the first call into its library; it may be called from any thread, any
// number of times, and fails where the library is not installed.

#define ICODEC_MEMBER(name) __typeof__(&name) name;

#endif
