#define ICODEC_LOADS_LIBRARIES

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "libavif_calls.h"
#include "libgif_calls.h"
#include "libjpeg_calls.h"
#include "liblcms_calls.h"
#include "libpng_calls.h"
#include "libwebp_calls.h"

icodec_jpeg_calls icodec_libjpeg;
icodec_png_calls icodec_libpng;
icodec_webp_calls icodec_libwebp;
icodec_webpdemux_calls icodec_libwebpdemux;
icodec_webpmux_calls icodec_libwebpmux;
icodec_lcms_calls icodec_liblcms;
icodec_gif_calls icodec_libgif;
icodec_avif_calls icodec_libavif;

// The names under which the libraries that the headers belong to are installed.
#if JPEG_LIB_VERSION >= 80
static const char jpeg_name[] = "libjpeg.so.8";
#elif JPEG_LIB_VERSION >= 70
static const char jpeg_name[] = "libjpeg.so.7";
#else
static const char jpeg_name[] = "libjpeg.so.62";
#endif
static const char png_name[] = "libpng16.so.16";
static const char webp_name[] = "libwebp.so.7";
static const char webpdemux_name[] = "libwebpdemux.so.2";
static const char webpmux_name[] = "libwebpmux.so.3";
static const char lcms_name[] = "liblcms2.so.2";
static const char gif_name[] = "libgif.so.7";
// libavif's structures change with its version: the one that the headers belong to.
#if AVIF_VERSION_MAJOR >= 1
static const char avif_name[] = "libavif.so.16";
#else
static const char avif_name[] = "libavif.so.15";
#endif

/// Sets `count` pointers to the functions of these names. The library stays open.
static bool load(const char *library, const char *const *names, size_t count, void *calls) {
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!handle) return false;
    for (size_t index = 0; index < count; index++) {
        void *function = dlsym(handle, names[index]);
        if (!function) return false;
        memcpy((char *)calls + index * sizeof function, &function, sizeof function);
    }
    return true;
}

#define NAME(name) #name,

// load_…: once; …_is_there: what came of it.
#define LOADER(library, list)                                                                                          \
    static pthread_once_t library##_once = PTHREAD_ONCE_INIT;                                                          \
    static bool library##_is_there;                                                                                    \
    static void load_##library(void) {                                                                                 \
        static const char *const names[] = {list(NAME)};                                                               \
        _Static_assert(sizeof icodec_lib##library == sizeof names, "a pointer for each name");                         \
        library##_is_there = load(library##_name, names, sizeof names / sizeof *names, &icodec_lib##library);           \
    }                                                                                                                  \
    static bool open_##library(icodec_error *error) {                                                                  \
        pthread_once(&library##_once, load_##library);                                                                 \
        if (library##_is_there) return true;                                                                           \
        return icodec_fail(error, ICODEC_INTERNAL, -1, "%s is not installed, or of another version", library##_name);   \
    }

LOADER(jpeg, ICODEC_JPEG_CALLS)
LOADER(png, ICODEC_PNG_CALLS)
LOADER(webp, ICODEC_WEBP_CALLS)
LOADER(webpdemux, ICODEC_WEBPDEMUX_CALLS)
LOADER(webpmux, ICODEC_WEBPMUX_CALLS)
LOADER(lcms, ICODEC_LCMS_CALLS)
LOADER(gif, ICODEC_GIF_CALLS)
LOADER(avif, ICODEC_AVIF_CALLS)

bool icodec_open_libjpeg(icodec_error *error) { return open_jpeg(error); }
bool icodec_open_libpng(icodec_error *error) { return open_png(error); }
bool icodec_open_libwebp(icodec_error *error) { return open_webp(error) && open_webpdemux(error); }
bool icodec_open_libwebpmux(icodec_error *error) { return open_webp(error) && open_webpmux(error); }
bool icodec_open_liblcms(icodec_error *error) { return open_lcms(error); }
bool icodec_open_libavif(icodec_error *error) { return open_avif(error); }
bool icodec_open_libgif(icodec_error *error) { return open_gif(error); }

void icodec_open_libraries(void) {
    icodec_error error;
    icodec_open_libjpeg(&error);
    icodec_open_libpng(&error);
    icodec_open_libwebp(&error);
    icodec_open_libwebpmux(&error);
    icodec_open_libgif(&error);
    icodec_open_libavif(&error);
    icodec_open_liblcms(&error);
}
